//! Lines of code have at most 100 columns; a line that holds a web address may be longer.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "line_lengths",
    weight: Weight::Enforced,
    check,
    bad: &[&[("crates/simd/src/math.rs", LONG)], &[(".ci/run", LONG)]],
    good: &[
        &[("README.md", LONG)],
        &[("crates/simd/src/math.rs", "//! Short.\n")],
    ],
};

/// The most columns that a line has.
const COLUMNS_MAX: usize = 100;

/// A line of 101 columns.
const LONG: &str = "//                                                                      \
                    .........|.........|.........";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let code = file.is_rust() || file.path.ends_with(".py") || file.path.starts_with(".ci/");
        for (number, line) in (1..).zip(file.text.lines()).filter(|_| code) {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX && !line.contains("://") {
                let what = format!("{columns} columns; at most {COLUMNS_MAX}");
                findings.push(Finding::new(&file.path, number, what));
            }
        }
    }
    findings
}
