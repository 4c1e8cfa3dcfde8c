//! `tallow bench cpu`: a few operations over thread counts, beside known figures.

use super::operations::{ALL, Operation};
use super::timing;
use crate::error::{Error, Result};
use crate::output;

/// Samples of each measurement.
const SAMPLES: usize = 9;

/// An operation of [`ALL`], and its milliseconds in candle-core 0.11.0 on an M2 Max (macOS 27, 8
/// threads) in the build with the gemm crate and in the one with Accelerate; 2026-11.
struct Row {
    title: &'static str,
    name: &'static str,
    gemm: Option<f64>,
    accelerate: Option<f64>,
}

const ROWS: &[Row] = &[
    row("matmul f32 256", "matmul_f32_256", Some(0.174), Some(0.032)),
    row("matmul f32 1024", "matmul_f32_1024", Some(3.256), Some(0.867)),
    row("matmul f32 2048", "matmul_f32_2048", Some(28.96), Some(7.843)),
    // Its Accelerate build refuses f16, and neither build has a figure for bf16.
    row("matmul f16 1024", "matmul_f16_1024", Some(1.603), None),
    row("matmul bf16 1024", "matmul_bf16_1024", None, None),
    row("exp 4,194,304 f32", "exp_4M", Some(6.41), Some(1.77)),
    row("add 4,194,304 f32", "add_4M", Some(0.58), Some(0.73)),
    row("mul 4,194,304 f32", "mul_4M", Some(0.57), Some(0.62)),
];

const fn row(
    title: &'static str,
    name: &'static str,
    gemm: Option<f64>,
    accelerate: Option<f64>,
) -> Row {
    Row {
        title,
        name,
        gemm,
        accelerate,
    }
}

/// Measure products, exp, add and mul with 1, 2 and all threads, in milliseconds.
///
/// Beside them stand the figures of candle-core 0.11.0 on an M2 Max with 8 threads, another
/// machine: a scale, not a comparison.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench cpu")]
pub(super) struct Arguments {}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        let all = tallow_threads::num_threads();
        let mut counts = vec![1, 2, all];
        counts.sort_unstable();
        counts.dedup();
        let mut titles = vec!["milliseconds".to_string()];
        titles.extend(counts.iter().map(|count| match count {
            1 => "1 thread".to_string(),
            count => format!("{count} threads"),
        }));
        titles.extend(["M2 Max, gemm", "M2 Max, Accelerate"].map(String::from));
        let operations: Vec<Operation> = ALL.iter().flat_map(|family| family()).collect();
        let mut rows = vec![titles];
        for row in ROWS {
            rows.push(measure(row, &operations, &counts)?);
        }
        output::table(&rows, 1)?;
        output::line("\nM2 Max: candle-core 0.11.0, 8 threads, macOS 27")
    }
}

fn measure(row: &Row, operations: &[Operation], counts: &[usize]) -> Result<Vec<String>> {
    let found = operations.iter().find(|operation| operation.name == row.name);
    let operation = found.ok_or_else(|| Error::Text(format!("bench cpu: no {}", row.name)))?;
    let work = (operation.prepare)()?;
    let mut cells = vec![row.title.to_string()];
    for &count in counts {
        let samples = tallow_threads::with_num_threads(count, || {
            timing::calls(SAMPLES, || Ok(work()?))
        })?;
        cells.push(format!("{:.3}", samples.median() / 1e3));
    }
    let known = |figure: Option<f64>| figure.map_or("-".to_string(), |value| value.to_string());
    cells.extend([known(row.gemm), known(row.accelerate)]);
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_an_operation_of_the_list() {
        let operations: Vec<Operation> = ALL.iter().flat_map(|family| family()).collect();
        for row in ROWS {
            assert!(operations.iter().any(|operation| operation.name == row.name));
        }
    }
}
