//! Every operation on a GPU, if the machine has one: see `tallow::testing`.
//!
//! `TALLOW_TEST_OP` narrows the run to the operations whose names contain it.

mod clang;
mod device;

use device::device;
use tallow::gpu::GpuDevice;
use tallow::{DType, Device, Result, Tensor, ops, testing};
use tallow_gpu::{Api, DeviceInfo, Settings, Variant};

/// Operations that have no kernel yet, and say so where they are asked for on a GPU.
const WITHOUT_KERNEL: &[&str] = &[];

#[test]
fn every_op_is_right_on_the_device() -> Result<()> {
    let Some(device) = device()? else {
        return Ok(());
    };
    let filter = std::env::var("TALLOW_TEST_OP").unwrap_or_default();
    let report = testing::device_conformance(&device, &filter)?;
    println!("{} results compared on {device:?}", report.compared);
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    assert!(
        report.compared > 0 || !filter.is_empty(),
        "nothing was compared"
    );
    let missing = report
        .without_kernel
        .iter()
        .filter(|op| !WITHOUT_KERNEL.contains(op));
    let missing: Vec<_> = missing.collect();
    assert!(missing.is_empty(), "without a kernel: {missing:?}");
    if filter.is_empty() {
        let stale = WITHOUT_KERNEL
            .iter()
            .filter(|op| !report.without_kernel.contains(*op));
        let stale: Vec<_> = stale.collect();
        assert!(
            stale.is_empty(),
            "listed as without a kernel, and have one: {stale:?}"
        );
    }
    Ok(())
}

/// Every variant of every kernel that the cases ask for, through NVRTC for two architectures.
#[test]
fn every_kernel_compiles_for_cuda() -> Result<()> {
    use tallow::testing::device_conformance;
    let filter = std::env::var("TALLOW_TEST_OP").unwrap_or_default();
    for architecture in ["sm_80", "sm_90a"] {
        let Some(device) = on_paper(architecture)? else {
            return Ok(());
        };
        let report = device_conformance(&device, &filter)?;
        if filter.is_empty() {
            beyond_the_cases(&device)?;
        }
        let uncompiled = |failure: &&String| failure.contains("does not compile");
        let uncompiled: Vec<_> = report.failures.iter().filter(uncompiled).collect();
        assert!(uncompiled.is_empty(), "{architecture}: {uncompiled:#?}");
        let made = device
            .gpu()
            .map_or(0, |gpu| gpu.statistics().kernels.compiled);
        println!("{made} kernels compiled for {architecture}");
        assert!(made > 0 || !filter.is_empty(), "nothing was compiled");
    }
    Ok(())
}

/// Every variant of every kernel that the cases ask for, as Metal's text, through clang: the shim
/// of Metal's library beside the runtime's tests has its names, overloads and address spaces.
#[test]
fn every_kernel_is_metals_language() -> Result<()> {
    let filter = std::env::var("TALLOW_TEST_OP").unwrap_or_default();
    if !clang::is_there() {
        println!("skipped: no {}", clang::PROGRAM);
        return Ok(());
    }
    clang::finds_faults();
    let driver = tallow_gpu::drivers::checked_on_paper(Api::Metal, "metal", clang::check);
    let checking = GpuDevice::with_driver(driver, &Settings::plain());
    // First which, then all of them side by side.
    let variants = metals_variants(checking.info(), &filter)?;
    let has = |name: &str| variants.iter().any(|one| one.source.name() == name);
    for name in [
        "matmul_matrices",
        "matmul_tile",
        "qmatmul_matrices",
        "qmatmul_many",
        "attention_matrices",
        "attention_tile",
        "random_draw",
    ] {
        assert!(has(name) || !filter.is_empty(), "{name} was not asked for");
    }
    println!("{} kernels to check for Metal", variants.len());
    checking.prepare(&variants)?;
    let enough = variants.len() > 100 || !filter.is_empty();
    assert!(enough, "hardly a kernel was asked for");
    Ok(())
}

/// What the cases ask of a device; for what has kernels on Metal's matrices, also of one so small
/// that kernels for many groups are asked for, and of one without matrices.
fn metals_variants(info: &DeviceInfo, filter: &str) -> Result<Vec<Variant>> {
    let planned = |info| {
        let driver = tallow_gpu::drivers::plan(info);
        Device::from_gpu(GpuDevice::with_driver(driver, &Settings::plain()))
    };
    let full = planned(info.clone());
    testing::device_conformance(&full, filter)?;
    if filter.is_empty() {
        beyond_the_cases(&full)?;
    }
    let small = planned(DeviceInfo {
        units: 1,
        ..info.clone()
    });
    let plain = planned(DeviceInfo {
        simdgroup_matrices: false,
        ..info.clone()
    });
    let on_matrices =
        |family: &&&ops::Family| ["matmul", "qmatmul", "attention"].contains(&family.name);
    for family in ops::ALL.iter().filter(on_matrices) {
        testing::family_conformance(&small, family, filter)?;
        testing::family_conformance(&plain, family, filter)?;
    }
    let mut variants: Vec<Variant> = Vec::new();
    for device in [full, small, plain] {
        let asked = device.gpu().map_or(Vec::new(), GpuDevice::asked);
        let new: Vec<_> = asked
            .into_iter()
            .filter(|one| !variants.contains(one))
            .collect();
        variants.extend(new);
    }
    Ok(variants)
}

/// Asks a device on paper for what no case does: random numbers, and operations over more elements
/// than 32 bits count, in order and turned.
fn beyond_the_cases(device: &Device) -> Result<()> {
    let has_f64 = device.gpu().is_some_and(|gpu| gpu.info().has_f64);
    for dtype in DType::FLOATS {
        if dtype != DType::F64 || has_f64 {
            Tensor::rand_f64(-1.0, 2.0, 1003, dtype, device)?;
            Tensor::randn_f64(1.0, 2.0, 1003, dtype, device)?;
        }
    }
    let straight = Tensor::zeros((1 << 17, 1 << 17), DType::F16, device)?;
    let turned = straight.t()?;
    for x in [&straight, &turned] {
        x.copy()?;
        x.contiguous()?;
        x.exp()?;
        x.affine(2.0, 1.0)?;
        x.powf(3.0)?;
        x.to_dtype(DType::F32)?;
        x.sum(1)?;
        (x + &straight)?;
        x.eq(&straight)?.where_cond(x, &straight)?;
        Tensor::cat(&[x, &straight], 1)?;
    }
    Ok(())
}

#[allow(clippy::print_stdout)] // says why nothing is compiled
fn on_paper(architecture: &str) -> Result<Option<Device>> {
    match tallow_gpu::drivers::cuda_on_paper(architecture) {
        Ok(driver) => {
            let gpu = GpuDevice::with_driver(driver, &Settings::plain());
            Ok(Some(Device::from_gpu(gpu)))
        }
        Err(error) => {
            println!("skipped: {error}");
            Ok(None)
        }
    }
}
