//! The project's own commands, run as `cargo xtask <command>`.
//!
//! `check` is what one runs while working; `ci` is everything, and what a change has to pass.
//! Their steps are one table in `steps.rs`.

// A command-line program: what it has to say goes to standard output and standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod bench;
mod candle;
mod command;
mod compat_api;
mod compat_tests;
mod fuzz_ops;
mod kernel_races;
mod need;
mod ops_table;
mod plan;
mod steps;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use plan::Rigour;

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The quick checks, for use while working: format, rules, lints, tests.
    Check,
    /// Every check. Example: `cargo xtask ci --only miri --only neon`.
    Ci {
        /// Runs this step alone; may be given more than once.
        #[arg(long, value_name = "STEP")]
        only: Vec<String>,
        /// Counts a step whose tools are not installed as failed.
        #[arg(long)]
        strict: bool,
        /// Runs the later steps even after one has failed.
        #[arg(long)]
        keep_going: bool,
        /// Adds NEON under emulation, Miri, packaging, and vector maths over every f32.
        #[arg(long)]
        full: bool,
    },
    /// The rules of the house that a program can enforce.
    Tidy,
    /// Writes `docs/ops.md`, the table of operations and the dtypes that they take.
    OpsTable {
        /// Only says whether the file is up to date.
        #[arg(long)]
        check: bool,
    },
    /// Writes `docs/compat.md`, what differs from candle's interface, and why.
    CompatApi {
        /// Only says whether the file is up to date.
        #[arg(long)]
        check: bool,
    },
    /// Runs candle's own tests, as crates.io has them, against the packages under `compat/`.
    CompatTests {
        /// Only this file of tests. Example: `cargo xtask compat-tests matmul_tests`.
        file: Option<String>,
    },
    /// Random cases of every operation against the naive references. What fails is made small and
    /// printed with its seed. Example: `cargo xtask fuzz-ops --cases 1 --seed 42`.
    FuzzOps {
        /// How many.
        #[arg(long, default_value_t = fuzz_ops::CASES)]
        cases: u64,
        /// The seed of the first; the next has the next.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Only of families whose names contain this.
        #[arg(long, default_value = "")]
        family: String,
        /// As many more on candle and on Tallow, compared; candle is built for it.
        #[arg(long)]
        candle: bool,
    },
    /// Runs 64 threads on shared tensors and checks that every result is that of some order.
    Soak {
        /// For how long.
        #[arg(long, default_value_t = 60)]
        seconds: usize,
    },
    /// Compiles kernels into one file that ships with the program, by NVRTC and without a GPU; with
    /// the arguments of `tallow cache pack`. Example: `cargo xtask kernel-pack --model smollm2`.
    KernelPack {
        /// What goes to `tallow cache pack`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measures our programs beside others.
    #[command(subcommand)]
    Bench(bench::Bench),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Check => {
            let rigour = Rigour {
                strict: false,
                keep_going: false,
            };
            plan::run("check", &rigour, steps::CHECK)
        }
        Command::Ci {
            only,
            strict,
            keep_going,
            full,
        } => ci(&only, &Rigour { strict, keep_going }, full),
        Command::Tidy => verdict(tidy::run()),
        Command::OpsTable { check } => verdict(ops_table::run(check)),
        Command::CompatApi { check } => verdict(compat_api::run(check)),
        Command::CompatTests { file } => verdict(compat_tests::run(file.as_deref())),
        Command::FuzzOps {
            cases,
            seed,
            family,
            candle,
        } => {
            let alone = fuzz_ops::run(cases, seed, &family);
            let beside = match candle {
                true => fuzz_ops::beside_candle(cases, seed),
                false => Ok(()),
            };
            verdict(alone.and(beside))
        }
        Command::Soak { seconds } => {
            let line = format!("run --release --locked -p tallow --example soak -- {seconds}");
            verdict(command::cargo(&line).run())
        }
        Command::KernelPack { arguments } => {
            let line = "run --release --locked -p tallow-cli -- cache pack";
            verdict(command::cargo(line).arguments(&arguments).run())
        }
        Command::Bench(bench) => verdict(bench::run(&bench)),
    }
}

fn ci(only: &[String], rigour: &Rigour, full: bool) -> ExitCode {
    let long = steps::FULL
        .iter()
        .filter(|step| full || only.iter().any(|name| name == step.name));
    let all: Vec<_> = steps::CI.iter().chain(long).collect();
    if let Some(name) = only
        .iter()
        .find(|name| all.iter().all(|step| step.name != **name))
    {
        let names: Vec<_> = all.iter().map(|step| step.name).collect();
        return verdict(Err(format!(
            "no step is called {name}; there are {}",
            names.join(", ")
        )));
    }
    let chosen = all
        .into_iter()
        .filter(|step| only.is_empty() || only.iter().any(|name| name == step.name));
    plan::run("ci", rigour, chosen)
}

/// The exit code of a command that is one step by itself; its error is printed.
fn verdict(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}
