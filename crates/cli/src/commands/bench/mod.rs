//! `tallow bench`: how fast this machine is.
//!
//! Each measurement has the name and the meaning that `bench/rivals/README.md` gives it, so that
//! other programs' figures can stand beside ours.

mod cold;
mod cpu;
mod first_use;
mod llm;
mod operations;
mod ops;
mod queue;
mod requests;
mod timing;
mod with_context;

use crate::error::Result;

/// Measure this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench llm smollm2")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

/// What to measure.
#[derive(Debug, clap::Subcommand)]
enum Bench {
    Requests(requests::Arguments),
    Llm(llm::Arguments),
    Ops(ops::Arguments),
    Cpu(cpu::Arguments),
    Queue(queue::Arguments),
    FirstUse(first_use::Arguments),
    WithContext(with_context::Arguments),
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        match &self.bench {
            Bench::Requests(arguments) => arguments.run(),
            Bench::Llm(arguments) => arguments.run(),
            Bench::Ops(arguments) => arguments.run(),
            Bench::Cpu(arguments) => arguments.run(),
            Bench::Queue(arguments) => arguments.run(),
            Bench::FirstUse(arguments) => arguments.run(),
            Bench::WithContext(arguments) => arguments.run(),
        }
    }
}
