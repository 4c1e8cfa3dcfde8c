//! Every operation against its naive reference: see `tallow::testing`. `TALLOW_TEST_OP` narrows the
//! run to the operations whose names contain it.

fn filter() -> String {
    std::env::var("TALLOW_TEST_OP").unwrap_or_default()
}

#[test]
fn every_gradient_is_that_of_the_reference() {
    let filter = filter();
    match tallow::testing::gradients(&filter).and_then(|report| report.into_result()) {
        Ok(compared) => assert!(compared > 0 || !filter.is_empty(), "nothing was compared"),
        Err(failures) => panic!("{failures}"),
    }
}

#[test]
fn every_op_is_right_for_every_dtype_layout_and_level() {
    let filter = filter();
    let compared = tallow::testing::conformance(&filter).and_then(|report| report.into_result());
    match compared {
        Ok(compared) => assert!(compared > 0, "no case matches \"{filter}\""),
        Err(failures) => panic!("{failures}"),
    }
}
