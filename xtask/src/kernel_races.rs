//! Kernels under oclgrind: races between threads, bounds, and reads of what was never written.
//!
//! The OpenCL of the tests runs a group's threads one after the other, and hides all three.
//! oclgrind interprets the kernels instead. It is first shown kernels with each of the faults,
//! which it must find; then a case of every operation, in which it must find neither race nor
//! bound.
//!
//! Its check for uninitialised values takes the filled buffers of an earlier operation for such,
//! and ends at instructions that its version of LLVM makes of some kernels. So it watches the
//! operations of a list, each in a process of its own.

use std::path::{Path, PathBuf};

use crate::command::{cargo, root, tool};

/// A fault of the example, and what oclgrind calls it.
const FAULTS: [(&str, &str, &str); 3] = [
    ("race", RACES, "data race"),
    ("bounds", RACES, "invalid read"),
    ("uninitialized", UNINITIALIZED, "uninitialized"),
];

const RACES: &str = "--data-races";
const UNINITIALIZED: &str = "--uninitialized";

/// oclgrind 21.10 has no `llvm.usub.sat`, which clang makes of this operation's window.
const WITHOUT: &str = "attention";

/// Operations whose kernels share memory, walk strides, or leave parts of a group idle.
const WATCHED: [&str; 20] = [
    "affine",
    "arg_sort_last_dim",
    "argmax",
    "avg_pool2d",
    "cat",
    "conv2d",
    "cumsum",
    "eq",
    "gather",
    "index_select",
    "layer_norm",
    "max",
    "max_pool2d",
    "rms_norm",
    "rope",
    "scatter_add",
    "softmax",
    "sub",
    "sum",
    "where_cond",
];

/// Where oclgrind's OpenCL lies: the program must open it by name, or it finds the system's.
const LIBRARIES: [&str; 3] = [
    "/usr/lib/oclgrind/liboclgrind-rt.so",
    "/usr/lib/x86_64-linux-gnu/oclgrind/liboclgrind-rt.so",
    "/usr/local/lib/oclgrind/liboclgrind-rt.so",
];

pub(crate) fn run() -> Result<(), String> {
    let library = LIBRARIES
        .iter()
        .find(|path| Path::new(path).exists())
        .ok_or("liboclgrind-rt.so is not where the package oclgrind puts it")?;
    cargo("build --locked -p tallow --example checked_kernels").run()?;
    for (fault, check, words) in FAULTS {
        let found = watched(library, check, &format!("--fault {fault}"))?;
        if !found.to_lowercase().contains(words) {
            return Err(format!(
                "oclgrind does not find a {fault} fault; it says: {found:?}"
            ));
        }
    }
    clean(library, RACES, &format!("--skip {WITHOUT}"))?;
    WATCHED
        .iter()
        .try_for_each(|op| clean(library, UNINITIALIZED, &format!("--only {op}")))
}

/// Runs the example under oclgrind, which must find nothing.
fn clean(library: &str, check: &str, arguments: &str) -> Result<(), String> {
    let found = watched(library, check, arguments)?;
    match found.trim().is_empty() {
        true => Ok(()),
        false => Err(format!("oclgrind finds faults in kernels:\n{found}")),
    }
}

/// Runs the example under oclgrind, and gives what that found.
fn watched(library: &str, check: &str, arguments: &str) -> Result<String, String> {
    let folder = target().join("kernel-races");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let log = folder.join("oclgrind.log");
    let program = target().join("debug/examples/checked_kernels");
    let line = format!(
        "{check} --max-errors 20 --log {} {} {arguments}",
        log.display(),
        program.display()
    );
    // What an earlier run left is not this one's.
    let _ = std::fs::remove_file(&log);
    tool("oclgrind", &line)
        .env("OPENCL_DYLIB_PATH", library)
        .run()?;
    match std::fs::read_to_string(&log) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("{}: {error}", log.display())),
    }
}

fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}
