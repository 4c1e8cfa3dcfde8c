//! The programs that are compared: ours, and the rivals' in `bench/rivals`.
//!
//! Every program takes `--threads N` and `--only NAME`, and writes what `lines.rs` reads. The
//! rivals' README says what each measurement is.

use std::path::PathBuf;
use std::process::Command;

use super::lines;
use crate::command::{forget_package, root};

/// What is measured.
pub(super) enum Suite<'a> {
    /// Single operations.
    Ops,
    /// A language model from a GGUF file.
    Llm {
        /// The file.
        path: &'a str,
    },
}

/// A rival: how its programs are run.
pub(super) struct Rival {
    /// Its name, as `--rival` takes it.
    pub(super) name: &'static str,
    runner: Runner,
}

enum Runner {
    /// A package in `bench/rivals` with the programs `ops` and `llm`, built for this processor.
    Cargo { folder: &'static str },
    /// Python scripts in `bench/rivals/python`.
    Python {
        ops: Option<&'static str>,
        llm: Option<&'static str>,
    },
}

/// Every rival.
const ALL: &[Rival] = &[
    Rival {
        name: "candle-0.11.1",
        runner: Runner::Cargo {
            folder: "candle-0.11.1",
        },
    },
    Rival {
        name: "candle-0.11.0",
        runner: Runner::Cargo {
            folder: "candle-0.11.0",
        },
    },
    Rival {
        name: "pytorch",
        runner: Runner::Python {
            ops: Some("torch_ops.py"),
            llm: None,
        },
    },
    Rival {
        name: "llama.cpp",
        runner: Runner::Python {
            ops: None,
            llm: Some("llama_cpp_llm.py"),
        },
    },
];

impl Rival {
    fn has(&self, suite: &Suite<'_>) -> bool {
        match (&self.runner, suite) {
            (Runner::Cargo { .. }, _) => true,
            (Runner::Python { ops, .. }, Suite::Ops) => ops.is_some(),
            (Runner::Python { llm, .. }, Suite::Llm { .. }) => llm.is_some(),
        }
    }
}

/// The rivals of these names that have the suite; every one that has it where no name is given.
pub(super) fn chosen(names: &[String], suite: &Suite<'_>) -> Result<Vec<&'static Rival>, String> {
    let able = || ALL.iter().filter(|rival| rival.has(suite));
    if names.is_empty() {
        return Ok(able().collect());
    }
    let find = |name: &String| {
        let known: Vec<_> = able().map(|rival| rival.name).collect();
        let found = able().find(|rival| rival.name == name);
        found.ok_or_else(|| {
            format!(
                "no rival here is called {name}; there are {}",
                known.join(", ")
            )
        })
    };
    names.iter().map(find).collect()
}

/// A program with its arguments, ready to be run any number of times.
pub(super) struct Program {
    build: Option<Vec<String>>,
    run: Vec<String>,
    environment: Vec<(&'static str, PathBuf)>,
}

impl Program {
    /// Our program for the suite.
    pub(super) fn ours(suite: &Suite<'_>, arguments: &[String]) -> Self {
        let package = words("--release --quiet --locked --package tallow-cli");
        let mut run = [words("cargo run"), package.clone(), words("-- bench")].concat();
        match suite {
            Suite::Ops => run.push("ops".to_owned()),
            Suite::Llm { path } => run.extend(["llm".to_owned(), (*path).to_owned()]),
        }
        run.push("--tsv".to_owned());
        run.extend_from_slice(arguments);
        Self {
            build: Some([words("cargo build"), package].concat()),
            run,
            environment: Vec::new(),
        }
    }

    /// A rival's program for the suite.
    pub(super) fn theirs(rival: &Rival, suite: &Suite<'_>, arguments: &[String]) -> Self {
        let mut program = match &rival.runner {
            Runner::Cargo { folder } => Self::cargo(folder, suite),
            Runner::Python { ops, llm } => {
                let script = match suite {
                    Suite::Ops => ops,
                    Suite::Llm { .. } => llm,
                };
                Self::python(script.unwrap_or_default())
            }
        };
        if let Suite::Llm { path } = suite {
            program.run.push((*path).to_owned());
        }
        program.run.extend_from_slice(arguments);
        program
    }

    fn cargo(folder: &str, suite: &Suite<'_>) -> Self {
        let program = match suite {
            Suite::Ops => "ops",
            Suite::Llm { .. } => "llm",
        };
        let manifest = format!("bench/rivals/{folder}/Cargo.toml");
        let package = format!("--release --quiet --manifest-path {manifest} --bin {program}");
        Self {
            build: Some(words(&format!("cargo build {package}"))),
            run: words(&format!("cargo run {package} --")),
            environment: vec![
                ("RUSTFLAGS", PathBuf::from("-C target-cpu=native")),
                (
                    "CARGO_TARGET_DIR",
                    root().join("bench/rivals").join(folder).join("target"),
                ),
            ],
        }
    }

    fn python(script: &str) -> Self {
        Self {
            build: None,
            run: words(&format!("python3 bench/rivals/python/{script}")),
            environment: Vec::new(),
        }
    }

    /// Builds the program, where it is one that has to be built.
    pub(super) fn build(&self) -> Result<(), String> {
        let Some(build) = &self.build else {
            return Ok(());
        };
        println!("$ {}", build.join(" "));
        match self.command(build).status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{}` ended with {status}", build.join(" "))),
            Err(error) => Err(format!(
                "`{}` could not be started: {error}",
                build.join(" ")
            )),
        }
    }

    /// Runs the program once and gives what it measured.
    pub(super) fn measure(&self) -> Result<Vec<(String, f64)>, String> {
        let line = self.run.join(" ");
        let output = self.command(&self.run).output();
        let output = output.map_err(|error| format!("`{line}` could not be started: {error}"))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`{line}` ended with {}: {words}", output.status));
        }
        lines::parse(&String::from_utf8_lossy(&output.stdout))
            .map_err(|error| format!("`{line}`: {error}"))
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(root());
        forget_package(&mut command);
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
