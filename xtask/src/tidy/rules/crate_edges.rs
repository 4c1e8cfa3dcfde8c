//! Crates use each other only downwards, along the edges of ARCHITECTURE.md.
//!
//! [`USES`] is that drawing: a crate may use what its line names, and what those may use in turn.
//! A leaf crate therefore cannot learn of tensors, and a crate that has no line fails the rule, so
//! that a new one comes with its place in the drawing.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "crate_edges",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[(
            "crates/formats/Cargo.toml",
            "[dependencies]\ntallow.workspace = true",
        )],
        &[(
            "crates/gemm/Cargo.toml",
            "[dev-dependencies]\ntallow-quant.workspace = true",
        )],
        &[(
            "crates/quant/Cargo.toml",
            "[target.'cfg(unix)'.dependencies]\ntallow-gemm = '1'",
        )],
        &[(
            "crates/gpu/Cargo.toml",
            "[dependencies]\ntallow.workspace = true",
        )],
        &[("crates/unheard-of/Cargo.toml", "[dependencies]")],
        &[("crates/simd/Cargo.toml", "[dependencies\n")],
    ],
    good: &[
        &[(
            "crates/llm/Cargo.toml",
            "[dependencies]\ntallow-formats.workspace = true",
        )],
        &[(
            "crates/quant/Cargo.toml",
            "[dependencies]\ntallow-threads.workspace = true\nhalf='2'",
        )],
    ],
};

/// Each crate's folder and the crates that it is drawn to use.
const USES: &[(&str, &[&str])] = &[
    ("threads", &[]),
    ("simd", &["threads"]),
    ("gemm", &["simd"]),
    ("quant", &["simd"]),
    ("formats", &[]),
    ("gpu", &[]),
    ("tallow", &["gemm", "quant", "formats", "gpu"]),
    ("nn", &["tallow"]),
    ("llm", &["tallow"]),
    ("cli", &["llm", "nn"]),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let Some(folder) = crate_of_manifest(&file.path) else {
            continue;
        };
        if drawn(folder).is_none() {
            let what = format!("crate {folder} has no line in the table of edges");
            findings.push(Finding::new(&file.path, 1, what));
            continue;
        }
        match super::manifests::dependencies(&file.text) {
            Ok(names) => findings.extend(names.iter().filter_map(|(name, _)| {
                let used = folder_of_package(name)?;
                let what = format!("{folder} may not use {used}: ARCHITECTURE.md has no such edge");
                (!may_use(folder, used)).then(|| Finding::new(&file.path, 1, what))
            })),
            Err(error) => findings.push(Finding::new(&file.path, 1, error)),
        }
    }
    findings
}

fn crate_of_manifest(path: &str) -> Option<&str> {
    let folder = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
    (!folder.contains('/')).then_some(folder)
}

/// The folder of a package of this workspace.
fn folder_of_package(package: &str) -> Option<&str> {
    match package {
        "tallow" => Some(package),
        _ => package.strip_prefix("tallow-"),
    }
}

fn drawn(folder: &str) -> Option<&'static [&'static str]> {
    USES.iter()
        .find(|(name, _)| *name == folder)
        .map(|(_, uses)| *uses)
}

fn may_use(folder: &str, used: &str) -> bool {
    folder == used || drawn(folder).is_some_and(|uses| uses.iter().any(|next| may_use(next, used)))
}
