//! Counts batches out to the matrix kernels.

use crate::cpu::View;
use crate::{Result, WithDType};
use tallow_gemm::{GemmElement, MatRef};

pub(super) fn matmul<T: WithDType + GemmElement>(
    lhs: View<'_, T>,
    rhs: View<'_, T>,
    out: &mut [T],
) -> Result<()> {
    let lhs_offsets: Vec<usize> = lhs.leading(2).offsets().collect();
    let rhs_offsets: Vec<usize> = rhs.leading(2).offsets().collect();
    if let Some((lhs, rhs)) = one_product(lhs, rhs, &rhs_offsets)? {
        return Ok(tallow_gemm::matmul(out, 1, &|_| lhs, &|_| rhs)?);
    }
    // Each matrix is checked once here, so that the kernels' calls cannot fail.
    let lhs: Vec<MatRef<'_, T>> = lhs_offsets
        .iter()
        .map(|&offset| matrix(lhs, offset))
        .collect::<Result<_>>()?;
    let rhs: Vec<MatRef<'_, T>> = rhs_offsets
        .iter()
        .map(|&offset| matrix(rhs, offset))
        .collect::<Result<_>>()?;
    Ok(tallow_gemm::matmul(
        out,
        lhs.len(),
        &|batch| lhs[batch],
        &|batch| rhs[batch],
    )?)
}

/// The matrix in the last two dimensions, from an offset on.
fn matrix<T: WithDType>(view: View<'_, T>, offset: usize) -> Result<MatRef<'_, T>> {
    let [(rows, row_stride), (cols, col_stride)] = view
        .last::<2>()
        .expect("the shape rule wants rank 2 or more");
    // A view without elements has no data, whatever its strides say of the batches.
    let data = view.data.get(offset..).unwrap_or_default();
    Ok(MatRef::new(data, rows, cols, row_stride, col_stride)?)
}

/// Batches that share one right side, and whose left sides lie one below the other, are a single
/// product with more rows.
fn one_product<'a, T: WithDType>(
    lhs: View<'a, T>,
    rhs: View<'a, T>,
    rhs_offsets: &[usize],
) -> Result<Option<(MatRef<'a, T>, MatRef<'a, T>)>> {
    let rank = lhs.dims.len();
    let (rows, cols) = (lhs.dims[..rank - 1].iter().product(), lhs.dims[rank - 1]);
    let walk = crate::cpu::walk::Walk::new(&lhs.dims[..rank - 1], [&lhs.strides[..rank - 1]]);
    if rhs_offsets.iter().any(|&offset| offset != 0) || walk.dims.len() != 1 {
        return Ok(None);
    }
    let [row_stride] = walk.inner_strides();
    let lhs = MatRef::new(lhs.data, rows, cols, row_stride, lhs.strides[rank - 1])?;
    Ok(Some((lhs, matrix(rhs, 0)?)))
}
