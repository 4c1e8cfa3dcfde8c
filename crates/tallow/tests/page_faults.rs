//! Recycled buffers: in steady state an operation touches no fresh page. A test binary of its own,
//! since the count is of the whole process.
#![cfg(target_os = "linux")]

use tallow::{DType, Device, Result, Tensor};

/// Page faults of this process that needed no disk: `minflt`, the tenth field of `/proc/self/stat`.
fn minor_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has it");
    // The second field is the program's name in parentheses, and may hold spaces.
    let (_, rest) = stat.rsplit_once(')').expect("a name in parentheses");
    let field = rest.split_whitespace().nth(7).expect("ten fields");
    field.parse().expect("a count")
}

#[test]
fn a_hundred_large_adds_fault_at_most_fifty_times() -> Result<()> {
    let x = Tensor::ones(4_194_304, DType::F32, &Device::Cpu)?;
    let mut sum = (&x + &x)?;
    for _ in 0..3 {
        sum = (&sum + &x)?;
    }
    let before = minor_faults();
    for _ in 0..100 {
        sum = (&sum + &x)?;
    }
    let faults = minor_faults() - before;
    assert_eq!(sum.get(17)?.to_scalar::<f32>()?, 105.0);
    assert!(
        faults <= 50,
        "{faults} page faults; 100 fresh results would be 409,600"
    );
    Ok(())
}
