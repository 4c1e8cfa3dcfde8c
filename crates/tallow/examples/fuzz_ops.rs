//! Random cases of every operation against the naive references: see `tallow::testing::fuzz`.
//! `cargo xtask fuzz-ops` runs it; arguments: seed, cases, part of a family's name.
//!
//! What fails is printed when it is found, as a minimised case with its seed; a run of one case of
//! that seed has it again. How far the run is goes to standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::collections::HashSet;
use std::time::Instant;
use tallow::testing::fuzz;
use tallow::{Result, bail};

/// Cases from one line of progress to the next.
const STEP: u64 = 10_000;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(seed), Some(cases)) = (number(0), number(1)) else {
        bail!("fuzz_ops: wants a seed and a number of cases, and perhaps part of a family's name");
    };
    // A panic is a failure that is told with its case; the search for a smaller one has thousands.
    std::panic::set_hook(Box::new(|_| {}));
    let filter = arguments.get(2).map_or("", String::as_str);
    let (start, mut failed, mut told) = (Instant::now(), 0, HashSet::new());
    for done in (0..cases).step_by(STEP as usize) {
        let found = fuzz(seed.wrapping_add(done), STEP.min(cases - done), filter)?;
        failed += found.failed;
        for (op, text) in &found.failures {
            if told.insert(*op) {
                println!("{op}: {text}\n");
            }
        }
        let (done, seconds) = (done + found.trials, start.elapsed().as_secs());
        eprintln!("{done} of {cases} cases in {seconds} s, {failed} failed");
    }
    let _ = std::panic::take_hook();
    match failed {
        0 => println!("{cases} cases from seed {seed}: all right"),
        failed => bail!("{failed} of {cases} cases failed"),
    }
    Ok(())
}
