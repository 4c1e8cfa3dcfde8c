//! `cargo xtask check`: what one runs while working, under five minutes with a warm build.

use std::process::ExitCode;

use crate::step::{Plan, cargo};
use crate::tidy;

/// Runs the quick checks in order of cost and stops at the first that fails.
pub(crate) fn run() -> ExitCode {
    let mut plan = Plan::new("check");
    plan.step("fmt", || cargo("fmt --all --check").run());
    plan.step("tidy", tidy::run);
    plan.step("clippy", clippy_host);
    plan.step("test", test);
    plan.finish()
}

/// Clippy over everything that builds on this machine.
pub(crate) fn clippy_host() -> Result<(), String> {
    cargo("clippy --workspace --all-targets --locked -- -D warnings").run()
}

fn test() -> Result<(), String> {
    if cargo("nextest --version").succeeds() {
        cargo("nextest run --workspace --locked").run()
    } else {
        cargo("test --workspace --all-targets --locked").run()
    }
}
