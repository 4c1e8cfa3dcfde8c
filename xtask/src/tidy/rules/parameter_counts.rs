//! Functions take at most six parameters, `self` aside. Reported only.
//!
//! Beyond that, a struct with named fields says at the call what each value is.

use super::super::functions::functions;
use super::{Finding, Rule, Tree, Weight, reason_for};

pub(crate) const RULE: Rule = Rule {
    name: "parameter_counts",
    weight: Weight::Reported,
    check,
    bad: &[&[(
        "crates/gemm/src/pack.rs",
        "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8) {}\n",
    )]],
    good: &[
        &[(
            "crates/gemm/src/pack.rs",
            "fn f(&self, a: u8, b: u8, c: u8, d: u8, e: u8, f: u8) {}\n",
        )],
        &[(
            "crates/simd/src/arch/avx2.rs",
            "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8) {}\n",
        )],
    ],
};

/// The most parameters that a function takes, `self` aside.
const PARAMETERS_MAX: usize = 6;

/// Files, and folders that end in `/`, whose functions may take more.
const EXEMPT: &[(&str, &str)] = &[
    (
        "crates/simd/src/arch/",
        "the instructions say what they take",
    ),
    (
        "crates/nn/src/",
        "candle-nn's interface says what they take",
    ),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = tree
        .rust_files()
        .filter(|file| reason_for(EXEMPT, &file.path).is_none());
    for file in files {
        for function in functions(&file.code) {
            let taken = function.parameters;
            if taken > PARAMETERS_MAX {
                let what = format!(
                    "`{}` takes {taken} parameters; at most {PARAMETERS_MAX}",
                    function.name
                );
                findings.push(Finding::new(&file.path, function.line, what));
            }
        }
    }
    findings
}
