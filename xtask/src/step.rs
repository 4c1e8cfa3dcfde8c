//! Named steps with their times, and the commands that they run.
//!
//! A [`Plan`] runs its steps in the order in which they are given. The first step that fails ends
//! the plan: the later ones are not run. [`Plan::finish`] prints one line for each step and gives
//! the exit code.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// What became of one step.
enum Outcome {
    Passed,
    Failed(String),
}

/// A list of steps that is being run.
pub(crate) struct Plan {
    name: &'static str,
    done: Vec<(String, Duration, Outcome)>,
    started: Instant,
}

impl Plan {
    /// A plan whose steps are run as they are added.
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            done: Vec::new(),
            started: Instant::now(),
        }
    }

    /// Runs one step, unless an earlier one has failed.
    pub(crate) fn step(&mut self, name: &str, action: impl FnOnce() -> Result<(), String>) {
        if self.failed() {
            return;
        }
        println!("\n=== {}: {name}", self.name);
        let started = Instant::now();
        let outcome = match action() {
            Ok(()) => Outcome::Passed,
            Err(reason) => Outcome::Failed(reason),
        };
        let elapsed = started.elapsed();
        println!("=== {}: {name}: {:.1} s", self.name, elapsed.as_secs_f64());
        self.done.push((name.to_owned(), elapsed, outcome));
    }

    fn failed(&self) -> bool {
        self.done
            .iter()
            .any(|(_, _, outcome)| matches!(outcome, Outcome::Failed(_)))
    }

    /// Prints each step with its time, then the verdict, which is also the exit code.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\n{:<28} {:>9}", self.name, "seconds");
        for (name, elapsed, outcome) in &self.done {
            let verdict = match outcome {
                Outcome::Passed => String::from("passed"),
                Outcome::Failed(reason) => format!("FAILED: {reason}"),
            };
            println!("{name:<28} {:>9.1}  {verdict}", elapsed.as_secs_f64());
        }
        let total = self.started.elapsed().as_secs_f64();
        let failed = self.failed();
        let verdict = if failed { "FAILED" } else { "passed" };
        println!("{:<28} {total:>9.1}  {verdict}", "all");
        if failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }
}

/// The exit code of a command that is one step by itself; its error is printed.
pub(crate) fn verdict(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// The folder that holds the workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent()
        .expect("this package lies in a folder of the workspace")
        .to_owned()
}

/// A command that is to run in the workspace's folder.
pub(crate) struct Tool {
    command: Command,
    line: String,
}

/// `cargo` with these arguments, parted by spaces; the first may name a toolchain: `+nightly`.
pub(crate) fn cargo(arguments: &str) -> Tool {
    tool("cargo", arguments)
}

/// Any program with these arguments, parted by spaces.
pub(crate) fn tool(program: &str, arguments: &str) -> Tool {
    let mut command = Command::new(program);
    command
        .args(arguments.split_whitespace())
        .current_dir(root());
    Tool {
        command,
        line: format!("{program} {arguments}"),
    }
}

impl Tool {
    /// Prints the command, runs it, and says how it failed where it did.
    pub(crate) fn run(mut self) -> Result<(), String> {
        println!("$ {}", self.line);
        match self.command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{}` ended with {status}", self.line)),
            Err(error) => Err(format!("`{}` could not be started: {error}", self.line)),
        }
    }

    /// Whether the command runs and succeeds; its output is dropped.
    pub(crate) fn succeeds(mut self) -> bool {
        let quiet = self
            .command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        quiet.status().is_ok_and(|status| status.success())
    }
}
