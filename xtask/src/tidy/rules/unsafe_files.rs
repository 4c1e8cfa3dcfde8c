//! The word `unsafe` stands in code only in the files that [`MAY`] lists, each with its reason.

use super::super::code::lines_with_word;
use super::{Finding, Rule, Tree, Weight, reason_for};

pub(crate) const RULE: Rule = Rule {
    name: "unsafe_files",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[(
            "crates/tallow/src/tensor.rs",
            "fn f() {\n    unsafe { g() }\n}\n",
        )],
        &[("crates/llm/src/lib.rs", "unsafe fn f() {}\n")],
    ],
    good: &[
        &[("crates/simd/src/arch/avx2.rs", "unsafe { g() }\n")],
        &[(
            "crates/tallow/src/tensor.rs",
            "// unsafe\n#![forbid(unsafe_code)]\n",
        )],
    ],
};

/// Files, and folders that end in `/`, where unsafe code may stand.
const MAY: &[(&str, &str)] = &[
    (
        "crates/threads/src/chunks.rs",
        "parts of one slice for many workers",
    ),
    (
        "crates/threads/src/disjoint.rs",
        "disjoint ranges of one slice for many workers",
    ),
    (
        "crates/threads/src/macos.rs",
        "a call of the system's library",
    ),
    (
        "crates/threads/src/pool.rs",
        "a borrowed closure that outlives its region's workers",
    ),
    (
        "crates/threads/src/slot.rs",
        "a borrowed closure that outlives its region's workers",
    ),
    ("crates/simd/src/arch/", "vector instructions"),
    ("crates/formats/src/mmap.rs", "memory maps"),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if reason_for(MAY, &file.path).is_none() {
            let lines = lines_with_word(&file.code, "unsafe");
            let what = "unsafe code in a file that the table of this rule does not list";
            findings.extend(lines.map(|line| Finding::new(&file.path, line, what)));
        }
    }
    findings
}
