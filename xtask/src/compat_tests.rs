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

/// A package's test files, and what they need.
struct Suite {
    package: &'static str,
    files: &'static [&'static str],
    /// The names that they call our packages by, and the packages.
    ours: &'static [(&'static str, &'static str)],
    needs: &'static str,
}

const SUITES: &[Suite] = &[CORE, NN];

const CORE: Suite = Suite {
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
    ours: &[("candle-core", "candle-core")],
    needs: "anyhow = \"1\"\nfloat8 = \"0.7\"\nhalf = \"2\"\nnum-traits = \"0.2\"\nrand = \"0.9\"\n\
            safetensors = \"0.8\"\n",
};

/// Without those that only take times, and those of kernels for GPUs.
const NN: Suite = Suite {
    package: "candle-nn",
    files: &[
        "batch_norm.rs",
        "bf16_cpu_ops.rs",
        "cpu_flash_attn.rs",
        "group_norm.rs",
        "kv_cache.rs",
        "layer_norm.rs",
        "loss.rs",
        "one_hot.rs",
        "ops.rs",
        "optim.rs",
        "rnn.rs",
        "sdpa.rs",
        "varlen_flash_attention.rs",
    ],
    ours: &[("candle", "candle-core"), ("candle-nn", "candle-nn")],
    needs: "anyhow = \"1\"\nhalf = \"2\"\nrand = \"0.9\"\nrand_distr = \"0.5\"\n",
};

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
            "test --no-fail-fast --manifest-path {} --target-dir {} -- --exact",
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
    let ours = suite.ours.iter().map(|(name, package)| {
        let path = root().join("compat").join(package);
        format!("{name} = {{ package = \"{package}\", path = {path:?} }}\n")
    });
    let manifest = format!(
        "[package]\nname = \"{}-tests\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [dependencies]\n{}{}\n\
         [features]\naccelerate = []\ncuda = []\ncutile = []\nmetal = []\nmkl = []\n\n\
         [workspace]\n",
        suite.package,
        ours.collect::<String>(),
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
