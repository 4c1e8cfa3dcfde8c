//! The crates that need no unsafe code forbid it, so that the compiler holds them to it.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "forbidden_unsafe",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[("crates/llm/src/lib.rs", "//! Models.\n")],
        &[("crates/cli/src/main.rs", "//! #![forbid(unsafe_code)]\n")],
    ],
    good: &[
        &[(
            "crates/llm/src/lib.rs",
            "//! Models.\n#![forbid(unsafe_code)]\n",
        )],
        &[("crates/simd/src/lib.rs", "//! Vectors.\n")],
    ],
};

/// The root files of those crates.
const ROOTS: &[&str] = &[
    "crates/tallow/src/lib.rs",
    "crates/nn/src/lib.rs",
    "crates/llm/src/lib.rs",
    "crates/cli/src/lib.rs",
    "crates/cli/src/main.rs",
    "xtask/src/main.rs",
];

fn check(tree: &Tree) -> Vec<Finding> {
    let present = ROOTS.iter().filter_map(|path| tree.get(path));
    let open = present.filter(|file| !file.code.contains("#![forbid(unsafe_code)]"));
    let what = "the crate's root lacks `#![forbid(unsafe_code)]`";
    open.map(|file| Finding::new(&file.path, 1, what)).collect()
}
