//! No code says that it is not written yet, and none prints what it thinks while being debugged.

use super::super::code::has_word;
use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "unfinished_code",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[("crates/simd/src/math.rs", "fn f() { todo!() }\n")],
        &[(
            "crates/simd/src/math.rs",
            "fn f() { unimplemented!(\"f\") }\n",
        )],
        &[("crates/simd/src/math.rs", "fn f(x: f32) { dbg!(x); }\n")],
        &[("crates/simd/src/math.rs", "// TODO: faster\n")],
    ],
    good: &[&[("crates/simd/src/math.rs", "fn f() { g(\"todo!()\") }\n")]],
};

/// Macros that stand where code is to come, or to go.
const MACROS: &[&str] = &["todo!", "unimplemented!", "dbg!"];

/// Words of comments that put work off.
const MARKS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // This file names the words that it looks for.
    for file in tree
        .rust_files()
        .filter(|file| file.name() != "unfinished_code.rs")
    {
        let lines = file.code.lines().zip(file.text.lines());
        for (number, (code, text)) in (1..).zip(lines) {
            let mut macros = MACROS.iter().filter(|word| code.contains(**word));
            let comment = text.split_once("//").map_or("", |(_, comment)| comment);
            let mut marks = MARKS.iter().filter(|word| has_word(comment, word));
            if let Some(word) = macros.next().or_else(|| marks.next()) {
                findings.push(Finding::new(
                    &file.path,
                    number,
                    format!("`{word}` in code"),
                ));
            }
        }
    }
    findings
}
