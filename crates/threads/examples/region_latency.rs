//! Prints how long an empty region takes: `cargo run --release -p tallow-threads --example
//! region_latency`. "warm" regions follow each other, so that workers are still spinning; before a
//! "cold" one the workers have parked.
#![allow(clippy::print_stdout, reason = "printing is what this program is for")]

use std::time::{Duration, Instant};

use tallow_threads::{configured_threads, parallel_for, with_num_threads};

const SAMPLES: usize = 1001;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let configured = configured_threads()?;
    println!("{configured} threads configured; median and 99th percentile of {SAMPLES} regions");
    for threads in [1, 2, 4, 8, configured] {
        let [warm, cold] = [Duration::ZERO, Duration::from_micros(300)].map(|pause| {
            let mut samples: Vec<Duration> = (0..SAMPLES).map(|_| sample(threads, pause)).collect();
            samples.sort_unstable();
            (samples[SAMPLES / 2], samples[SAMPLES * 99 / 100])
        });
        println!("{threads:3} threads: warm {warm:9.2?}  cold {cold:9.2?}");
    }
    Ok(())
}

fn sample(threads: usize, pause: Duration) -> Duration {
    std::thread::sleep(pause);
    with_num_threads(threads, || {
        let start = Instant::now();
        parallel_for(threads, |index| {
            std::hint::black_box(index);
        });
        start.elapsed()
    })
}
