//! `cargo xtask fuzz-ops`: random cases of every operation against the references, and beside
//! candle.

use crate::command::{cargo, root};

/// Cases of a run that takes some seconds; `crates/tallow/tests/random_cases.rs` makes a shorter
/// one.
pub(crate) const CASES: u64 = 20_000;

/// Runs this many cases, the first of this seed, of the families whose names contain `family`.
pub(crate) fn run(cases: u64, seed: u64, family: &str) -> Result<(), String> {
    let line = format!("run --release --locked -p tallow --example fuzz_ops -- {seed} {cases}");
    cargo(&format!("{line} {family}")).run()
}

/// Runs this many random operations on candle too, where candle is right.
pub(crate) fn beside_candle(cases: u64, seed: u64) -> Result<(), String> {
    // A package outside the workspace: candle is no dependency of ours.
    let manifest = root().join("compat/fuzz/Cargo.toml");
    let target = root().join("target/fuzz-beside-candle");
    let line = format!(
        "run --release --locked --manifest-path {} --target-dir {} -- {seed} {cases}",
        manifest.display(),
        target.display()
    );
    cargo(&line).run()
}
