//! `cargo xtask ops-table`: writes `docs/ops.md`, or checks that it is up to date.

use std::fs;

use crate::command::{cargo, root};

/// Where the table lies.
const PATH: &str = "docs/ops.md";

/// Writes the table, or only compares it with the file.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let table = cargo("run --quiet --locked --package ops-table").output()?;
    let path = root().join(PATH);
    let present = fs::read_to_string(&path).unwrap_or_default();
    if present == table {
        println!("{PATH} is up to date");
        return Ok(());
    }
    if check {
        return Err(format!(
            "{PATH} is out of date; run `cargo xtask ops-table`"
        ));
    }
    let folder = path.parent().expect("the table lies in a folder");
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, table));
    written.map_err(|error| format!("{PATH} could not be written: {error}"))?;
    println!("{PATH} written");
    Ok(())
}
