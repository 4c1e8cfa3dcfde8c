//! Commands that the steps run: printed as a person would type them, then run in the workspace.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The folder that holds the workspace.
///
/// Cargo says where this package lies when it runs it. What it said when it built it may be another
/// checkout's path, where two share a target folder.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR");
    let own = own.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
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
    forget_package(&mut command);
    Tool {
        command,
        line: format!("{program} {arguments}"),
    }
}

/// Takes from the command what cargo tells this program of its own package. Build scripts that look
/// at such variables would run again, and all that needs them be compiled again, each time when one
/// goes from `cargo build` to `cargo xtask` and back.
pub(crate) fn forget_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
}

impl Tool {
    /// Sets an environment variable for the command.
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        let value = value.as_ref();
        self.line = format!("{name}={value:?} {}", self.line);
        self.command.env(name, value);
        self
    }

    /// Adds arguments as they are, spaces included.
    pub(crate) fn arguments(mut self, more: &[String]) -> Self {
        for argument in more {
            self.line = format!("{} {argument}", self.line);
            self.command.arg(argument);
        }
        self
    }

    /// Prints the command, runs it, and says how it failed where it did.
    pub(crate) fn run(mut self) -> Result<(), String> {
        println!("$ {}", self.line);
        match self.command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("`{}` ended with {status}", self.line)),
            Err(error) => Err(format!("`{}` could not be started: {error}", self.line)),
        }
    }

    /// Runs the command and gives what it wrote to standard output.
    pub(crate) fn output(mut self) -> Result<String, String> {
        let output = self.command.stderr(Stdio::inherit()).output();
        let output =
            output.map_err(|error| format!("`{}` could not be started: {error}", self.line))?;
        if !output.status.success() {
            return Err(format!("`{}` ended with {}", self.line, output.status));
        }
        String::from_utf8(output.stdout)
            .map_err(|_| format!("`{}` wrote what is not UTF-8", self.line))
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
