//! The runtime over the simulated driver: random programs, and what goes wrong on devices.

mod random;

use random::Random;
use std::ops::Range;
use std::sync::Arc;
use tallow_gpu::drivers::sim::{Body, Call, Faults, Sim, SimSettings};
use tallow_gpu::{
    Api, Buffer, Driver, GpuDevice, GpuError, KernelSource, Result, Settings, Variant,
};

/// b = 3·b + a + the parameter; fails with an index error where the parameter is 255.
const ADD: &str = "KERNEL(sim_add, WG)(IN(u8, a), INOUT(u8, b), ERRORS, PARAMS(P)) { }";
/// b = a + 1.
const NEXT: &str = "KERNEL(sim_next, WG)(IN(u8, a), OUT(u8, b), PARAMS(P)) { }";

const SIZE: usize = 600;

fn bodies() -> Vec<(&'static str, Body)> {
    let add = |call: &mut Call| {
        let factor = call.params[0];
        call.error = u32::from(factor == 255);
        let (a, b) = call.buffers.split_at_mut(1);
        add_to(&a[0], &mut b[0], factor);
    };
    let next = |call: &mut Call| {
        let a = call.buffers[0].clone();
        call.buffers[1] = a.iter().map(|byte| byte.wrapping_add(1)).collect();
    };
    vec![("sim_add", Arc::new(add)), ("sim_next", Arc::new(next))]
}

fn add_to(a: &[u8], b: &mut [u8], more: u8) {
    for (b, a) in b.iter_mut().zip(a) {
        *b = b.wrapping_mul(3).wrapping_add(*a).wrapping_add(more);
    }
}

fn variant(text: &'static str) -> Variant {
    let name = if text == ADD { "sim_add" } else { "sim_next" };
    Variant::new(KernelSource::interned(name, text, 32))
}

fn settings() -> Settings {
    Settings {
        batch: 50,
        fast_math: false,
        nonce: None,
        pool_bytes: Some(1 << 20),
        cache: None,
        pack: None,
    }
}

fn sim(seed: u64, lag: usize, faults: Faults) -> (Arc<Sim>, GpuDevice) {
    let more = SimSettings { seed, lag, faults };
    let sim = Arc::new(Sim::alone(&bodies(), more));
    let mut settings = settings();
    settings.batch = [1, 7, 50][seed as usize % 3];
    settings.pool_bytes = Some([0, 4096, 1 << 20][seed as usize / 3 % 3]);
    let driver: Arc<dyn Driver> = Arc::clone(&sim) as _;
    (sim, GpuDevice::with_driver(driver, &settings))
}

impl Random {
    fn range(&mut self) -> Range<usize> {
        let start = self.below(SIZE - 1);
        start..start + 1 + self.below(SIZE - start - 1).min(200)
    }
}

/// A buffer and what it has to hold.
type Held = (Buffer, Vec<u8>);

fn fresh(device: &GpuDevice, random: &mut Random) -> Result<Held> {
    let bytes: Vec<u8> = (0..SIZE).map(|_| random.below(256) as u8).collect();
    let buffer = device.buffer(SIZE)?;
    device.write(&buffer, 0, &bytes)?;
    Ok((buffer, bytes))
}

fn launch(
    device: &GpuDevice,
    text: &'static str,
    a: &Buffer,
    b: &Buffer,
    at: (&Range<usize>, usize, u8),
) -> Result<()> {
    let (range, start, more) = at;
    let operands = [(a, range.clone()), (b, start..start + range.len())];
    device.launch_bytes(&variant(text), &operands, &[more], [1, 1, 1])
}

/// One random step on some buffers and on what they have to hold.
fn step(device: &GpuDevice, held: &mut [Held], random: &mut Random) -> Result<()> {
    let (a, mut b) = (random.below(held.len()), random.below(held.len()));
    if a == b {
        b = (a + 1) % held.len();
    }
    let range = random.range();
    let start = random.below(SIZE - range.len());
    let target = start..start + range.len();
    let source = held[a].1[range.clone()].to_vec();
    match random.below(12) {
        0..=3 => {
            let more = random.below(255) as u8;
            launch(device, ADD, &held[a].0, &held[b].0, (&range, start, more))?;
            add_to(&source, &mut held[b].1[target], more);
        }
        4 | 5 => {
            launch(device, NEXT, &held[a].0, &held[b].0, (&range, start, 0))?;
            for (to, from) in held[b].1[target].iter_mut().zip(&source) {
                *to = from.wrapping_add(1);
            }
        }
        6 | 7 => {
            device.copy((&held[a].0, range), (&held[b].0, start))?;
            held[b].1[target].copy_from_slice(&source);
        }
        8 => {
            device.fill(&held[b].0, target.clone(), 9)?;
            held[b].1[target].fill(9);
        }
        9 => {
            device.write(&held[b].0, start, &source)?;
            held[b].1[target].copy_from_slice(&source);
        }
        10 => held[b] = fresh(device, random)?,
        _ => match random.below(4) {
            0 => device.synchronize()?,
            1 => drop(device.submit()?),
            _ => {
                let mut bytes = vec![0; range.len()];
                device.read(&held[a].0, range.start, &mut bytes)?;
                assert!(bytes == source, "a read-back is wrong");
            }
        },
    }
    Ok(())
}

