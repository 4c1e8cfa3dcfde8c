//! The repository speaks of the project alone: no path of a developer's machine, no registry host.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "own_words",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[("README.md", "Run it in /home/someone/tallow.\n")],
        &[("Cargo.toml", "registry = 'https://index.crates.io/'\n")],
        &[(
            "bench/record/box/today.csv",
            "/tmp/target/release/tallow bench\n",
        )],
    ],
    good: &[&[("README.md", "Models are kept under ~/.cache/tallow.\n")]],
};

/// What is somebody's machine or mirror, and not the project.
const FOREIGN: &[&str] = &[
    "/home/",
    "/Users/",
    "/root/",
    "/work/",
    "/tmp/target",
    "index.crates.io",
    "static.crates.io",
    "files.pythonhosted.org",
    "deb.debian.org",
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // This file names the words that it looks for.
    for file in tree.files().filter(|file| file.name() != "own_words.rs") {
        for (number, line) in (1..).zip(file.text.lines()) {
            for word in FOREIGN.iter().filter(|word| line.contains(**word)) {
                let what = format!("`{word}` is of some machine, not of the project");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}
