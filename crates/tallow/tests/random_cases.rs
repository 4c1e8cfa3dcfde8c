//! Random cases of every operation against the references: a short run of `cargo xtask fuzz-ops`.

#[test]
fn every_op_is_right_for_random_cases() {
    // The first few thousand reach every operation and most kinds of views.
    let found = tallow::testing::fuzz(0, 4000, "");
    let found = found.expect("levels that the machine supports can be forced");
    let told: Vec<String> = (found.failures.into_iter())
        .map(|(op, told)| format!("{op}: {told}"))
        .collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}