/// Steps recorded once and run some times.
fn recorded(device: &GpuDevice, held: &mut [Held], times: usize) -> Result<()> {
    let ((), recording) = device.record_commands(|| -> Result<()> {
        let between = device.buffer(SIZE)?;
        device.copy((&held[0].0, 0..SIZE), (&between, 0))?;
        launch(device, ADD, &between, &held[1].0, (&(0..SIZE), 0, 5))?;
        drop(between);
        let other = device.buffer(SIZE)?;
        launch(device, NEXT, &held[1].0, &other, (&(0..SIZE), 0, 0))?;
        device.copy((&other, 0..SIZE), (&held[0].0, 0))
    })?;
    for _ in 0..times {
        recording.replay()?;
        let source = held[0].1.clone();
        add_to(&source, &mut held[1].1, 5);
        held[0].1 = held[1].1.iter().map(|byte| byte.wrapping_add(1)).collect();
    }
    Ok(())
}

fn wrong(device: &GpuDevice, held: &[Held]) -> Result<usize> {
    let mut wrong = 0;
    for (buffer, bytes) in held {
        let mut found = vec![0; SIZE];
        device.read(buffer, 0, &mut found)?;
        wrong += usize::from(found != *bytes);
    }
    Ok(wrong)
}

fn program(device: &GpuDevice, seed: u64, steps: usize) -> Result<usize> {
    let mut random = Random(seed);
    let made: Result<Vec<_>> = (0..4).map(|_| fresh(device, &mut random)).collect();
    let mut held = made?;
    for at in 0..steps {
        step(device, &mut held, &mut random)?;
        if at % 40 == 39 {
            recorded(device, &mut held, random.below(4))?;
        }
    }
    wrong(device, &held)
}

#[test]
fn random_programs_are_right() -> Result<()> {
    for seed in 0..2000 {
        let (sim, device) = sim(seed, seed as usize % 4, Faults::default());
        assert_eq!(program(&device, seed, 90)?, 0, "seed {seed}");
        drop(device);
        assert_eq!(sim.violations(), [""; 0], "seed {seed}");
        assert_eq!(sim.allocations(), 0, "seed {seed}: memory is left behind");
    }
    Ok(())
}

#[test]
fn random_programs_of_threads_are_right() -> Result<()> {
    for seed in 0..40 {
        let (sim, device) = sim(seed, seed as usize % 4, Faults::default());
        std::thread::scope(|scope| {
            let work = |thread| {
                let device = device.clone();
                move || program(&device, 100 * seed + thread, 120)
            };
            let threads: Vec<_> = (0..4).map(|at| scope.spawn(work(at))).collect();
            threads.into_iter().try_for_each(|thread| {
                let found = thread.join().expect("no assertion failed")?;
                assert_eq!(found, 0, "seed {seed}");
                Ok::<_, GpuError>(())
            })
        })?;
        drop(device);
        assert_eq!(sim.violations(), [""; 0], "seed {seed}");
        assert_eq!(sim.allocations(), 0, "seed {seed}: memory is left behind");
    }
    Ok(())
}

/// What programs without reads in between give under a fault: wrong buffers, and violations.
fn under(faults: &Faults) -> Result<(usize, Vec<String>)> {
    let (mut found, mut violations) = (0, Vec::new());
    for seed in 0..60 {
        let (sim, device) = sim(seed, 3, faults.clone());
        let mut random = Random(seed);
        let made: Result<Vec<_>> = (0..3).map(|_| fresh(&device, &mut random)).collect();
        let mut held = made?;
        for _ in 0..20 {
            recorded(&device, &mut held[..2], 1)?;
            held[2] = fresh(&device, &mut random)?;
        }
        found += match wrong(&device, &held) {
            // The error word is memory like any other, and may be as wrong.
            Err(GpuError::Kernel { .. }) => 1,
            other => other?,
        };
        violations.extend(sim.violations());
    }
    Ok((found, violations))
}

fn says(violations: &[String], what: &str) -> bool {
    violations.iter().any(|violation| violation.contains(what))
}

