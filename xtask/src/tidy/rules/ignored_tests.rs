//! A test that is written is run: none is ignored, but under Miri, which is slow.

use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "ignored_tests",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[("crates/simd/src/math.rs", "#[test]\n#[ignore]\nfn f() {}\n")],
        &[(
            "crates/simd/src/math.rs",
            "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n",
        )],
        &[(
            "crates/simd/src/math.rs",
            "#[cfg_attr(debug_assertions, ignore)]\nfn f() {}\n",
        )],
    ],
    good: &[
        &[(
            "crates/simd/src/math.rs",
            "#[cfg_attr(miri, ignore)]\nfn f() {}\n",
        )],
        &[("crates/simd/src/math.rs", "// #[ignore]\nfn ignore() {}\n")],
    ],
};

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        for (number, line) in (1..).zip(file.code.lines()) {
            let plain = line.contains("#[ignore");
            let conditional = line.contains("#[cfg_attr(") && line.contains(", ignore");
            if plain || (conditional && !line.contains("#[cfg_attr(miri, ignore")) {
                findings.push(Finding::new(&file.path, number, "a test that is not run"));
            }
        }
    }
    findings
}
