//! [`Columns`]: a right side that is made while it is packed, and never stored as a matrix.
//!
//! A convolution is a product whose right side has each input element once for every tap of the
//! kernel. Written out, that matrix is as many times larger than the image as the kernel has taps;
//! made panel by panel, it never leaves the second-level cache.

use std::ops::Range;

use crate::element::Element;
use crate::mat::MatRef;

/// A batch of right sides, made panel by panel in the accumulator's type `A`.
pub trait Columns<A>: Sync {
    /// Rows (the inner size of the product) and columns of each matrix.
    fn shape(&self) -> [usize; 2];

    /// Writes a panel of matrix `index`: for each of `steps` (rows of the matrix) the elements of
    /// `cols`, `panel.len() / steps.len()` elements from one step to the next. That may be more
    /// than there are columns: what stands behind them is not used.
    fn fill(&self, index: usize, steps: Range<usize>, cols: Range<usize>, panel: &mut [A]);
}

/// The right side of one product.
pub(crate) enum Right<'a, T: Element> {
    /// A matrix.
    Stored(MatRef<'a, T>),
    /// Columns that are made, and which matrix of their batch this is.
    Made(&'a dyn Columns<T::Acc>, usize),
}

impl<T: Element> Clone for Right<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for Right<'_, T> {}

impl<T: Element> Right<'_, T> {
    /// The number of columns.
    pub(crate) fn cols(&self) -> usize {
        match self {
            Self::Stored(matrix) => matrix.cols(),
            Self::Made(columns, _) => columns.shape()[1],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MatError, matmul, matmul_columns};
    use tallow_simd::{force_level, supported_levels};

    /// A batch of stored matrices, as columns.
    struct Stored<'a> {
        data: &'a [f32],
        shape: [usize; 2],
    }

    impl Columns<f32> for Stored<'_> {
        fn shape(&self) -> [usize; 2] {
            self.shape
        }
        fn fill(&self, index: usize, steps: Range<usize>, cols: Range<usize>, panel: &mut [f32]) {
            let [rows, row_len] = self.shape;
            let width = panel.len() / steps.len();
            for (step, group) in steps.zip(panel.chunks_exact_mut(width)) {
                let row = &self.data[(index * rows + step) * row_len..][..row_len];
                group[..cols.len()].copy_from_slice(&row[cols.clone()]);
                group[cols.len()..].fill(f32::NAN);
            }
        }
    }

    #[test]
    fn made_columns_give_what_stored_ones_give() -> Result<(), MatError> {
        let sizes = [(1, 9, 600, 33), (3, 20, 5, 9), (2, 200, 70, 300)];
        for (batch, rows, inner, cols) in sizes {
            let numbers = |len: usize| (0..len).map(|i| (i % 13) as f32 - 6.0).collect();
            let (left, right): (Vec<f32>, Vec<f32>) =
                (numbers(batch * rows * inner), numbers(batch * inner * cols));
            let lhs = |b: usize| MatRef::new(&left[b * rows * inner..], rows, inner, inner, 1);
            let rhs = |b: usize| MatRef::new(&right[b * inner * cols..], inner, cols, cols, 1);
            let lhs: Vec<_> = (0..batch).map(lhs).collect::<Result<_, _>>()?;
            let rhs: Vec<_> = (0..batch).map(rhs).collect::<Result<_, _>>()?;
            let made = Stored {
                data: &right,
                shape: [inner, cols],
            };
            for level in supported_levels() {
                force_level(Some(level)).unwrap();
                let mut want = vec![0f32; batch * rows * cols];
                let mut got = vec![f32::NAN; batch * rows * cols];
                matmul(&mut want, batch, &|b| lhs[b], &|b| rhs[b])?;
                matmul_columns(&mut got, batch, &|b| lhs[b], &made)?;
                assert_eq!(got, want, "{level} {batch} {rows} {inner} {cols}");
            }
            force_level(None).unwrap();
        }
        let made = Stored {
            data: &[1.0; 6],
            shape: [2, 3],
        };
        let lhs = MatRef::new(&[1f32; 6], 2, 3, 3, 1)?;
        assert!(matmul_columns(&mut [0.0; 6], 1, &|_| lhs, &made).is_err());
        // Few rows: no kernel reads a right side that is not stored.
        let lhs = MatRef::new(&[1f32; 2], 1, 2, 2, 1)?;
        let mut out = [0.0; 3];
        matmul_columns(&mut out, 1, &|_| lhs, &made)?;
        assert_eq!(out, [2.0; 3]);
        Ok(())
    }
}
