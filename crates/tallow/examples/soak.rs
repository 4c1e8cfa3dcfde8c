//! 64 threads on shared tensors: in-place operations on separate and on aliasing views, updates of
//! variables, reads. `cargo xtask soak` runs it; arguments: seconds, threads.
//!
//! Every operation holds its locks from its first read to its last write, so a result has to be
//! that of some order of whole operations, one after the other. Each part has a property that holds
//! in every such order, and in none where an operation saw half of another. A thread that makes no
//! progress for 20 seconds is a deadlock.
#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tallow::{
    CpuStorage, DType, Device, InplaceOp1, InplaceOp2, Layout, Result, Tensor, Var, bail,
};

/// Tensors of the last part.
const SHARED: usize = 8;

/// Adds 1 to every element of the view.
struct Increment;

impl InplaceOp1 for Increment {
    fn name(&self) -> &'static str {
        "increment"
    }
    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let data = storage.as_mut_slice::<i64>()?;
        let (rows, columns) = layout.shape().dims2()?;
        for row in 0..rows {
            for column in 0..columns {
                let (down, right) = (layout.stride()[0], layout.stride()[1]);
                data[layout.start_offset() + row * down + column * right] += 1;
            }
        }
        Ok(())
    }
}

/// Copies the operand, a square of i64, into the target.
struct CopyFrom;

impl InplaceOp2 for CopyFrom {
    fn name(&self) -> &'static str {
        "copy_from"
    }
    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        rhs: &CpuStorage,
        rhs_layout: &Layout,
    ) -> Result<()> {
        let (data, rhs) = (storage.as_mut_slice::<i64>()?, rhs.as_slice::<i64>()?);
        let places = layout.strided_index().zip(rhs_layout.strided_index());
        places.for_each(|(to, from)| data[to] = rhs[from]);
        Ok(())
    }
}

struct World {
    /// Everyone adds 1, through the tensor and through its transpose: always one number.
    counter: Tensor,
    increments: AtomicU64,
    /// A row for each thread, which alone writes it.
    rows: Tensor,
    /// Written over by its own transpose.
    wheel: Tensor,
    /// Set whole: always one number.
    variable: Var,
    /// Copied into each other whole: always one number each.
    shared: Vec<Tensor>,
}

/// An order that looks random, different for each thread (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// The one number that all elements are.
fn uniform(x: &Tensor) -> Result<f64> {
    let values = x.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;
    match values.iter().find(|value| **value != values[0]) {
        None => Ok(values[0]),
        Some(other) => bail!("a read saw {} and {other} in one tensor", values[0]),
    }
}

fn one_step(world: &World, thread: usize, random: &mut Random, last: &mut [f64; 2]) -> Result<()> {
    match random.below(8) {
        0 => {
            let view = [world.counter.clone(), world.counter.t()?];
            view[random.below(2)].inplace_op1(&Increment)?;
            world.increments.fetch_add(1, Ordering::SeqCst);
        }
        1 => {
            let seen = uniform(&world.counter)?;
            if seen < last[0] {
                bail!("the counter went back from {} to {seen}", last[0]);
            }
            last[0] = seen;
        }
        2 => {
            let row = world.rows.narrow(0, thread, 1)?;
            if uniform(&row)? != last[1] {
                bail!("row {thread} lost a write");
            }
            last[1] = random.below(1000) as f64;
            row.const_set((last[1] as f32).into())?;
        }
        3 => {
            world.wheel.inplace_op2(&world.wheel.t()?, &CopyFrom)?;
        }
        4 => check_wheel(&world.wheel)?,
        5 => {
            let value = random.below(1000) as f32;
            world
                .variable
                .set(&Tensor::full(value, (64, 33), &Device::Cpu)?)?;
        }
        6 => {
            uniform(world.variable.as_tensor())?;
            let (at, other) = (random.below(SHARED), random.below(SHARED));
            let sum = world.shared[at].add(&world.shared[other])?;
            uniform(&sum)?;
        }
        _ => {
            let (to, from) = (random.below(SHARED), random.below(SHARED));
            if to != from {
                world.shared[to].slice_set(&world.shared[from], 0, 0)?;
            }
            uniform(&world.shared[to])?;
        }
    }
    Ok(())
}

/// A square that is only ever transposed in place: itself or its transpose.
fn check_wheel(wheel: &Tensor) -> Result<()> {
    let values = wheel.to_vec2::<i64>()?;
    let upright = |(row, column): (usize, usize)| (row * 16 + column) as i64;
    let lying = |(row, column): (usize, usize)| (column * 16 + row) as i64;
    let all = || (0..16).flat_map(|row| (0..16).map(move |column| (row, column)));
    let is = |want: &dyn Fn((usize, usize)) -> i64| all().all(|at| values[at.0][at.1] == want(at));
    match is(&upright) || is(&lying) {
        true => Ok(()),
        false => bail!("a transposition in place was seen half done"),
    }
}

fn world(threads: usize) -> Result<World> {
    let cpu = &Device::Cpu;
    let shared = |at: usize| Tensor::full(at as f32, (50, 70), cpu);
    Ok(World {
        counter: Tensor::zeros((48, 80), DType::I64, cpu)?,
        increments: AtomicU64::new(0),
        rows: Tensor::zeros((threads, 257), DType::F32, cpu)?,
        wheel: Tensor::arange(0i64, 256, cpu)?.reshape((16, 16))?,
        variable: Var::zeros((64, 33), DType::F32, cpu)?,
        shared: (0..SHARED).map(shared).collect::<Result<_>>()?,
    })
}

fn main() -> Result<()> {
    let argument = |at: usize| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let seconds = argument(1).unwrap_or(60);
    let threads = argument(2).unwrap_or(64usize);
    let (world, stop) = (world(threads)?, AtomicBool::new(false));
    let steps: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let work = |thread: usize| -> Result<()> {
        let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (thread as u64 + 1));
        let mut last = [0.0; 2];
        while !stop.load(Ordering::Relaxed) {
            // The first error ends the run.
            one_step(&world, thread, &mut random, &mut last)
                .inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            steps[thread].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let work = &work;
    let outcome = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        watch(&steps, &stop, Duration::from_secs(seconds as u64));
        stop.store(true, Ordering::Relaxed);
        let ends = handles.into_iter().map(|handle| match handle.join() {
            Ok(result) => result,
            Err(_) => Err(tallow::Error::Msg("a thread panicked".to_owned())),
        });
        ends.collect::<Result<Vec<()>>>()
    });
    outcome?;
    let increments = world.increments.load(Ordering::SeqCst);
    if uniform(&world.counter)? != increments as f64 {
        bail!("{increments} increments were made, the counter differs");
    }
    let total: usize = steps
        .iter()
        .map(|steps| steps.load(Ordering::Relaxed))
        .sum();
    println!("{total} operations of {threads} threads in {seconds} s: no deadlock, all in order");
    Ok(())
}

/// Waits until the time is over or all are to stop; ends the program where a thread stands still.
fn watch(steps: &[AtomicUsize], stop: &AtomicBool, duration: Duration) {
    let now = || -> Vec<usize> { steps.iter().map(|x| x.load(Ordering::Relaxed)).collect() };
    let (start, mut seen, mut since) = (Instant::now(), now(), Instant::now());
    while start.elapsed() < duration && !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(200));
        let current = now();
        if current.iter().zip(&seen).all(|(now, before)| now > before) {
            (seen, since) = (current, Instant::now());
        } else if since.elapsed() > Duration::from_secs(20) {
            println!("deadlock: a thread has made no step for 20 s: {current:?}");
            std::process::exit(1);
        }
    }
}
