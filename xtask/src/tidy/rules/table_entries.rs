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
        &[("crates/tallow/src/ops/matmul/mod.rs", "")],
        &[
            (
                "crates/tallow/src/ops/mod.rs",
                "mod unary;\n// mod matmul;\n// &matmul::FAMILY\n",
            ),
            ("crates/tallow/src/ops/matmul/mod.rs", ""),
        ],
        &[
            (
                "crates/tallow/src/ops/mod.rs",
                "pub mod matmul;\npub use matmul::matmul;\nconst ALL: _ = &[];\n",
            ),
            ("crates/tallow/src/ops/matmul/mod.rs", ""),
        ],
        &[
            ("crates/quant/src/table.rs", "formats::q4_0::Block\n"),
            ("crates/quant/src/formats/q4_1/mod.rs", ""),
        ],
    ],
    good: &[
        &[
            (
                "crates/tallow/src/ops/mod.rs",
                "mod matmul;\nconst ALL: _ = &[&matmul::FAMILY];\n",
            ),
            ("crates/tallow/src/ops/README.md", ""),
            ("crates/tallow/src/ops/matmul/cpu.rs", ""),
        ],
        &[
            ("crates/quant/src/table.rs", "formats::q4_0::Block\n"),
            ("crates/quant/src/formats/q4_0/mod.rs", ""),
            ("crates/quant/src/formats/search.rs", ""),
        ],
    ],
};

/// A folder of like things with their table.
struct Table {
    folder: &'static str,
    /// The file with a line for each thing.
    table: &'static str,
    /// Whether files are things as well, and not folders alone.
    files: bool,
}

const TABLES: &[Table] = &[
    Table {
        folder: "crates/tallow/src/ops/",
        table: "crates/tallow/src/ops/mod.rs",
        files: false,
    },
    Table {
        folder: "crates/quant/src/formats/",
        table: "crates/quant/src/table.rs",
        files: false,
    },
    Table {
        folder: "crates/llm/src/models/",
        table: "crates/llm/src/models/mod.rs",
        files: true,
    },
    Table {
        folder: "crates/cli/src/commands/",
        table: "crates/cli/src/commands/mod.rs",
        files: true,
    },
    Table {
        folder: "xtask/src/tidy/rules/",
        table: "xtask/src/tidy/rules/mod.rs",
        files: true,
    },
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Table {
        folder,
        table,
        files,
    } in TABLES
    {
        let lines = tree.get(table).map_or("", |file| &file.code);
        let mut last = "";
        for file in tree.rust_files() {
            let Some(rest) = file.path.strip_prefix(folder) else {
                continue;
            };
            let entry = match rest.split_once('/') {
                Some((entry, _)) => entry,
                None if *files => rest.strip_suffix(".rs").unwrap_or(rest),
                None => continue,
            };
            let known = file.path == *table || entry == "tests";
            if !known && entry != last && !is_listed(lines, entry) {
                let what = format!("`{entry}` has no line in {table}");
                findings.push(Finding::new(&file.path, 1, what));
                last = entry;
            }
        }
    }
    findings
}

/// Whether the table names the entry elsewhere than where modules are declared and imported.
fn is_listed(lines: &str, entry: &str) -> bool {
    lines.lines().any(|line| {
        let line = line.trim_start();
        let mut words = line
            .split_whitespace()
            .filter(|word| !word.starts_with("pub"));
        let first = words.next().unwrap_or_default();
        !matches!(first, "mod" | "use") && has_word(line, entry)
    })
}
