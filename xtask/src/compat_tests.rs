//! `cargo xtask compat-tests`: runs candle's own tests against our packages of its names.
//!
//! The test files are those of the packages that crates.io has. They are copied from cargo's folder
//! into a temporary package below `target/` and never become part of this repository.
//! `compat/tests.toml` names the tests that are left out, with the reason.

use crate::candle;
use crate::command::{cargo, root};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// A package's test files, and what they need beside candle.
struct Suite {
    package: &'static str,
    files: &'static [&'static str],
    needs: &'static str,
}

const SUITES: &[Suite] = &[Suite {
    package: "candle-core",
    files: &[
        "bilinear_tests.rs",
        "conv_tests.rs",
        "custom_op_tests.rs",
        "display_tests.rs",
        "gguf_tests.rs",
        "grad_tests.rs",
        "indexing_tests.rs",
        "layout_tests.rs",
        "matmul_tests.rs",
        "pool_tests.rs",
        "pth_tests.rs",
        "serialization_tests.rs",
        "tensor_tests.rs",
    ],
    needs: "anyhow = \"1\"\nfloat8 = \"0.7\"\nhalf = \"2\"\nnum-traits = \"0.2\"\nrand = \"0.9\"\n\
            safetensors = \"0.8\"\n",
}];

/// Runs every suite, or the file of one name.
pub(crate) fn run(only: Option<&str>) -> Result<(), String> {
    let left_out = candle::reasons(&root().join("compat/tests.toml"))?;
    let mut failed = Vec::new();
    for suite in SUITES {
        let folder = prepare(suite, only)?;
        let skips = left_out
            .iter()
            .filter(|(name, _)| name.starts_with(suite.package));
        let mut line = format!(
            "test --no-fail-fast --manifest-path {} --target-dir {} --",
            folder.join("Cargo.toml").display(),
            root().join("target/compat-tests/target").display()
        );
        for (name, _) in skips {
            let test = name.rsplit("::").next().unwrap_or_default();
            let _ = write!(line, " --skip {test}");
        }
        if let Err(error) = cargo(&line).run() {
            failed.push(error);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n")),
    }
}

/// Makes the temporary package and gives its folder.
fn prepare(suite: &Suite, only: Option<&str>) -> Result<PathBuf, String> {
    let source = registry_folder(suite.package)?;
    let folder = root().join("target/compat-tests").join(suite.package);
    let tests = folder.join("tests");
    let io = |error: std::io::Error| format!("{}: {error}", folder.display());
    if tests.exists() {
        fs::remove_dir_all(&tests).map_err(io)?;
    }
    fs::create_dir_all(&tests).map_err(io)?;
    fs::create_dir_all(folder.join("src")).map_err(io)?;
    fs::write(folder.join("src/lib.rs"), "").map_err(io)?;
    for entry in fs::read_dir(source.join("tests")).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let chosen = only.is_none_or(|only| name.trim_end_matches(".rs") == only);
        let is_test = name.ends_with(".rs");
        if !is_test || (chosen && suite.files.contains(&name.as_str())) {
            fs::copy(&path, tests.join(&name)).map_err(io)?;
        }
    }
    let compat = |name: &str| root().join("compat").join(name).display().to_string();
    let manifest = format!(
        "[package]\nname = \"{}-tests\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [dependencies]\ncandle-core = {{ path = \"{}\" }}\n{}\n\
         [features]\ncuda = []\nmetal = []\ncutile = []\n\n[workspace]\n",
        suite.package,
        compat("candle-core"),
        suite.needs,
    );
    fs::write(folder.join("Cargo.toml"), manifest).map_err(io)?;
    Ok(folder)
}

/// Where cargo keeps the sources of a package of candle's.
fn registry_folder(package: &str) -> Result<PathBuf, String> {
    let line = format!(
        "metadata --format-version 1 --manifest-path {}",
        candle::manifest()?.display()
    );
    let found: Value = serde_json::from_str(&cargo(&line).output()?)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = found["packages"].as_array().into_iter().flatten();
    let mut ours = packages.filter(|found| found["name"] == package);
    let manifest = ours
        .next()
        .and_then(|found| found["manifest_path"].as_str());
    let folder = manifest.and_then(|path| Path::new(path).parent());
    folder
        .map(Path::to_owned)
        .ok_or_else(|| format!("cargo metadata names no {package}"))
}
