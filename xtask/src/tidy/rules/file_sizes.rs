//! Files have at most 600 lines; tables, instruction sets and tests are exempt. Reported only.

use super::{Finding, Rule, Tree, Weight, reason_for};

pub(crate) const RULE: Rule = Rule {
    name: "file_sizes",
    weight: Weight::Reported,
    check,
    bad: &[&[("crates/gemm/src/pack.rs", LONG)]],
    good: &[
        &[("crates/simd/src/arch/avx2.rs", LONG)],
        &[("crates/gemm/tests/shapes.rs", LONG)],
        &[("crates/gemm/src/pack.rs", "//! Packs panels.\n")],
    ],
};

/// The most lines that a file has.
const LINES_MAX: usize = 600;

/// A text of 601 lines: none of them has anything on it.
const LONG: &str = match std::str::from_utf8(&[b'\n'; LINES_MAX + 1]) {
    Ok(text) => text,
    Err(_) => "",
};

/// Files, and folders that end in `/`, that may be longer.
const EXEMPT: &[(&str, &str)] = &[(
    "crates/simd/src/arch/",
    "one method for each instruction, and nothing else",
)];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        let lines = file.text.lines().count();
        let exempt = file.path.contains("/tests/") || reason_for(EXEMPT, &file.path).is_some();
        if lines > LINES_MAX && !exempt {
            let what = format!("{lines} lines; aim at 250, at most {LINES_MAX}");
            findings.push(Finding::new(&file.path, 1, what));
        }
    }
    findings
}
