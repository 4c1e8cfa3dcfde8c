//! Functions have at most 70 lines; kernels may have more. Reported only.
//!
//! A function's length is counted from the line of its `fn` to the line of the brace that closes
//! its body, in code whose comments and literals are blanked out.

use super::super::code::is_word;
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
                let Function { name, line, lines } = function;
                let what = format!("`{name}` has {lines} lines; at most {LINES_MAX}");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

struct Function<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
}

fn functions(code: &str) -> Vec<Function<'_>> {
    let starts = code
        .match_indices("fn ")
        .filter(|(at, _)| !code[..*at].chars().next_back().is_some_and(is_word));
    starts
        .filter_map(|(at, word)| function(code, at, at + word.len()))
        .collect()
}

/// The function whose `fn` is at `at` and whose name starts at `name`; none where it has no body.
fn function(code: &str, at: usize, name: usize) -> Option<Function<'_>> {
    let open = body_start(code, name)?;
    let mut depth = 0_usize;
    let close = code[open..]
        .char_indices()
        .find_map(|(offset, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0).then_some(open + offset)
        })?;
    let name_end = code[name..].find(|character| !is_word(character))?;
    Some(Function {
        name: &code[name..name + name_end],
        line: code[..at].matches('\n').count() + 1,
        lines: code[at..close].matches('\n').count() + 1,
    })
}

/// Where the body opens; none where the declaration ends without one. Arrays have `;` too.
fn body_start(code: &str, name: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, character) in code[name..].char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '{' if depth == 0 => return Some(name + offset),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}
