//! The table of rules: one file each, one line in [`ALL`].

mod clocks_in_tests;
mod crate_edges;
mod doc_paths;
mod file_names;
mod file_sizes;
mod forbidden_unsafe;
mod function_sizes;
mod ignored_tests;
mod line_lengths;
mod manifests;
mod module_docs;
mod own_words;
mod parameter_counts;
mod table_entries;
mod target_cfg;
mod unfinished_code;
mod unsafe_files;

use super::Finding;
use super::tree::Tree;

/// Whether a finding fails the run.
pub(crate) enum Weight {
    /// A finding fails the run.
    Enforced,
    /// A finding is printed, and that is all.
    Reported,
}

/// A small tree: the path and the text of each file.
pub(crate) type Sample = &'static [(&'static str, &'static str)];

/// One rule of the house.
pub(crate) struct Rule {
    /// Its name, which is also its file.
    pub(crate) name: &'static str,
    /// Whether a finding fails the run.
    pub(crate) weight: Weight,
    /// Every place in the tree that breaks it.
    pub(crate) check: fn(&Tree) -> Vec<Finding>,
    /// Trees that break it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests run the samples"))]
    pub(crate) bad: &'static [Sample],
    /// Trees that keep it.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests run the samples"))]
    pub(crate) good: &'static [Sample],
}

/// Every rule.
pub(crate) const ALL: &[Rule] = &[
    crate_edges::RULE,
    manifests::RULE,
    unsafe_files::RULE,
    forbidden_unsafe::RULE,
    target_cfg::RULE,
    table_entries::RULE,
    module_docs::RULE,
    file_names::RULE,
    line_lengths::RULE,
    unfinished_code::RULE,
    ignored_tests::RULE,
    clocks_in_tests::RULE,
    own_words::RULE,
    doc_paths::RULE,
    file_sizes::RULE,
    function_sizes::RULE,
    parameter_counts::RULE,
];

/// The reason that a table of path prefixes gives for a path, where it has one.
fn reason_for(table: &[(&str, &'static str)], path: &str) -> Option<&'static str> {
    table
        .iter()
        .find(|(prefix, _)| path.starts_with(prefix))
        .map(|(_, reason)| *reason)
}
