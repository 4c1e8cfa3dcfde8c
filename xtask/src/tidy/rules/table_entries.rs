//! What a folder of like things holds is listed in that folder's table.
//!
//! A folder or a file that its table does not name is not compiled, or not found by the code that
//! walks the table: a forgotten line is a thing that silently does not exist.

use super::super::code::has_word;
use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "table_entries",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[
            (
                "crates/tallow/src/ops/mod.rs",
                "mod unary;\n// mod matmul;\n",
            ),
            ("crates/tallow/src/ops/matmul/mod.rs", ""),
        ],
        &[("crates/tallow/src/ops/matmul/mod.rs", "")],
    ],
    good: &[&[
        ("crates/tallow/src/ops/mod.rs", "mod unary;\nmod matmul;\n"),
        ("crates/tallow/src/ops/README.md", ""),
        ("crates/tallow/src/ops/unary/cpu.rs", ""),
        ("crates/tallow/src/ops/matmul/mod.rs", ""),
    ]],
};

/// Folders of like things, and the file with a line for each.
const TABLES: &[(&str, &str)] = &[("crates/tallow/src/ops/", "crates/tallow/src/ops/mod.rs")];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (folder, table) in TABLES {
        let lines = tree.get(table).map_or("", |file| &file.code);
        let mut last = "";
        for file in tree.rust_files() {
            let Some(rest) = file.path.strip_prefix(folder) else {
                continue;
            };
            let entry = rest.split('/').next().unwrap_or(rest);
            let entry = entry.strip_suffix(".rs").unwrap_or(entry);
            let known = file.path == *table || entry == "mod" || has_word(lines, entry);
            if !known && entry != last {
                let what = format!("`{entry}` has no line in {table}");
                findings.push(Finding::new(&file.path, 1, what));
                last = entry;
            }
        }
    }
    findings
}
