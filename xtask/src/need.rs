//! What a step needs beyond the default toolchain, and how to get it.

use std::path::Path;

use crate::command::{cargo, tool};

/// Something that a fresh machine may lack.
pub(crate) enum Need {
    /// A program that answers `--version`.
    Program(&'static str),
    /// A subcommand of cargo that is installed from its own crate.
    CargoCommand(&'static str),
    /// The standard library for a target, in the default toolchain.
    Target(&'static str),
    /// Another toolchain, by its name.
    Toolchain(&'static str),
    /// Miri and its sources, in the nightly toolchain.
    Miri,
}

impl Need {
    /// What is missing and what brings it; none where it is there.
    pub(crate) fn missing(&self) -> Option<String> {
        let (there, remedy) = match self {
            Self::Program(name) => (
                tool(name, "--version").succeeds(),
                format!("{name}, from the system's packages"),
            ),
            Self::CargoCommand(name) => (
                cargo(&format!("{name} --version")).succeeds(),
                format!("cargo {name}: cargo install cargo-{name} --locked"),
            ),
            Self::Target(name) => (
                has_target(name),
                format!("the target {name}: rustup target add {name}"),
            ),
            Self::Toolchain(name) => (
                cargo(&format!("+{name} --version")).succeeds(),
                format!("the toolchain {name}: rustup toolchain install {name} --profile minimal"),
            ),
            Self::Miri => (
                cargo("+nightly miri --version").succeeds(),
                String::from(
                    "Miri: rustup toolchain install nightly --profile minimal -c miri -c rust-src",
                ),
            ),
        };
        (!there).then_some(remedy)
    }
}

/// Whether the default toolchain has the standard library for the target.
fn has_target(name: &str) -> bool {
    let sysroot = tool("rustc", "--print sysroot").output();
    sysroot.is_ok_and(|sysroot| {
        let targets = Path::new(sysroot.trim()).join("lib/rustlib");
        targets.join(name).join("lib").is_dir()
    })
}
