//! `tallow bench with-context`: products of matrices inside `Device::with_context` and outside.
//!
//! In candle the one runs on a pool of its own and the other on rayon's; here both run on the one
//! pool, so that a figure that differs is an error or the machine's noise.

use super::operations::{ALL, Operation};
use super::timing;
use crate::error::{Error, Result};
use crate::output;

/// The size, and candle-core 0.11.0's milliseconds on an M2 Max (macOS 27, 8 threads), outside and
/// inside; 2026-11.
const ROWS: [(usize, &str, &str); 3] = [
    (64, "0.0075", "0.0075"),
    (256, "0.18 to 0.22", "0.09 to 0.17"),
    (1024, "3.3", "3.2 to 4.1"),
];

/// Measure f32 products of 64, 256 and 1024, plain and inside with_context, in milliseconds.
///
/// Beside them stand the figures of candle-core 0.11.0 on an M2 Max with 8 threads, another
/// machine: a scale, not a comparison. `bench ops` has the same work for the comparison.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench with-context --threads 2")]
pub(super) struct Arguments {
    /// Samples to take the median of.
    #[arg(long, value_name = "N", default_value_t = 201)]
    samples: usize,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        let operations: Vec<Operation> = ALL.iter().flat_map(|family| family()).collect();
        let titles = [
            "milliseconds",
            "plain",
            "inside",
            "M2 Max, plain",
            "M2 Max, inside",
        ];
        let mut rows = vec![titles.map(String::from).to_vec()];
        for (size, plain, inside) in ROWS {
            let mut cells = vec![format!("matmul f32 {size}")];
            for kind in ["plain", "inside"] {
                cells.push(self.measure(&operations, &name(kind, size))?);
            }
            cells.extend([plain, inside].map(String::from));
            rows.push(cells);
        }
        output::table(&rows, 1)?;
        output::line("\nM2 Max: candle-core 0.11.0, 8 threads, macOS 27")
    }

    fn measure(&self, operations: &[Operation], name: &str) -> Result<String> {
        let found = operations.iter().find(|operation| operation.name == name);
        let operation =
            found.ok_or_else(|| Error::Text(format!("bench with-context: no {name}")))?;
        let work = (operation.prepare)()?;
        let samples = timing::calls(self.samples, || Ok(work()?))?;
        Ok(format!("{:.4}", samples.median() / 1e3))
    }
}

fn name(kind: &str, size: usize) -> String {
    format!("context_{kind}_matmul_{size}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_two_operations_of_the_list() {
        let operations: Vec<Operation> = ALL.iter().flat_map(|family| family()).collect();
        for (size, ..) in ROWS {
            for kind in ["plain", "inside"] {
                let name = name(kind, size);
                assert!(
                    operations.iter().any(|operation| operation.name == name),
                    "{name}"
                );
            }
        }
    }
}
