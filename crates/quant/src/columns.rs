//! Splits a row-major result by columns, so that each task owns the columns of its weight rows.

/// Runs `f(first_column, columns)` over ranges of `columns` of `out`, rows of `n`, in parallel.
///
/// `columns` has one slice for each row of `out`. Ranges are whole multiples of `unit` columns,
/// except at the end, and at least `min_columns` long.
pub(crate) fn for_ranges(
    out: &mut [f32],
    n: usize,
    unit: usize,
    min_columns: usize,
    f: impl Fn(usize, &mut [&mut [f32]]) + Sync,
) {
    let units = n.div_ceil(unit);
    let width = unit * tallow_threads::chunk_len(units, min_columns.div_ceil(unit));
    if out.len() == n {
        // One row: its ranges are slices as they are, and nothing is allocated.
        tallow_threads::parallel_chunks_mut(out, width, |range, columns| {
            f(range * width, &mut [columns]);
        });
        return;
    }
    let mut ranges: Vec<Vec<&mut [f32]>> = Vec::new();
    ranges.resize_with(n.div_ceil(width), || Vec::with_capacity(out.len() / n));
    for row in out.chunks_exact_mut(n) {
        for (range, columns) in ranges.iter_mut().zip(row.chunks_mut(width)) {
            range.push(columns);
        }
    }
    tallow_threads::parallel_chunks_mut(&mut ranges, 1, |range, columns| {
        for columns in columns {
            f(range * width, columns);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_handed_out_once() {
        for (rows, n, unit) in [(1, 7, 4), (3, 7, 4), (2, 64, 16), (5, 1, 32), (1, 100, 1)] {
            let mut out = vec![0.0; rows * n];
            tallow_threads::with_num_threads(if cfg!(miri) { 1 } else { 3 }, || {
                for_ranges(&mut out, n, unit, 1, |first, columns| {
                    assert_eq!((first % unit, columns.len()), (0, rows));
                    for (row, columns) in columns.iter_mut().enumerate() {
                        for (at, value) in columns.iter_mut().enumerate() {
                            *value += (row * n + first + at + 1) as f32;
                        }
                    }
                });
            });
            let expected: Vec<f32> = (1..=rows * n).map(|value| value as f32).collect();
            assert_eq!(out, expected, "{rows} rows of {n} in units of {unit}");
        }
    }
}
