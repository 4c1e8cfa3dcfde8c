//! Every package takes its lints and the versions of what it uses from the workspace.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "manifests",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[(
            "crates/simd/Cargo.toml",
            "[dependencies]\nhalf.workspace = true",
        )],
        &[(
            "crates/simd/Cargo.toml",
            "[dependencies]\nhalf = '2'\n[lints]\nworkspace = true",
        )],
        &[(
            "xtask/Cargo.toml",
            "[dependencies]\nclap = '4'\n[lints]\nworkspace = true",
        )],
        &[("xtask/Cargo.toml", "not toml")],
    ],
    good: &[
        &[(
            "crates/simd/Cargo.toml",
            "[dependencies]\nhalf = { workspace = true }\n[lints]\nworkspace = true",
        )],
        &[("bench/rivals/Cargo.toml", "[dependencies]\nother = '1'")],
    ],
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let own = file.path.starts_with("crates/") || file.path.starts_with("xtask/");
        if own && file.name() == "Cargo.toml" {
            let found = problems(&file.text).unwrap_or_else(|error| vec![error]);
            findings.extend(
                found
                    .into_iter()
                    .map(|what| Finding::new(&file.path, 1, what)),
            );
        }
    }
    findings
}

fn problems(manifest: &str) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let lints = parse(manifest)?.get("lints").is_some_and(from_workspace);
    if !lints {
        problems.push(String::from("`[lints] workspace = true` is missing"));
    }
    for (name, value) in dependencies(manifest)? {
        if !from_workspace(&value) {
            problems.push(format!(
                "`{name}` does not take its version from the workspace"
            ));
        }
    }
    Ok(problems)
}

fn from_workspace(value: &toml::Value) -> bool {
    value.get("workspace").and_then(toml::Value::as_bool) == Some(true)
}

fn parse(manifest: &str) -> Result<toml::Table, String> {
    manifest
        .parse()
        .map_err(|error| format!("not a manifest: {error}"))
}

/// Every dependency of a manifest with its value: plain, of tests and builds, and per target.
pub(super) fn dependencies(manifest: &str) -> Result<Vec<(String, toml::Value)>, String> {
    let manifest = parse(manifest)?;
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let per_target = targets.into_iter().flat_map(|targets| targets.values());
    let tables = per_target.filter_map(toml::Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(&manifest).chain(tables) {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let entries = table.get(kind).and_then(toml::Value::as_table);
            for (name, value) in entries.into_iter().flatten() {
                found.push((name.clone(), value.clone()));
            }
        }
    }
    Ok(found)
}
