//! The project's own commands, run as `cargo xtask <command>`.
//!
//! `check` is what one runs while working; `ci` is everything, and what a submission has to
//! pass. Each is a list of named steps ([`step::Plan`]), cheapest first; a step is a command that
//! a person could type as well, and its line is printed before it runs.

// A command-line program: what it has to say goes to standard output and standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)]
#![forbid(unsafe_code)]

mod check;
mod step;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The quick checks, for use while working: format, lints, tests.
    Check,
    /// The rules of the house that a program can enforce.
    Tidy,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Check => check::run(),
        Command::Tidy => step::verdict(tidy::run()),
    }
}
