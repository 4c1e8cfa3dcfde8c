//! No test reads a clock: what it claims must hold on a busy machine as well.

use super::super::code::has_word;
use super::{Finding, Rule, Tree, Weight};

pub(crate) const RULE: Rule = Rule {
    name: "clocks_in_tests",
    weight: Weight::Enforced,
    check,
    bad: &[
        &[(
            "crates/threads/tests/pool.rs",
            "let started = Instant::now();\n",
        )],
        &[(
            "crates/threads/src/pool.rs",
            "#[cfg(test)]\nmod tests {\n    Instant::now();\n}\n",
        )],
        &[("crates/threads/src/tests.rs", "SystemTime::now();\n")],
    ],
    good: &[&[(
        "crates/threads/src/pool.rs",
        "Instant::now();\n#[cfg(test)]\nmod tests {}\n",
    )]],
};

/// Types that read a clock.
const CLOCKS: &[&str] = &["Instant", "SystemTime"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        let mut test = file.path.contains("/tests/") || file.name() == "tests.rs";
        for (number, line) in (1..).zip(file.code.lines()) {
            // Test modules stand at the end of their files.
            test |= line.contains("#[cfg(test)]");
            if test && CLOCKS.iter().any(|clock| has_word(line, clock)) {
                findings.push(Finding::new(&file.path, number, "a test reads a clock"));
            }
        }
    }
    findings
}
