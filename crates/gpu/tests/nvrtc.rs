//! The preludes and a kernel through NVRTC, if the machine has it; needs no GPU.

#![allow(clippy::print_stdout)] // a test that is skipped says so

use tallow_gpu::{
    GpuDevice, GpuError, KernelSource, Result, Settings, Variant, compile_for_pack, drivers,
    write_pack,
};

/// Touches what the prelude of CUDA offers: dtypes, waits, subgroups, shared memory, errors.
const SUM: &str = "SHARED float parts[WG / 32u];
KERNEL(sum_halves, WG)(IN(f16, x), OUT(f32, y), ERRORS) {
    AFTER_INPUTS();
    float v = SG_SUM(LOAD_f16(x, GRP_X * WG + TID));
    if (IS_NAN(v)) ERRORS_SET_(1u);
    if (SG_LANE == 0u) parts[SG_ID] = v;
    BARRIER();
    if (TID == 0u) {
        float sum = 0.0f;
        for (uint i = 0u; i < WG / 32u; i++) sum += parts[i];
        y[GRP_X] = sum;
    }
}";

fn compiles(device: &GpuDevice, name: &str, text: &str) -> Result<()> {
    device.prepare(&[Variant::new(KernelSource::interned(name, text, 128))])
}

#[test]
fn kernels_compile_to_machine_code_of_two_generations() -> Result<()> {
    for architecture in ["sm_80", "sm_90a"] {
        let driver = match drivers::cuda_on_paper(architecture) {
            Err(GpuError::Missing { .. }) => {
                println!("skipped: no NVRTC");
                return Ok(());
            }
            driver => driver?,
        };
        let device = GpuDevice::with_driver(driver, &Settings::plain());
        compiles(&device, "sum_halves", SUM)?;
        // A text that is wrong is an error with the compiler's words.
        let text = "KERNEL(writes_its_input, WG)(IN(f32, x)) { x[0] = 1.0f; }";
        match compiles(&device, "writes_its_input", text) {
            Err(GpuError::Compile { log, .. }) => assert!(log.contains("error"), "{log}"),
            other => panic!("{architecture}: {other:?}"),
        }
        // One that asks for more shared memory than a group has fails past the compiler's front.
        let text = "SHARED float much[1 << 20];
            KERNEL(takes_too_much, WG)(OUT(f32, y)) { much[TID] = y[TID]; y[0] = much[1]; }";
        assert!(
            compiles(&device, "takes_too_much", text).is_err(),
            "{architecture}"
        );
        println!("{architecture}: compiled");
    }
    Ok(())
}

/// What a pack is made of is what the driver would have compiled, without a GPU.
#[test]
fn variants_are_packed_for_an_architecture() -> Result<()> {
    let variants = [Variant::new(KernelSource::interned("sum_halves", SUM, 128))];
    let kernels = match compile_for_pack("sm_90a", &variants) {
        Err(GpuError::Missing { .. }) => {
            println!("skipped: no NVRTC");
            return Ok(());
        }
        kernels => kernels?,
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (count, bytes) = write_pack(&folder.path().join("pack"), &kernels).expect("a file");
    assert!(count == 1 && bytes > 1000, "{bytes}");
    let text = "KERNEL(writes_its_input, WG)(IN(f32, x)) { x[0] = 1.0f; }";
    let wrong = [Variant::new(KernelSource::interned(
        "writes_its_input",
        text,
        128,
    ))];
    assert!(compile_for_pack("sm_90a", &wrong).is_err());
    Ok(())
}
