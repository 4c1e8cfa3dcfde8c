//! `cargo xtask tidy`: the rules of the house that a program can enforce.
//!
//! A rule is one file in `rules/` and one line in [`rules::ALL`]. It is handed every file of the
//! working tree ([`Tree`]) and gives findings. A rule carries samples of its own: small trees that
//! break it and small trees that keep it. The tests below run every rule over its samples, so a
//! rule that cannot fail does not pass.

mod code;
mod functions;
mod rules;
mod tree;

use rules::Weight;
use tree::Tree;

/// One place where a rule is broken.
pub(crate) struct Finding {
    path: String,
    line: usize,
    what: String,
}

impl Finding {
    /// A finding at a line, counted from 1.
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

/// Checks every rule over the working tree and prints what it finds.
pub(crate) fn run() -> Result<(), String> {
    let tree = Tree::read()?;
    let mut broken = 0;
    let mut reported = 0;
    for rule in rules::ALL {
        for finding in (rule.check)(&tree) {
            let Finding { path, line, what } = finding;
            match rule.weight {
                Weight::Enforced => {
                    broken += 1;
                    println!("{path}:{line}: {}: {what}", rule.name);
                }
                Weight::Reported => {
                    reported += 1;
                    println!("{path}:{line}: note: {}: {what}", rule.name);
                }
            }
        }
    }
    let rules = rules::ALL.len();
    println!(
        "{rules} rules over {} files: {broken} broken, {reported} notes",
        tree.len()
    );
    if broken == 0 {
        Ok(())
    } else {
        Err(format!("{broken} places break the rules of the house"))
    }
}

#[cfg(test)]
mod tests {
    use super::{Tree, rules};

    #[test]
    fn every_rule_finds_what_is_wrong_in_each_of_its_bad_samples() {
        for rule in rules::ALL {
            assert!(!rule.bad.is_empty(), "{}: no bad sample", rule.name);
            for (index, sample) in rule.bad.iter().enumerate() {
                let findings = (rule.check)(&Tree::sample(sample));
                assert!(
                    !findings.is_empty(),
                    "{}: bad sample {index} passes",
                    rule.name
                );
            }
        }
    }

    #[test]
    fn no_rule_finds_anything_in_its_good_samples() {
        for rule in rules::ALL {
            assert!(!rule.good.is_empty(), "{}: no good sample", rule.name);
            for (index, sample) in rule.good.iter().enumerate() {
                let findings = (rule.check)(&Tree::sample(sample));
                let what: Vec<_> = findings.iter().map(|finding| &finding.what).collect();
                assert!(
                    what.is_empty(),
                    "{}: good sample {index}: {what:?}",
                    rule.name
                );
            }
        }
    }

    #[test]
    fn names_of_rules_are_their_files_and_differ() {
        let mut names: Vec<_> = rules::ALL.iter().map(|rule| rule.name).collect();
        for name in &names {
            let file = format!("src/tidy/rules/{name}.rs");
            let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
            assert!(path.is_file(), "{file} is not there");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rules::ALL.len());
    }
}
