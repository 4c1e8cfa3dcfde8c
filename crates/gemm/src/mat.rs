//! [`MatRef`]: a borrowed matrix of any strides, checked once; and what can be wrong with one.

use crate::element::Element;

/// A borrowed `rows × cols` matrix: element (i, j) lies at `i · row_stride + j · col_stride`.
///
/// Strides are in elements and may be 0 (a broadcast row or column).
#[derive(Debug)]
pub struct MatRef<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<T> Clone for MatRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MatRef<'_, T> {}

impl<'a, T> MatRef<'a, T> {
    /// A view of `data`.
    ///
    /// # Errors
    /// [`MatError::OutOfBounds`] when an element would lie outside `data`.
    pub fn new(
        data: &'a [T],
        rows: usize,
        cols: usize,
        row_stride: usize,
        col_stride: usize,
    ) -> Result<Self, MatError> {
        let inside = rows == 0
            || cols == 0
            || (rows - 1)
                .checked_mul(row_stride)
                .zip((cols - 1).checked_mul(col_stride))
                .and_then(|(row, col)| row.checked_add(col))
                .is_some_and(|last| last < data.len());
        if !inside {
            let (shape, strides) = ([rows, cols], [row_stride, col_stride]);
            return Err(MatError::OutOfBounds {
                shape,
                strides,
                len: data.len(),
            });
        }
        Ok(Self {
            data,
            rows,
            cols,
            row_stride,
            col_stride,
        })
    }

    /// The transposed view.
    #[must_use]
    pub fn t(self) -> Self {
        Self {
            data: self.data,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Elements from one row to the next.
    pub fn row_stride(&self) -> usize {
        self.row_stride
    }

    /// Elements from one column to the next.
    pub fn col_stride(&self) -> usize {
        self.col_stride
    }

    /// The elements from (row, col) on, of which the view's strides reach some.
    #[inline]
    pub(crate) fn from(&self, row: usize, col: usize) -> &'a [T] {
        &self.data[row * self.row_stride + col * self.col_stride..]
    }
}

impl<'a, T: Element> MatRef<'a, T> {
    /// The view itself, if the type is its own accumulator.
    pub(crate) fn wide(self) -> Option<MatRef<'a, T::Acc>> {
        Some(MatRef {
            data: T::already_wide(self.data)?,
            rows: self.rows,
            cols: self.cols,
            row_stride: self.row_stride,
            col_stride: self.col_stride,
        })
    }
}

/// Operands that do not fit together, or a view that leaves its data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatError {
    /// A view reaches elements that its data does not have.
    #[error(
        "matmul: view of shape {shape:?} with strides {strides:?} leaves its data of {len} elements"
    )]
    OutOfBounds {
        /// Rows and columns.
        shape: [usize; 2],
        /// Row and column stride, in elements.
        strides: [usize; 2],
        /// Elements that there are.
        len: usize,
    },
    /// The columns of the left side are not as many as the rows of the right side.
    #[error(
        "matmul: inner sizes differ: lhs {lhs:?} has {}, rhs {rhs:?} has {}", .lhs[1], .rhs[0]
    )]
    InnerSizesDiffer {
        /// Rows and columns of the left side.
        lhs: [usize; 2],
        /// Rows and columns of the right side.
        rhs: [usize; 2],
    },
    /// A matrix of the batch has another shape than the first.
    #[error(
        "matmul: shapes differ within the batch: {side} 0 is {first:?}, {side} {index} is {shape:?}"
    )]
    BatchShapesDiffer {
        /// `lhs` or `rhs`.
        side: &'static str,
        /// Rows and columns of matrix 0.
        first: [usize; 2],
        /// Which matrix differs.
        index: usize,
        /// Its rows and columns.
        shape: [usize; 2],
    },
    /// The output holds another number of elements than the product.
    #[error(
        "matmul: output has {len} elements; the product of shape {shape:?} needs {}",
        shape_len(.shape)
    )]
    OutputLength {
        /// Batch, rows and columns of the product.
        shape: [usize; 3],
        /// Elements of the output.
        len: usize,
    },
}

fn shape_len(shape: &[usize; 3]) -> String {
    let len = shape
        .iter()
        .try_fold(1usize, |product, size| product.checked_mul(*size));
    len.map_or_else(
        || "more than memory holds".to_owned(),
        |len| len.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_inside_their_data_are_accepted() {
        let data = [0u8; 12];
        for (rows, cols, row_stride, col_stride) in [
            (3, 4, 4, 1),
            (4, 3, 1, 4),
            (12, 1, 1, 0),
            (7, 9, 0, 0),
            (0, 5, 99, 99),
            (5, 0, 99, 9),
        ] {
            let view = MatRef::new(&data, rows, cols, row_stride, col_stride);
            assert!(view.is_ok(), "{view:?}");
        }
        assert!(MatRef::<u8>::new(&[], 0, 0, 1, 1).is_ok());
    }

    #[test]
    fn views_that_leave_their_data_are_refused() {
        let data = [0u8; 12];
        for (rows, cols, row_stride, col_stride) in [
            (3, 5, 5, 1),
            (4, 4, 4, 1),
            (2, 1, 12, 1),
            (2, 2, usize::MAX, 1),
            (3, 1, usize::MAX, 1),
            (usize::MAX, usize::MAX, 1, 1),
        ] {
            let error = MatRef::new(&data, rows, cols, row_stride, col_stride).unwrap_err();
            assert!(
                matches!(error, MatError::OutOfBounds { len: 12, .. }),
                "{error}"
            );
        }
        assert!(MatRef::<u8>::new(&[], 1, 1, 0, 0).is_err());
    }

    #[test]
    fn transposing_swaps_shape_and_strides() {
        let view = MatRef::new(&[0; 12], 3, 4, 4, 1).unwrap().t();
        let shape = [
            view.rows(),
            view.cols(),
            view.row_stride(),
            view.col_stride(),
        ];
        assert_eq!(shape, [4, 3, 1, 4]);
    }
}
