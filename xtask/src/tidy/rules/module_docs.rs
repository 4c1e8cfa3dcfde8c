//! Every Rust file opens with a module doc, of at most 25 lines.
//!
//! The root of a crate may say more: its doc is the crate's essay, and a file that opens with
//! inner attributes may have its doc behind them.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "module_docs",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[("crates/simd/src/math.rs", "use std::fmt;\n")],
        &[("crates/simd/src/math.rs", "// Maths.\n//! Maths.\n")],
        &[("crates/simd/src/math.rs", LONG)],
        &[("xtask/src/step.rs", "")],
    ],
    good: &[
        &[("crates/simd/src/math.rs", "//! Maths.\n\nuse std::fmt;\n")],
        &[("crates/simd/src/lib.rs", LONG)],
        &[(
            "crates/tallow/src/lib.rs",
            "#![doc = include_str!(\"../README.md\")]\n",
        )],
        &[(
            "crates/simd/src/math.rs",
            "#![allow(\n    dead_code\n)]\n\n//! Maths.\n",
        )],
    ],
};

/// The most lines that a module doc has.
const LINES_MAX: usize = 25;

/// A doc of 26 lines.
const LONG: &str = "\
//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n\
//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n//!\n";

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        let root = file.name() == "lib.rs" || file.path.ends_with("src/main.rs");
        match doc_lines(&file.text) {
            0 => findings.push(Finding::new(&file.path, 1, "opens with no module doc")),
            lines if lines > LINES_MAX && !root => {
                let what = format!("module doc of {lines} lines; at most {LINES_MAX}");
                findings.push(Finding::new(&file.path, 1, what));
            }
            _ => {}
        }
    }
    findings
}

/// How many lines the doc has with which the text opens, behind inner attributes at most.
fn doc_lines(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut lines = 0;
    for line in text.lines() {
        let line = line.trim();
        if depth == 0 && line.starts_with("//!") {
            lines += 1;
        } else if depth == 0 && lines == 0 && line.starts_with("#![doc =") {
            return 1;
        } else if lines == 0 && (depth > 0 || line.is_empty() || line.starts_with("#![")) {
            depth += line.matches('[').count();
            depth = depth.saturating_sub(line.matches(']').count());
        } else {
            break;
        }
    }
    lines
}
