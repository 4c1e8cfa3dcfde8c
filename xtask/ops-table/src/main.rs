//! Writes `docs/ops.md`, the table of operations and the dtypes that they take, to standard output.
//!
//! The table is read from `tallow::ops::ALL`, the list that the conformance harness goes by as
//! well: what stands in the table is tested. `cargo xtask ops-table` runs this program; it is a
//! package of its own so that the other commands of xtask need not wait for the tensor crate.

// The table is this program's output.
#![allow(clippy::print_stdout)]
#![forbid(unsafe_code)]

use std::fmt::Write as _;

use tallow::DType;
use tallow::ops::{ALL, Family};

fn main() {
    print!("{}", table(ALL));
}

fn table(families: &[&Family]) -> String {
    let mut text = String::from(
        "<!-- Written by `cargo xtask ops-table`; `cargo xtask ci` checks it. -->\n\
         # Operations and the dtypes that they take\n\n\
         Every mark is tested: each operation over each of its dtypes, over every layout and\n\
         instruction set, against a naive reference in f64. Other dtypes give an error that names\n\
         the operation and the dtype.\n",
    );
    let dtypes = taken_by_any(families);
    for family in families {
        let heading = format!("\n## {}\n\n| operation |", family.name);
        let names = dtypes.iter().map(|dtype| format!(" {} |", dtype.as_str()));
        let rule = "|---|".to_owned() + &":-:|".repeat(dtypes.len());
        let _ = writeln!(text, "{heading}{}\n{rule}", names.collect::<String>());
        for op in family.ops {
            let mark = |dtype| {
                if op.dtypes.contains(dtype) {
                    " ✓ |"
                } else {
                    " |"
                }
            };
            let marks: String = dtypes.iter().map(mark).collect();
            let _ = writeln!(text, "| {} |{marks}", op.name);
        }
    }
    text
}

/// Every dtype that some operation takes, in the order of `DType::COMPUTE`.
fn taken_by_any(families: &[&Family]) -> Vec<DType> {
    let mut dtypes = Vec::new();
    for dtype in families
        .iter()
        .flat_map(|family| family.ops)
        .flat_map(|op| op.dtypes)
    {
        if !dtypes.contains(dtype) {
            dtypes.push(*dtype);
        }
    }
    let place = |dtype: &DType| DType::COMPUTE.iter().position(|known| known == dtype);
    dtypes.sort_by_key(|dtype| place(dtype).unwrap_or(usize::MAX));
    dtypes
}

#[cfg(test)]
mod tests {
    use super::table;
    use tallow::DType;
    use tallow::ops::{Family, OpInfo};

    #[test]
    fn each_operation_has_a_row_with_a_mark_for_each_dtype_that_it_takes() {
        let family = Family {
            name: "unary",
            ops: &[
                OpInfo {
                    name: "exp",
                    dtypes: &[DType::F32],
                },
                OpInfo {
                    name: "neg",
                    dtypes: &[DType::F32, DType::I64],
                },
            ],
            cases: Vec::new,
            draw: |_| unreachable!("the table asks for no case"),
        };
        let text = table(&[&family]);
        let rows = "\n## unary\n\n| operation | i64 | f32 |\n|---|:-:|:-:|\n\
                    | exp | | ✓ |\n| neg | ✓ | ✓ |\n";
        assert!(text.ends_with(rows), "{text}");
    }
}
