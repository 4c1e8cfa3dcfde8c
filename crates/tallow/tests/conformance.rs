//! Every operation against its naive reference: see `tallow::testing`. `TALLOW_TEST_OP` narrows the
//! run to the operations whose names contain it.

#[test]
fn every_op_is_right_for_every_dtype_layout_and_level() {
    let filter = std::env::var("TALLOW_TEST_OP").unwrap_or_default();
    let compared = tallow::testing::conformance(&filter).and_then(|report| report.into_result());
    match compared {
        Ok(compared) => assert!(compared > 0, "no case matches \"{filter}\""),
        Err(failures) => panic!("{failures}"),
    }
}
