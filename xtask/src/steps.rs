//! The steps of `cargo xtask check` and `cargo xtask ci`, cheapest first.
//!
//! A step is a command that a person could type as well; its line is printed before it runs. The
//! core crates are those that know nothing of models: they are checked for every system, and their
//! vector kernels are tested on the other processor as well, emulated where it is not at hand.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::command::{Tool, cargo, root};
use crate::need::Need;
use crate::plan::Step;
use crate::{compat_api, compat_tests, kernel_races, ops_table, tidy};

/// What one runs while working.
pub(crate) const CHECK: &[Step] = &[FMT, TIDY, CLIPPY, TEST_QUICK];

/// What every change has to pass.
pub(crate) const CI: &[Step] = &[
    FMT,
    TIDY,
    DENY,
    CLIPPY,
    CLIPPY_TARGETS,
    MSRV,
    DOC,
    OPS_TABLE,
    TEST,
    COMPAT_TESTS,
    KERNEL_RACES,
    NEON,
];

/// What `ci --full` adds. Parts of these steps have passed, but not every step from end to end; one
/// that has moves up to [`CI`], if it is short enough.
pub(crate) const FULL: &[Step] = &[MIRI, PACKAGE, COMPAT_API, EXHAUSTIVE_MATH];

/// The crates that know nothing of models, as cargo's arguments.
const CORE: &str = "-p tallow-threads -p tallow-simd -p tallow-gemm -p tallow-quant \
                    -p tallow-formats -p tallow";

/// The target whose kernels `NEON` tests.
const AARCH64_LINUX: &str = "aarch64-unknown-linux-gnu";

/// The oldest toolchain that builds the workspace.
const MSRV_TOOLCHAIN: &str = concat!(env!("CARGO_PKG_RUST_VERSION"), ".0");

const FMT: Step = Step {
    name: "fmt",
    needs: &[],
    run: || cargo("fmt --all --check").run(),
};

const TIDY: Step = Step {
    name: "tidy",
    needs: &[],
    run: tidy::run,
};

const DENY: Step = Step {
    name: "deny",
    needs: &[Need::CargoCommand("deny")],
    run: || cargo("deny --log-level error check licenses bans sources").run(),
};

const CLIPPY: Step = Step {
    name: "clippy",
    needs: &[],
    run: || cargo("clippy --workspace --all-targets --locked -- -D warnings").run(),
};

const CLIPPY_TARGETS: Step = Step {
    name: "clippy-targets",
    needs: &[
        Need::Target("aarch64-apple-darwin"),
        Need::Target(AARCH64_LINUX),
        Need::Target("x86_64-pc-windows-gnu"),
        Need::Target("wasm32-unknown-unknown"),
    ],
    run: clippy_targets,
};

fn clippy_targets() -> Result<(), String> {
    let targets = [
        (AARCH64_LINUX, "--lib --tests"),
        ("aarch64-apple-darwin", "--lib"),
        ("x86_64-pc-windows-gnu", "--lib"),
        ("wasm32-unknown-unknown", "--lib"),
    ];
    for (target, kinds) in targets {
        let line = format!("clippy --locked --target {target} {CORE} {kinds} -- -D warnings");
        cargo(&line).run()?;
    }
    Ok(())
}

const MSRV: Step = Step {
    name: "msrv",
    needs: &[Need::Toolchain(MSRV_TOOLCHAIN)],
    run: || {
        cargo(&format!(
            "+{MSRV_TOOLCHAIN} check --workspace --all-targets --locked"
        ))
        .run()
    },
};

const DOC: Step = Step {
    name: "doc",
    needs: &[],
    run: || {
        let doc = cargo("doc --workspace --no-deps --locked");
        // A module's doc speaks to readers of the source too, and may link to what is private.
        let flags = "-D warnings -A rustdoc::private_intra_doc_links";
        doc.env("RUSTDOCFLAGS", flags).run()
    },
};

const OPS_TABLE: Step = Step {
    name: "ops-table",
    needs: &[],
    run: || ops_table::run(true),
};

const TEST_QUICK: Step = Step {
    name: "test",
    needs: &[],
    run: test_quick,
};

/// The tests without those of the documents, by nextest where it is installed.
fn test_quick() -> Result<(), String> {
    if cargo("nextest --version").succeeds() {
        cargo("nextest run --workspace --locked").run()
    } else {
        cargo("test --workspace --lib --bins --tests --locked").run()
    }
}

const TEST: Step = Step {
    name: "test",
    needs: &[],
    run: || cargo("test --workspace --locked").run(),
};

const KERNEL_RACES: Step = Step {
    name: "kernel-races",
    needs: &[Need::Program("oclgrind")],
    run: kernel_races::run,
};

const NEON: Step = Step {
    name: "neon",
    needs: &[
        Need::Target(AARCH64_LINUX),
        Need::Program("qemu-aarch64"),
        Need::Program("aarch64-linux-gnu-gcc"),
    ],
    run: neon,
};

/// The tests of the vector kernels on the other processor, emulated.
fn neon() -> Result<(), String> {
    let crates = "-p tallow-simd -p tallow-gemm -p tallow-quant";
    emulated(&format!(
        "test --locked --target {AARCH64_LINUX} {crates} --lib --tests"
    ))
    .run()
}

fn emulated(arguments: &str) -> Tool {
    cargo(arguments)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            "aarch64-linux-gnu-gcc",
        )
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
            "qemu-aarch64 -L /usr/aarch64-linux-gnu",
        )
}

const MIRI: Step = Step {
    name: "miri",
    needs: &[Need::Miri],
    run: miri,
};

/// The scalar paths and the unsafe code of the leaf crates, interpreted.
fn miri() -> Result<(), String> {
    for tests in [
        "-p tallow-threads --lib",
        "-p tallow-simd --lib",
        "-p tallow-quant --lib",
        "-p tallow --lib -- layout:: shape:: strided:: views:: walk::",
    ] {
        let miri = cargo(&format!("+nightly miri test --locked {tests}"));
        miri.env("MIRIFLAGS", "-Zmiri-disable-isolation").run()?;
    }
    Ok(())
}

const PACKAGE: Step = Step {
    name: "package",
    needs: &[],
    run: package,
};

/// Packs every crate that is to be published, and builds it from the package.
fn package() -> Result<(), String> {
    // Cargo unpacks the crates that others need once for each path of its target folder: at a path
    // that was used before, it would build with the sources of that time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let name = format!("package-{}", now.map_or(0, |age| age.as_secs()));
    let folder = root().join("target").join(name);
    // What is never published cannot be packaged.
    let own = "--exclude xtask --exclude ops-table --exclude candle-core --exclude candle-nn";
    let package = cargo(&format!("package --workspace --locked --allow-dirty {own}"));
    let result = package.env("CARGO_TARGET_DIR", &folder).run();
    // Whatever is left over costs room only.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

const COMPAT_API: Step = Step {
    name: "compat-api",
    needs: &[],
    run: || compat_api::run(true),
};

const COMPAT_TESTS: Step = Step {
    name: "compat-tests",
    needs: &[],
    run: || compat_tests::run(None),
};

const EXHAUSTIVE_MATH: Step = Step {
    name: "exhaustive-math",
    needs: &[],
    run: || cargo("run --release --locked -p tallow-simd --example exhaustive_math").run(),
};
