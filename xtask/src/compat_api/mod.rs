//! `cargo xtask compat-api`: compares our interface with candle's, and writes `docs/compat.md`.
//!
//! Both interfaces come from rustdoc's JSON, made by the default toolchain.
//! `compat/differences.toml` gives the reason for what is missing or different; a difference
//! without a reason is an error, and so is a reason without a difference.

mod differences;
mod interface;

use crate::candle;
use crate::command::{cargo, root};
use differences::{Difference, Reasons};
use interface::{Crate, Interface};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the table lies.
const PATH: &str = "docs/compat.md";

/// Packages of ours that stand for candle's, with the crates that they re-export, in order.
const PAIRS: &[(&str, &[&str])] = &[
    ("candle-core", &["tallow-simd", "tallow-quant", "tallow"]),
    (
        "candle-nn",
        &["tallow-simd", "tallow-quant", "tallow", "tallow-nn"],
    ),
];

/// Writes the table, or only compares it with the file.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let reasons = Reasons::read(&root().join("compat/differences.toml"))?;
    let mut text = String::from(HEAD);
    let mut unexplained = Vec::new();
    let mut before: Vec<(String, Interface)> = Vec::new();
    for &(package, parts) in PAIRS {
        let theirs = theirs(package, &before)?;
        let ours = ours(package, parts)?;
        let differences = differences::between(package, &theirs, &ours);
        unexplained.extend(reasons.unexplained(&differences));
        text.push_str(&differences::table(
            package,
            &theirs,
            &differences,
            &reasons,
        ));
        // candle's own packages call candle-core candle.
        if package == "candle-core" {
            before.push(("candle".to_owned(), theirs));
        }
    }
    if !unexplained.is_empty() {
        let lines = unexplained.iter().map(Difference::line).collect::<Vec<_>>();
        return Err(format!(
            "{} differences without a reason in compat/differences.toml:\n{}",
            lines.len(),
            lines.join("\n")
        ));
    }
    text.push_str(&left_out()?);
    if let Some(idle) = reasons.idle() {
        return Err(format!(
            "compat/differences.toml: nothing differs under {idle}"
        ));
    }
    write(&text, check)
}

const HEAD: &str = "# What candle has and Tallow has otherwise

The packages under `compat/` offer candle 0.11.1's interface. This page lists what of it is missing
or has another signature, and why. `cargo xtask compat-api` writes it from both crates' rustdoc, and
fails on a difference that has no reason.
";

/// The tests of candle's that `cargo xtask compat-tests` leaves out.
fn left_out() -> Result<String, String> {
    let mut text = String::from(
        "\n## candle's own tests\n\n\
         `cargo xtask compat-tests` runs the tests that candle-core and candle-nn ship, but for \
         these:\n\n| test | why |\n|---|---|\n",
    );
    for (name, reason) in candle::reasons(&root().join("compat/tests.toml"))? {
        let _ = writeln!(text, "| `{name}` | {reason} |");
    }
    Ok(text)
}

fn write(text: &str, check: bool) -> Result<(), String> {
    let path = root().join(PATH);
    if fs::read_to_string(&path).is_ok_and(|present| present == text) {
        println!("{PATH} is up to date");
        return Ok(());
    }
    if check {
        return Err(format!(
            "{PATH} is out of date; run `cargo xtask compat-api`"
        ));
    }
    fs::write(&path, text).map_err(|error| format!("{PATH} could not be written: {error}"))?;
    println!("{PATH} written");
    Ok(())
}

/// candle's interface, from the package that crates.io has; `before` are those of the packages that
/// it builds on.
fn theirs(package: &str, before: &[(String, Interface)]) -> Result<Interface, String> {
    let json = rustdoc(&candle::manifest()?, package)?;
    Ok(Crate::new(&json, &borrowed(before)).interface())
}

fn borrowed(known: &[(String, Interface)]) -> Vec<(&str, &Interface)> {
    known
        .iter()
        .map(|(name, found)| (name.as_str(), found))
        .collect()
}

/// Our interface under candle's name: the package, and the crates whose items it re-exports.
fn ours(package: &str, parts: &[&str]) -> Result<Interface, String> {
    let manifest = root().join("Cargo.toml");
    let mut known: Vec<(String, Interface)> = Vec::new();
    for part in parts.iter().chain([&package]) {
        let json = rustdoc(&manifest, part)?;
        let interface = Crate::new(&json, &borrowed(&known)).interface();
        known.push((part.replace('-', "_"), interface));
    }
    Ok(known.pop().map(|(_, found)| found).unwrap_or_default())
}

fn rustdoc(manifest: &Path, package: &str) -> Result<Value, String> {
    let target = root().join("target/compat-api/target");
    let line = format!(
        "rustdoc --quiet --lib --manifest-path {} --package {package} \
         --target-dir {} -- -Z unstable-options --output-format json --cap-lints allow",
        manifest.display(),
        target.display()
    );
    // The JSON form is unstable: the variable lets a stable toolchain write it.
    cargo(&line).env("RUSTC_BOOTSTRAP", "1").run()?;
    let path: PathBuf = target
        .join("doc")
        .join(format!("{}.json", package.replace('-', "_")));
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
