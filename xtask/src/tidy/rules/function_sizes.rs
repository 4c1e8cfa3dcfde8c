//! Functions have at most 70 lines; kernels may have more. Reported only.
//!
//! A function's length is counted from the line of its `fn` to the line of the brace that closes
//! its body, in code whose comments and literals are blanked out.

use super::super::functions::{Function, functions};
use super::{Finding, Rule, Tree, Weight, reason_for};

/// Seventy empty lines.
macro_rules! lines_70 {
    () => {
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\
         \n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
    };
}
pub(crate) const RULE: Rule = Rule {
    name: "function_sizes",
    weight: Weight::Reported,
    check,
    bad: &[&[(
        "crates/gemm/src/pack.rs",
        concat!("fn f(a: [u8; 2]) {\n", lines_70!(), "}\n"),
    )]],
    good: &[
        &[(
            "crates/gemm/src/pack.rs",
            "fn f();\nfn g() {}\nlet h: fn(u8) = g;\n",
        )],
        &[(
            "crates/gemm/src/pack.rs",
            concat!("fn f() {}\n", lines_70!(), "fn g() {}\n"),
        )],
    ],
};

/// The most lines that a function has.
const LINES_MAX: usize = 70;

/// Files, and folders that end in `/`, whose functions may be longer.
const EXEMPT: &[(&str, &str)] = &[
    ("crates/gemm/src/kernels/", "a kernel is one unrolled loop"),
    ("crates/quant/src/dot/", "a kernel is one unrolled loop"),
];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        if reason_for(EXEMPT, &file.path).is_some() {
            continue;
        }
        for function in functions(&file.code) {
            if function.lines > LINES_MAX {
                let Function {
                    name, line, lines, ..
                } = function;
                let what = format!("`{name}` has {lines} lines; at most {LINES_MAX}");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}
