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
        "crates/threads/src/pages.rs",
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
    (
        "crates/threads/src/spread.rs",
        "calls of the system's library",
    ),
    ("crates/simd/src/arch/", "vector instructions"),
    (
        "crates/simd/src/vec_ops.rs",
        "candle's interface of raw pointers",
    ),
    ("crates/formats/src/mmap.rs", "memory maps"),
    (
        "crates/gemm/src/kernels/",
        "vector kernels and what they point at",
    ),
    (
        "crates/gemm/src/packed.rs",
        "disjoint tiles of the output for many workers",
    ),
    (
        "crates/gemm/src/direct.rs",
        "disjoint tiles of the output for many workers",
    ),
    (
        "crates/gemm/src/skinny.rs",
        "disjoint tiles of the output for many workers",
    ),
    ("crates/quant/src/dot/", "vector instructions"),
    (
        "crates/gpu/src/drivers/",
        "calls of the systems' GPU libraries",
    ),
    (
        "bench/rivals/candle/arguments.rs",
        "an environment variable that the rival reads",
    ),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if reason_for(MAY, &file.path).is_none() {
            let lines: Vec<_> = lines_with_word(&file.code, "unsafe").collect();
            let what = format!("unsafe code on {} lines, in a file not listed", lines.len());
            findings.extend(
                lines
                    .first()
                    .map(|line| Finding::new(&file.path, *line, what)),
            );
        }
    }
    findings
}
