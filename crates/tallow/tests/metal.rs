//! Kernels that are Metal's own, run on the processor: their own text, compiled as C++ over an
//! emulation of a group of threads and of Metal's matrices (`metal/metal_stdlib`), under the
//! operations as they launch them, against the cases of these.
//!
//! No GPU is needed, but Linux and a C++ compiler are: `c++`, or the one that `CXX` names. Without
//! them the tests say so and pass. `every_kernel_is_metals_language` of the devices' tests checks
//! the same text as Metal's language.
#![allow(clippy::print_stdout)]

#[path = "metal/processor.rs"]
mod processor;

use std::sync::{Arc, PoisonError};

use processor::{Fault, Processor};
use tallow::ops::{self, AttentionOptions, attention};
use tallow::{DType, Device, GpuDevice, Result, Tensor, testing};
use tallow_gpu::Settings;

/// The device, and what it has compiled so far; `None` on a machine that cannot have it.
fn processor(fault: Option<Fault>) -> Option<(Device, impl Fn() -> Vec<String>)> {
    match Processor::new(fault) {
        Ok(driver) => {
            let compiled = driver.compiled();
            let gpu = GpuDevice::with_driver(Arc::new(driver), &Settings::plain());
            let list = move || {
                let compiled = compiled.lock().unwrap_or_else(PoisonError::into_inner);
                compiled.clone()
            };
            Some((Device::from_gpu(gpu), list))
        }
        Err(lacks) => {
            println!("skipped: {lacks}");
            None
        }
    }
}

/// Runs a family's cases, which must ask for kernels with all of these words.
fn assert_right(family: &str, kernels: &[&[&str]]) -> Result<()> {
    let Some((device, compiled)) = processor(None) else {
        return Ok(());
    };
    let found = ops::ALL.iter().find(|one| one.name == family);
    let report = testing::family_conformance(&device, found.expect("a family"), "")?;
    let compiled = compiled();
    println!("{} results by {} kernels", report.compared, compiled.len());
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    for words in kernels {
        let has_all = |kernel: &&String| words.iter().all(|word| kernel.contains(word));
        assert!(
            compiled.iter().any(|one| has_all(&one)),
            "{words:?} were not asked for"
        );
    }
    Ok(())
}

#[test]
fn products_are_right_for_each_dtype_and_tile() -> Result<()> {
    assert_right(
        "matmul",
        &[
            &[
                "matmul_matrices",
                "XT f32",
                "MT float",
                "TILE_M 64",
                "TILE_N 64",
            ],
            &[
                "matmul_matrices",
                "XT f16",
                "MT half",
                "TILE_M 64",
                "TILE_N 64",
            ],
            &[
                "matmul_matrices",
                "XT bf16",
                "MT float",
                "TILE_M 32",
                "TILE_N 32",
            ],
            &[
                "matmul_matrices",
                "XT f8e4m3",
                "MT half",
                "TILE_M 16",
                "TILE_N 64",
            ],
            &["matmul_matrices", "XT f32", "TILE_M 64", "TILE_N 16"],
            &["matmul_gemv", "XT f16", "ROWS 1,", "ALONG 1"],
            &["matmul_gemv", "XT bf16", "ROWS 8", "ALONG 1"],
            &["matmul_gemv", "XT f32", "ROWS 32", "ALONG 0"],
        ],
    )
}

#[test]
fn quantized_products_are_right_for_each_form_of_weights() -> Result<()> {
    assert_right(
        "qmatmul",
        &[
            &[
                "qmatmul_matrices",
                "BITS 4",
                "SCALE f16",
                "TILE_M 64",
                "TILE_N 64",
            ],
            &["qmatmul_matrices", "BITS 8", "SCALE f32", "TILE_M 32"],
            &["qmatmul_matrices", "BITS 8", "TILE_M 16"],
            &["qmatmul_matrices", "BITS 0", "WT bf16"],
            &["qmatmul_matrices", "BITS 0", "WT f32"],
        ],
    )
}

#[test]
fn attention_is_right_for_each_width_and_dtype() -> Result<()> {
    assert_right(
        "attention",
        &[
            &["attention_matrices", "HEAD 64", "MT half", "WG 128"],
            &[
                "attention_matrices",
                "HEAD 64",
                "XT f32",
                "KT f16",
                "MT float",
                "WG 256",
            ],
            &["attention_matrices", "HEAD 96", "XT bf16", "WG 128"],
            &["attention_matrices", "HEAD 96", "XT f16", "WG 256"],
            &["attention_matrices", "HEAD 128", "XT f32", "KT f32"],
            &["attention_matrices", "HEAD 256", "XT f16"],
        ],
    )
}

fn counted(dims: &[usize], device: &Device) -> Result<Tensor> {
    let count = dims.iter().product::<usize>();
    let values = (0..count).map(|at| (at * 7919 % 211) as f32 / 211.0 - 0.5);
    Tensor::from_iter(values, &Device::Cpu)?
        .reshape(dims)?
        .to_device(device)
}

type Compute = fn(&Device) -> Result<Tensor>;

/// A product with tails along every side.
fn product(device: &Device) -> Result<Tensor> {
    counted(&[21, 45], device)?.matmul(&counted(&[45, 37], device)?)
}

/// Attention with tails along queries, keys and features.
fn attended(device: &Device) -> Result<Tensor> {
    let (q, kv) = (
        counted(&[1, 2, 11, 130], device)?,
        counted(&[1, 1, 75, 130], device)?,
    );
    attention(&q, &kv, &kv, AttentionOptions::causal(0.4))
}

/// What a device computes is what the processor does.
fn agrees(compute: Compute, device: &Device) -> Result<bool> {
    let got = compute(device)?.to_device(&Device::Cpu)?;
    let off = (got - compute(&Device::Cpu)?)?.abs()?.flatten_all()?;
    Ok(off
        .to_dtype(DType::F32)?
        .to_vec1::<f32>()?
        .iter()
        .all(|off| *off < 1e-4))
}

#[test]
fn faults_are_seen() -> Result<()> {
    const BARRIER: Fault = ("threadgroup_barrier(mem_flags::mem_threadgroup)", "");
    const SUBGROUP: Fault = ("simdgroup_barrier(mem_flags::mem_threadgroup)", "");
    const ENDS: Fault = ("r_ < (rows_left) && c_ < (columns_left)", "true");
    const FEATURES: Fault = (
        "(p.head_dim > (d) ? p.head_dim - (d) : 0u)",
        "(p.head_dim - (d))",
    );
    const OWN_KEYS: Fault = ("key >= own_from && key < own_end", "key < end");
    let products = [
        BARRIER,
        SUBGROUP,
        ENDS,
        ("m0 + m_ < p.m && n0 + n_ < p.n", "true"),
    ];
    let attentions = [BARRIER, SUBGROUP, ENDS, FEATURES, OWN_KEYS];
    let computed: [(&str, Compute, &[Fault]); 2] = [
        ("product", product, &products),
        ("attention", attended, &attentions),
    ];
    for (name, compute, faults) in computed {
        let Some((device, _)) = processor(None) else {
            return Ok(());
        };
        assert!(agrees(compute, &device)?, "without a fault");
        for &fault in faults {
            let Some((device, _)) = processor(Some(fault)) else {
                return Ok(());
            };
            let is_right = agrees(compute, &device).unwrap_or(false);
            assert!(!is_right, "{name}: {fault:?} is not seen");
        }
    }
    Ok(())
}
