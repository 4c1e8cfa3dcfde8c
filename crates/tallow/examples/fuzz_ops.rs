//! Random cases of every operation against the naive references: see `tallow::testing::fuzz`.
//! `cargo xtask fuzz-ops` runs it; arguments: seed, cases, part of a family's name.
//!
//! What fails is printed as a minimised case with its seed; a run of one case of that seed has it
//! again.
#![allow(clippy::print_stdout)]

use tallow::testing::fuzz;
use tallow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(seed), Some(cases)) = (number(0), number(1)) else {
        bail!("fuzz_ops: wants a seed and a number of cases, and perhaps part of a family's name");
    };
    // A panic is a failure that is told with its case; the search for a smaller one has thousands.
    std::panic::set_hook(Box::new(|_| {}));
    let filter = arguments.get(2).map_or("", String::as_str);
    let found = fuzz(seed, cases, filter)?;
    let _ = std::panic::take_hook();
    for (op, told) in &found.failures {
        println!("{op}: {told}\n");
    }
    match found.failed {
        0 => println!("{} cases from seed {seed}: all right", found.trials),
        failed => bail!("{failed} of {} cases failed", found.trials),
    }
    Ok(())
}
