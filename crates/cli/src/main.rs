//! The `tallow` program: run, chat, inspect and measure language models.
//!
//! ```text
//! arguments ─► commands (one file each) ─► llm, formats, quant, tallow
//!                  ├─ output.rs      standard output, and the pipe that closes
//!                  ├─ progress.rs    bars, on a terminal only
//!                  ├─ interrupt.rs   Ctrl-C
//!                  ├─ device.rs      where a model runs
//!                  ├─ trace.rs       TALLOW_TRACE
//!                  ├─ self_test.rs   every operation's cases on a GPU
//!                  └─ model.rs       from a model argument to a loaded model
//! ```
//! Results go to standard output, everything about them to standard error. What goes wrong is one
//! line, `tallow: ...`, with exit code 1 (2 for arguments); a closed pipe ends the program quietly.
//!
//! Read next: `commands/mod.rs`, `commands/run.rs`.
#![forbid(unsafe_code)]

mod commands;
mod device;
mod error;
mod interrupt;
mod model;
mod output;
mod process;
mod progress;
mod self_test;
mod trace;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use error::{Error, Result};

/// Language models on this machine: run, chat, inspect, measure.
#[derive(Debug, Parser)]
#[command(
    name = "tallow",
    version,
    after_help = "Example: tallow run smollm2 \"What is Rust?\"\n\n\
                  MODEL is a file, a name of the catalogue (see `tallow list`), or \
                  hf:org/repo/file.gguf."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    /// Compute threads (else TALLOW_NUM_THREADS, else the physical cores).
    #[arg(long, global = true, value_name = "N", value_parser = thread_count)]
    threads: Option<usize>,
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help is no error: it goes to standard output, and its exit code is 0.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            output::note(&format!("tallow: {}", error.one_line()));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    // All are looked at before any work, so that a wrong variable is an error everywhere.
    let configured = tallow_threads::configured_threads().map_err(Error::text)?;
    tallow_simd::configured_level().map_err(Error::text)?;
    trace::start()?;
    let threads = arguments.threads.unwrap_or(configured);
    tallow_threads::with_num_threads(threads, || arguments.command.run())
}

fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=tallow_threads::MAX_THREADS).contains(&count) => Ok(count),
        _ => Err(format!(
            "want a whole number from 1 to {}",
            tallow_threads::MAX_THREADS
        )),
    }
}