#[test]
fn each_fault_of_a_runtime_is_found() -> Result<()> {
    assert_eq!(under(&Faults::default())?, (0, Vec::new()));
    let faults = Faults {
        drops_barriers: true,
        ..Faults::default()
    };
    let (found, violations) = under(&faults)?;
    assert!(
        found > 0 && says(&violations, "no barrier between"),
        "{found}"
    );
    // Called done too early: host memory is used again, and memory freed, under the device.
    let faults = Faults {
        completes_early: true,
        ..Faults::default()
    };
    let (_, violations) = under(&faults)?;
    assert!(says(&violations, "the host writes"), "host memory");
    assert!(says(&violations, "is freed"), "freed memory");
    let faults = Faults {
        skips_waits: true,
        ..Faults::default()
    };
    let (found, violations) = under(&faults)?;
    assert!(found > 0 && says(&violations, "the host reads"), "{found}");
    Ok(())
}

#[test]
fn a_full_device_frees_what_is_pooled_and_goes_on() -> Result<()> {
    let faults = Faults {
        memory_bytes: Some(10 * 1024),
        ..Faults::default()
    };
    let (sim, device) = sim(8, 2, faults);
    for size in [512, 1024, 2048, 4096] {
        let buffer = device.buffer(size)?;
        device.fill(&buffer, 0..size, 1)?;
    }
    let big = device.buffer(8 * 1024)?;
    let error = device.buffer(4096).unwrap_err();
    let wanted = GpuError::OutOfMemory {
        api: Api::OpenCl,
        bytes: 4096,
        used: 8 * 1024,
    };
    assert_eq!(error, wanted);
    device.fill(&big, 0..8192, 7)?;
    let mut bytes = [0; 3];
    device.read(&big, 8000, &mut bytes)?;
    assert_eq!(bytes, [7; 3]);
    drop(big);
    device.buffer(4096)?;
    assert_eq!(sim.violations(), [""; 0]);
    Ok(())
}

