//! Microseconds of quantized products, and how near to the machine's reading speed they come.
//!
//! `cargo run --release -p tallow-quant --example qmm_bench [-- FILTER]`
//!
//! Columns: the product; best time from blocks as they lie in a file, and interleaved; bytes of
//! weights read in that time; that as a share of the measured reading speed. Weights take turns in
//! a set of 96 MB for the `decode` rows, so that they come from memory; `qmm` rows repeat one
//! matrix, as the project's table of rivals does. Shares of `prefill` rows mean nothing; their
//! speed is in multiplications and additions.

#![allow(clippy::print_stdout)] // a report is what it is for

use std::hint::black_box;
use std::time::{Duration, Instant};

use tallow_quant::{GgmlDType, Repacked, matmul};

/// A row of the report.
struct Row {
    kind: &'static str,
    dtype: GgmlDType,
    m: usize,
    k: usize,
    n: usize,
}

/// Bytes that a set of weights must have so that none is left in a cache when its turn comes.
const COLD_BYTES: usize = 96 << 20;

fn rows() -> Vec<Row> {
    use GgmlDType::{F16, Q4_0, Q4_1, Q4K, Q5_0, Q6K, Q8_0};
    let row = |kind, dtype, m, k, n| Row {
        kind,
        dtype,
        m,
        k,
        n,
    };
    let mut rows = vec![
        row("qmm", Q8_0, 1, 576, 1536),
        row("qmm", Q4_1, 1, 576, 1536),
    ];
    for dtype in [Q4K, Q8_0, Q4_0, Q4_1, Q6K, F16] {
        rows.push(row("qmm", dtype, 1, 2048, 2048));
        rows.push(row("qmm", dtype, 512, 2048, 2048));
    }
    for dtype in [Q4_1, Q8_0, Q4K, Q6K, Q5_0, F16] {
        rows.push(row("decode", dtype, 1, 2048, 2048));
    }
    for dtype in [Q4_1, Q8_0] {
        for (k, n) in [
            (576, 1536),
            (1536, 576),
            (576, 576),
            (576, 192),
            (576, 49152),
        ] {
            rows.push(row("decode", dtype, 1, k, n));
        }
    }
    for dtype in [Q4_1, Q8_0, Q4K, Q6K] {
        for m in [2, 4, 8, 16, 32] {
            rows.push(row("prefill", dtype, m, 2048, 2048));
        }
    }
    for m in [32, 512] {
        rows.push(row("prefill", Q4_1, m, 576, 1536));
        rows.push(row("prefill", Q8_0, m, 576, 1536));
    }
    rows
}

/// Best seconds of one call, over a fraction of a second of calls. `call` gets the turn's number.
fn best(mut call: impl FnMut(usize)) -> f64 {
    let start = Instant::now();
    let (mut best, mut turn) = (f64::MAX, 0);
    while turn < 10 || start.elapsed() < Duration::from_millis(250) {
        let start = Instant::now();
        call(turn);
        best = best.min(start.elapsed().as_secs_f64());
        turn += 1;
    }
    best
}

/// Bytes a second of a parallel sum over 512 MB.
fn read_speed() -> f64 {
    let data = vec![1u64; 64 << 20];
    let tasks = 64;
    let seconds = best(|_| {
        tallow_threads::parallel_for(tasks, |task| {
            let part = &data[task * (data.len() / tasks)..][..data.len() / tasks];
            let mut sums = [0u64; 32];
            for values in part.as_chunks::<32>().0 {
                sums.iter_mut()
                    .zip(values)
                    .for_each(|(sum, value)| *sum ^= value);
            }
            black_box(sums);
        });
    });
    (data.len() * 8) as f64 / seconds
}

/// Blocks of random codes; scales are what the bits happen to be, halves below 2.
fn weights(dtype: GgmlDType, n: usize, k: usize, seed: u64) -> Vec<u8> {
    let mut state = seed * 2 + 1;
    let mut bytes = vec![0; n * dtype.row_bytes(k).expect("shapes are whole blocks")];
    for byte in &mut bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Without bit 6 in a high byte, a half has an exponent below 16: no infinity, no NaN.
        *byte = (state >> 56) as u8 & 0xbf;
    }
    bytes
}

fn measure(row: &Row, threads: usize, speed: f64) {
    let &Row {
        kind,
        dtype,
        m,
        k,
        n,
    } = row;
    let bytes = n * dtype.row_bytes(k).expect("shapes are whole blocks");
    let copies = if kind == "decode" {
        COLD_BYTES.div_ceil(bytes).max(1)
    } else {
        1
    };
    let sets: Vec<_> = (0..copies)
        .map(|seed| weights(dtype, n, k, seed as u64))
        .collect();
    let lhs: Vec<f32> = (0..m * k)
        .map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0)
        .collect();
    let mut out = vec![0.0; m * n];
    let plain = best(|turn| {
        let result = matmul(dtype, &sets[turn % copies], n, k, &lhs, m, &mut out);
        result.expect("lengths are right");
    });
    let repacked: Option<Vec<_>> = sets.iter().map(|w| Repacked::new(dtype, w, n, k)).collect();
    let fast = repacked.map(|sets| {
        best(|turn| {
            sets[turn % copies]
                .matmul(&lhs, m, &mut out)
                .expect("lengths are right")
        })
    });
    let fastest = fast.unwrap_or(plain);
    let name = format!("{kind}_{}_{m}x{k}x{n}", dtype.name());
    let share = 100.0 * bytes as f64 / fastest / speed;
    let plain_share = 100.0 * bytes as f64 / plain / speed;
    print!(
        "{name:28} t{threads} {:9.1} µs ({plain_share:3.0} %)",
        plain * 1e6
    );
    print!("{:9.1} µs", fast.unwrap_or(f64::NAN) * 1e6);
    print!(" {:6.1} GB/s ({share:3.0} %)", bytes as f64 / fastest / 1e9);
    println!(
        " {:7.1} G multiply-adds/s",
        (m * n * k) as f64 / fastest / 1e9
    );
}

fn main() {
    let filter = std::env::args().nth(1).unwrap_or_default();
    for threads in [1, 2] {
        tallow_threads::with_num_threads(threads, || {
            let speed = read_speed();
            println!("read t{threads}: {:.1} GB/s", speed / 1e9);
            for row in rows() {
                let name = format!("{}_{}_{}x{}x{}", row.kind, row.dtype, row.m, row.k, row.n);
                if name.contains(&filter) {
                    measure(&row, threads, speed);
                }
            }
        });
    }
}
