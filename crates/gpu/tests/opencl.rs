//! The runtime on an OpenCL device, if the machine has one.

#![allow(clippy::print_stdout)] // a test that is skipped says so

mod program;
mod random;

use program::{COUNT, MIX, MixParams, random_program, read};
use std::sync::Arc;
use tallow_gpu::drivers::sim::{Faults, Sim, SimSettings};
use tallow_gpu::{
    Api, Driver, GpuDevice, GpuError, KernelSource, Result, Settings, Variant, drivers,
};

/// `None` on a machine without OpenCL, which the test then says.
fn device() -> Option<GpuDevice> {
    match GpuDevice::open(Api::OpenCl, 0) {
        Ok(device) => Some(device),
        Err(GpuError::Missing { .. } | GpuError::NoDevice { .. }) => {
            println!("skipped: no OpenCL device");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn random_programs_give_what_the_host_gives() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    for seed in 0..30 {
        assert_eq!(random_program(&device, seed)?, 0, "seed {seed}");
    }
    Ok(())
}

#[test]
fn threads_read_back_what_they_wrote() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    let device = Arc::new(device);
    let work = |thread: u64| -> Result<()> {
        (0..6).try_for_each(|round| {
            assert_eq!(random_program(&device, 1000 * thread + round)?, 0);
            Ok(())
        })
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..9)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("no assertion failed"))
    })
}

#[test]
fn a_recording_runs_again_on_what_it_owns() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    let [a, b] = [device.buffer(COUNT * 4)?, device.buffer(COUNT * 4)?];
    let ones: Vec<u32> = vec![1; COUNT];
    device.write(&a, 0, bytemuck::cast_slice(&ones))?;
    device.write(&b, 0, bytemuck::cast_slice(&ones))?;
    let params = MixParams {
        rounds: 0,
        count: COUNT as u32,
    };
    let ((), recording) = device.record_commands(|| -> Result<()> {
        let between = device.buffer(COUNT * 4)?;
        device.copy((&b, 0..COUNT * 4), (&between, 0))?;
        let operands = [(&between, 0..COUNT * 4), (&b, 0..COUNT * 4)];
        device.launch(&Variant::new(&MIX), &operands, &params, [4, 1, 1])?;
        assert!(
            device.synchronize().is_err(),
            "nothing can be waited for while recording"
        );
        Ok(())
    })?;
    assert_eq!(read(&device, &b)?, ones, "recording runs nothing");
    for times in 1..4u32 {
        recording.replay()?;
        // What others take from the pool is not what the recording uses.
        let other = device.buffer(COUNT * 4)?;
        device.fill(&other, 0..COUNT * 4, 0xff)?;
        assert_eq!(read(&device, &b)?, vec![4u32.pow(times); COUNT]);
        assert_eq!(read(&device, &other)?, vec![u32::MAX; COUNT]);
    }
    Ok(())
}

#[test]
fn a_launch_that_does_not_fit_its_kernel_is_an_error() -> Result<()> {
    let Some(device) = device() else {
        return Ok(());
    };
    let a = device.buffer(8)?;
    let params = MixParams {
        rounds: 0,
        count: 2,
    };
    let variant = Variant::new(&MIX);
    let groups = [1, 1, 1];
    assert!(
        device
            .launch(&variant, &[(&a, 0..8)], &params, groups)
            .is_err()
    );
    assert!(
        device
            .launch(&variant, &[(&a, 0..8), (&a, 0..9)], &params, groups)
            .is_err()
    );
    assert!(
        device
            .launch_bytes(&variant, &[(&a, 0..8), (&a, 0..8)], &[], groups)
            .is_err()
    );
    assert!(device.write(&a, 4, &[0; 5]).is_err());
    let text = "KERNEL(writes_its_input, WG)(IN(f32, x), PARAMS(MixParams)) { x[0] = 1.0f; }";
    let source = KernelSource::interned("writes_its_input", text, 32);
    let error = device.launch_bytes(&Variant::new(source), &[(&a, 0..8)], &[0; 8], groups);
    assert!(matches!(error, Err(GpuError::Compile { .. })), "{error:?}");
    assert_eq!(
        device
            .buffer(usize::MAX)
            .unwrap_err()
            .to_string()
            .split(':')
            .nth(1),
        Some(" out of memory")
    );
    Ok(())
}

/// A slow producer and a fast consumer: how often the consumer was too fast, of four times.
fn races(faults: Faults) -> Result<Option<(usize, Vec<String>)>> {
    if device().is_none() {
        return Ok(None);
    }
    let more = SimSettings {
        faults,
        ..SimSettings::default()
    };
    let sim = Arc::new(Sim::around(drivers::open(Api::OpenCl, 0)?, more));
    let driver: Arc<dyn Driver> = Arc::clone(&sim) as _;
    let device = GpuDevice::with_driver(driver, &Settings::from_env()?);
    let mut raced = 0;
    for _ in 0..4 {
        let [a, b, c] = [(); 3].map(|()| device.buffer(COUNT * 4));
        let (a, b, c) = (a?, b?, c?);
        device.fill(&a, 0..COUNT * 4, 1)?;
        device.fill(&b, 0..COUNT * 4, 0)?;
        device.synchronize()?;
        let params = MixParams {
            rounds: 1_000_000,
            count: COUNT as u32,
        };
        let operands = [(&a, 0..COUNT * 4), (&b, 0..COUNT * 4)];
        device.launch(&Variant::new(&MIX), &operands, &params, [4, 1, 1])?;
        device.copy((&b, 0..COUNT * 4), (&c, 0))?;
        let (found, wanted) = (read(&device, &c)?, read(&device, &b)?);
        raced += usize::from(found != wanted);
    }
    Ok(Some((raced, sim.violations())))
}

#[test]
fn a_fast_consumer_waits_for_its_producer_by_the_barrier_alone() -> Result<()> {
    let Some((raced, violations)) = races(Faults::default())? else {
        return Ok(());
    };
    assert_eq!((raced, violations), (0, Vec::new()));
    let faults = Faults {
        drops_barriers: true,
        ..Faults::default()
    };
    let Some((raced, violations)) = races(faults)? else {
        return Ok(());
    };
    assert!(
        raced > 0,
        "without barriers the device must go wrong, or the test sees nothing"
    );
    assert!(violations.iter().any(|what| what.contains("no barrier")));
    Ok(())
}

#[test]
fn random_programs_in_other_orders_give_what_the_host_gives() -> Result<()> {
    if device().is_none() {
        return Ok(());
    }
    for seed in 0..10 {
        let more = SimSettings {
            seed,
            lag: seed as usize % 3,
            ..SimSettings::default()
        };
        let sim = Arc::new(Sim::around(drivers::open(Api::OpenCl, 0)?, more));
        let driver: Arc<dyn Driver> = Arc::clone(&sim) as _;
        let device = GpuDevice::with_driver(driver, &Settings::from_env()?);
        assert_eq!(random_program(&device, seed)?, 0, "seed {seed}");
        drop(device);
        assert_eq!(sim.violations(), [""; 0], "seed {seed}");
    }
    Ok(())
}