#[test]
fn an_allocation_that_fails_is_an_error_and_nothing_else() -> Result<()> {
    for number in 0..12 {
        let faults = Faults {
            out_of_memory_at: number..number + 2,
            ..Faults::default()
        };
        let (sim, device) = sim(number, 1, faults);
        let mut failed = 0;
        for seed in 0..4 {
            match program(&device, seed, 60) {
                Ok(found) => assert_eq!(found, 0),
                Err(GpuError::OutOfMemory { .. }) => failed += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(failed <= 1, "allocation {number} failed {failed} programs");
        drop(device);
        assert_eq!(sim.violations(), [""; 0], "allocation {number}");
    }
    Ok(())
}

#[test]
fn a_lost_device_says_so_for_ever() {
    for ticket in 1..40 {
        for late in [false, true] {
            let (lost_at, fails_at) = match late {
                true => (None, Some(ticket)),
                false => (Some(ticket), None),
            };
            let faults = Faults {
                lost_at,
                fails_at,
                ..Faults::default()
            };
            let (sim, device) = sim(ticket, 2, faults);
            let buffer = device.buffer(SIZE).expect("nothing was submitted yet");
            let mut lost = None;
            for seed in 0..20 {
                lost = lost.or(program(&device, seed, 60).err());
            }
            assert!(matches!(lost, Some(GpuError::Lost { .. })), "{lost:?}");
            let mut bytes = [0];
            let calls = [
                device.buffer(SIZE).map(drop),
                device.fill(&buffer, 0..1, 1),
                device.copy((&buffer, 0..1), (&buffer, 1)),
                device.write(&buffer, 0, &[1]),
                device.read(&buffer, 0, &mut bytes),
                device.submit().map(drop),
                device.synchronize(),
                launch(&device, NEXT, &buffer, &buffer, (&(0..4), 8, 0)),
                device.record_commands(|| Ok::<_, GpuError>(())).map(drop),
            ];
            for (at, call) in calls.into_iter().enumerate() {
                assert!(matches!(call, Err(GpuError::Lost { .. })), "{at}: {call:?}");
            }
            drop((buffer, device));
            assert_eq!(sim.violations(), [""; 0]);
        }
    }
}

#[test]
fn a_kernel_that_does_not_compile_leaves_the_others_alone() -> Result<()> {
    let faults = Faults {
        uncompilable: Some("sim_add"),
        ..Faults::default()
    };
    let (_, device) = sim(0, 0, faults);
    let (a, b) = (device.buffer(8)?, device.buffer(8)?);
    device.fill(&a, 0..8, 4)?;
    for _ in 0..2 {
        let error = launch(&device, ADD, &a, &b, (&(0..8), 0, 1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "opencl: kernel sim_add does not compile: it is not meant to"
        );
    }
    launch(&device, NEXT, &a, &b, (&(0..8), 0, 1))?;
    let mut bytes = [0; 8];
    device.read(&b, 0, &mut bytes)?;
    assert_eq!(bytes, [5; 8]);
    Ok(())
}

#[test]
fn a_kernels_error_comes_out_once() -> Result<()> {
    for lag in 0..3 {
        let (_, device) = sim(lag, lag as usize, Faults::default());
        let (a, b) = (device.buffer(8)?, device.buffer(8)?);
        device.fill(&a, 0..8, 4)?;
        device.fill(&b, 0..8, 4)?;
        launch(&device, ADD, &a, &b, (&(0..8), 0, 255))?;
        let error = device.read(&a, 0, &mut [0]).unwrap_err();
        assert_eq!(error.to_string(), "sim_add: an index is out of range");
        device.read(&a, 0, &mut [0])?;
        launch(&device, ADD, &a, &b, (&(0..8), 0, 1))?;
        device.synchronize()?;
    }
    Ok(())
}

#[test]
fn kept_kernels_that_are_of_no_use_are_compiled_again() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let run = |unfit_blobs| -> Result<(u64, u64)> {
        let faults = Faults {
            unfit_blobs,
            ..Faults::default()
        };
        let more = SimSettings {
            faults,
            ..SimSettings::default()
        };
        let mut settings = settings();
        settings.cache = Some(folder.path().join("kernels"));
        let device = GpuDevice::with_driver(Arc::new(Sim::alone(&bodies(), more)), &settings);
        device.prepare(&[variant(NEXT)])?;
        let kernels = device.statistics().kernels;
        Ok((kernels.compiled, kernels.loaded))
    };
    assert_eq!(run(false)?, (1, 0));
    assert_eq!(run(false)?, (0, 1));
    assert_eq!(run(true)?, (1, 0), "the driver refuses it");
    for file in std::fs::read_dir(folder.path().join("kernels")).expect("it was made") {
        std::fs::write(file.expect("it is there").path(), "junk").expect("it can be written");
    }
    assert_eq!(run(false)?, (1, 0), "the file is damaged");
    assert_eq!(run(false)?, (0, 1), "and was mended");
    std::fs::remove_dir_all(folder.path().join("kernels")).expect("it is there");
    std::fs::write(folder.path().join("kernels"), "a file").expect("it can be written");
    assert_eq!(run(false)?, (1, 0), "nothing can be written");
    assert_eq!(run(false)?, (1, 0));
    Ok(())
}

#[test]
fn what_another_thread_takes_is_not_the_recordings() -> Result<()> {
    let (sim, device) = sim(2, 0, Faults::default());
    let (source, bytes) = fresh(&device, &mut Random(1))?;
    let (other, recording) = device.record_commands(|| -> Result<Buffer> {
        let between = device.buffer(SIZE)?;
        device.copy((&source, 0..SIZE), (&between, 0))?;
        drop(between);
        let taken = std::thread::scope(|scope| scope.spawn(|| device.buffer(SIZE)).join());
        taken.expect("it does not panic")
    })?;
    device.fill(&other, 0..SIZE, 3)?;
    recording.replay()?;
    let held = [(other, vec![3; SIZE]), (source, bytes)];
    assert_eq!(wrong(&device, &held)?, 0);
    assert_eq!(sim.violations(), [""; 0]);
    Ok(())
}

#[test]
fn a_recording_that_panics_is_over() -> Result<()> {
    let (_, device) = sim(2, 0, Faults::default());
    let (buffer, bytes) = fresh(&device, &mut Random(1))?;
    let record = || {
        device.record_commands(|| -> Result<()> {
            device.fill(&buffer, 0..SIZE, 0)?;
            panic!("as a caller's code may")
        })
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(record)).is_err());
    assert_eq!(wrong(&device, &[(buffer, bytes)])?, 0);
    assert_eq!(program(&device, 1, 50)?, 0);
    Ok(())
}

#[test]
fn a_replay_within_a_recording_is_refused() -> Result<()> {
    let (_, device) = sim(2, 0, Faults::default());
    let (buffer, _) = fresh(&device, &mut Random(1))?;
    let ((), first) = device.record_commands(|| device.fill(&buffer, 0..SIZE, 0))?;
    let second = device.record_commands(|| first.replay());
    assert!(matches!(second, Err(GpuError::Launch { .. })));
    first.replay()?;
    assert_eq!(wrong(&device, &[(buffer, vec![0; SIZE])])?, 0);
    Ok(())
}
