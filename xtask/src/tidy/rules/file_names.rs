//! Files are named for the thing that they hold, never for being useful.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "file_names",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[("crates/gemm/src/utils.rs", "//! Odds and ends.\n")],
        &[("crates/gemm/tests/common/mod.rs", "//! Odds and ends.\n")],
    ],
    good: &[&[("crates/gemm/src/packing.rs", "//! Packs panels.\n")]],
};

/// Names that say nothing of what is inside.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff",
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        let mut parts = file.path.split('/');
        let empty = parts.find_map(|part| {
            let name = part.strip_suffix(".rs").unwrap_or(part);
            EMPTY_NAMES.contains(&name).then_some(name)
        });
        if let Some(name) = empty {
            let what = format!("`{name}` says nothing; name the thing that is inside");
            findings.push(Finding::new(&file.path, 1, what));
        }
    }
    findings
}
