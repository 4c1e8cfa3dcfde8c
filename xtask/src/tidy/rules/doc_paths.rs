//! Paths that the project's documents name are there.
//!
//! What stands between backquotes and starts with a folder of the workspace is taken as a path;
//! one with a placeholder (`<name>`) or a pattern (`*`) is not.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "doc_paths",
    weight: Weight::Enforced,
    check,
    bad: &[&[(
        "ARCHITECTURE.md",
        "The pool is in `crates/threads/src/gone.rs`.\n",
    )]],
    good: &[&[
        (
            "ARCHITECTURE.md",
            "`crates/threads/src/`, `crates/<name>` and `ops/<op>/cpu.rs`.\n",
        ),
        ("crates/threads/src/lib.rs", ""),
    ]],
};

/// Folders with which a path of the workspace starts.
const FOLDERS: &[&str] = &[
    "crates/", "xtask/", "bench/", "docs/", "fuzz/", ".ci/", "scripts/",
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.path.ends_with(".md")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let quoted = line.split('`').skip(1).step_by(2);
            let paths = quoted.filter(|text| {
                let literal = !text.contains(['<', '*', ' ', '…', '{']);
                literal && FOLDERS.iter().any(|folder| text.starts_with(folder))
            });
            for path in paths.filter(|path| !tree.has(path)) {
                let what = format!("`{path}` is not there");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}
