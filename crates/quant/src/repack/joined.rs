//! Several matrices times the same activations: these are rounded once, and there is one parallel
//! region, where a small matrix alone would be over before a second thread has begun.

use super::{PANELS, ROWS, Repacked};
use crate::columns;
use crate::error::{QuantError, check_len, product};

/// Whether [`matmul_joined`] takes these weights: they have the same row length, their activations
/// are rounded in the same groups, and each fills its tiles.
pub fn joins(parts: &[&Repacked]) -> bool {
    let Some(first) = parts.first() else {
        return false;
    };
    parts.iter().all(|part| {
        part.target == first.target
            && (part.len, part.group) == (first.len, first.group)
            && part.rows.is_multiple_of(first.target.tile_lanes())
    })
}

/// `out[m, n₁ + n₂ + …] = lhs[m, k] · [weight₁ᵀ, weight₂ᵀ, …]`, parallel inside, with the bits that
/// each product has by itself.
///
/// # Errors
/// [`QuantError::Length`] when `lhs` or `out` does not have as many values.
///
/// # Panics
/// When [`joins`] is false of the weights.
pub fn matmul_joined(
    parts: &[&Repacked],
    lhs: &[f32],
    m: usize,
    out: &mut [f32],
) -> Result<(), QuantError> {
    assert!(joins(parts), "weights that do not join");
    let (op, first) = ("joined matmul", parts[0]);
    let total = parts.iter().map(|part| part.rows).sum();
    check_len(op, ("lhs", "values"), lhs.len(), product(op, m, first.len)?)?;
    check_len(op, ("out", "values"), out.len(), product(op, m, total)?)?;
    match m {
        0 => {}
        1 => one_row(parts, total, lhs, out),
        _ => many_rows(parts, total, lhs, out),
    }
    Ok(())
}

/// The part that has a tile, and the tile's number there.
fn place<'a>(parts: &[&'a Repacked], lanes: usize, mut tile: usize) -> (&'a Repacked, usize) {
    for part in parts {
        let tiles = part.rows / lanes;
        if tile < tiles {
            return (part, tile);
        }
        tile -= tiles;
    }
    unreachable!("tiles are counted out by the parts")
}

fn one_row(parts: &[&Repacked], total: usize, lhs: &[f32], out: &mut [f32]) {
    let first = parts[0];
    let (target, lanes) = (first.target, first.target.tile_lanes());
    let mut rows = ROWS.take();
    rows.quantize(target, lhs, first.len, first.group);
    let least = first.min_columns(lanes);
    columns::for_ranges(out, total, lanes, least, |from, columns| {
        for (at, out) in columns[0].chunks_mut(lanes).enumerate() {
            let (part, tile) = place(parts, lanes, from / lanes + at);
            part.packed.dot_row(target, part.tile(tile), &rows, out);
        }
    });
    ROWS.set(rows);
}

fn many_rows(parts: &[&Repacked], total: usize, lhs: &[f32], out: &mut [f32]) {
    let first = parts[0];
    let (target, lanes) = (first.target, first.target.tile_lanes());
    let mut panels = PANELS.take();
    panels.quantize(target, lhs, first.len, first.group);
    columns::for_ranges(out, total, lanes, lanes, |from, out| {
        for column in (0..out[0].len()).step_by(lanes) {
            let (part, tile) = place(parts, lanes, (from + column) / lanes);
            let tile = part.tile(tile);
            part.packed.dot_panels(target, tile, &panels, column, out);
        }
    });
    PANELS.set(panels);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::GgmlDType;

    fn weight(dtype: GgmlDType, rows: usize, seed: usize) -> Option<Repacked> {
        let values: Vec<f32> = (0..rows * 64)
            .map(|at| ((at * 37 + seed) % 101) as f32 / 50.0 - 1.0)
            .collect();
        let mut bytes = vec![0; rows * dtype.row_bytes(64)?];
        crate::quantize(dtype, &values, &mut bytes).ok()?;
        Repacked::new(dtype, &bytes, rows, 64)
    }

    #[test]
    fn a_joined_product_has_the_bits_of_its_parts() {
        let made = [
            weight(GgmlDType::Q4_0, 64, 1),
            weight(GgmlDType::Q8_0, 32, 2),
            weight(GgmlDType::Q4_0, 96, 3),
        ];
        // Without vector instructions nothing is interleaved, and nothing joined.
        let [Some(a), Some(b), Some(c)] = &made else {
            return assert!(made.iter().all(Option::is_none));
        };
        let parts = [a, b, c];
        assert!(joins(&parts));
        // Miri takes seconds for a product.
        let counts: &[usize] = if cfg!(miri) { &[3] } else { &[1, 3, 8] };
        for &m in counts {
            let lhs: Vec<f32> = (0..m * 64).map(|at| (at % 13) as f32 - 6.0).collect();
            let mut joined = vec![0.0; m * 192];
            matmul_joined(&parts, &lhs, m, &mut joined).unwrap();
            let mut start = 0;
            for part in parts {
                let mut alone = vec![0.0; m * part.rows];
                part.matmul(&lhs, m, &mut alone).unwrap();
                for (row, alone) in alone.chunks_exact(part.rows).enumerate() {
                    assert_eq!(&joined[row * 192 + start..][..part.rows], alone);
                }
                start += part.rows;
            }
        }
        assert!(matmul_joined(&parts, &[0.0; 64], 1, &mut [0.0; 191]).is_err());
    }

    #[test]
    fn weights_that_do_not_fill_their_tiles_do_not_join() {
        if let (Some(a), Some(b)) = (
            weight(GgmlDType::Q8_0, 32, 1),
            weight(GgmlDType::Q8_0, 7, 2),
        ) {
            assert!(!joins(&[&a, &b]));
        }
        assert!(!joins(&[]));
    }
}
