//! [`matmul`], [`matmul_columns`]: check the operands and pick the algorithm for each size.

use tallow_simd::{Kernel, Simd, dispatch};
use tallow_threads::{DisjointMut, num_threads, parallel_for, with_num_threads};

use crate::columns::{Columns, Right};
use crate::direct::Direct;
use crate::element::{Element, GemmElement};
use crate::mat::{MatError, MatRef};
use crate::packed::{self, OutRows};
use crate::skinny::{MAX_VECTORS, OutLines, Skinny};

/// Fewest floating-point operations that are shared out: about 10 µs of one core, some ten times
/// what starting a region costs.
const PARALLEL_OPERATIONS: usize = 1 << 20;

/// Operations of a matrix up to which threads take whole matrices of a batch, rather than each
/// matrix in turn being shared out: about 0.3 ms of one core.
const SMALL_OPERATIONS: usize = 1 << 25;

/// One matrix of a batch, by its index.
type Batch<'f, 'a, T> = &'f (dyn Fn(usize) -> MatRef<'a, T> + Sync);

/// `out[b] = lhs(b) · rhs(b)` for each `b < batch`.
///
/// `lhs(b)` is `[m, k]`, `rhs(b)` is `[k, n]`, of the same shape for every `b` and any strides;
/// `out` is `[batch, m, n]`, row-major, and overwritten whatever it held (NaN included). An inner
/// size of 0 gives zeros. f16, bf16 and f8e4m3 are summed in f32 and rounded once. Runs on up to
/// [`num_threads`] threads, with the same bits for any number of them.
///
/// ```
/// use tallow_gemm::{MatRef, matmul};
/// let (a, b) = ([1.0f32, 2.0, 3.0, 4.0], [5.0, 6.0]);
/// let (a, b) = (MatRef::new(&a, 2, 2, 2, 1)?, MatRef::new(&b, 2, 1, 1, 1)?);
/// let mut out = [0.0; 2];
/// matmul(&mut out, 1, &|_| a, &|_| b)?;
/// assert_eq!(out, [17.0, 39.0]);
/// # Ok::<(), tallow_gemm::MatError>(())
/// ```
///
/// # Errors
/// When inner sizes differ, shapes differ within the batch, or `out` has not `batch · m · n`
/// elements.
pub fn matmul<'a, T: GemmElement>(
    out: &mut [T],
    batch: usize,
    lhs: &(dyn Fn(usize) -> MatRef<'a, T> + Sync),
    rhs: &(dyn Fn(usize) -> MatRef<'a, T> + Sync),
) -> Result<(), MatError> {
    if batch == 0 {
        return check_len(out.len(), [0, 0, 0]);
    }
    let (first_lhs, first_rhs) = (shape_of(lhs(0)), shape_of(rhs(0)));
    check_batch("lhs", batch, &|index| shape_of(lhs(index)))?;
    check_batch("rhs", batch, &|index| shape_of(rhs(index)))?;
    let right = |index: usize| Right::Stored(rhs(index));
    run(out, batch, lhs, &right, [first_lhs, first_rhs])
}

/// [`matmul`] with a right side that is not stored anywhere: [`Columns`] makes the panels that the
/// kernels read.
///
/// # Errors
/// As [`matmul`].
pub fn matmul_columns<'a, T: GemmElement>(
    out: &mut [T],
    batch: usize,
    lhs: &(dyn Fn(usize) -> MatRef<'a, T> + Sync),
    rhs: &'a dyn Columns<T::Acc>,
) -> Result<(), MatError> {
    if batch == 0 {
        return check_len(out.len(), [0, 0, 0]);
    }
    check_batch("lhs", batch, &|index| shape_of(lhs(index)))?;
    let shapes = [shape_of(lhs(0)), rhs.shape()];
    run(out, batch, lhs, &|index| Right::Made(rhs, index), shapes)
}

/// Checks that all matrices of one side have the shape of the first.
fn check_batch(
    side: &'static str,
    batch: usize,
    shape: &dyn Fn(usize) -> [usize; 2],
) -> Result<(), MatError> {
    let first = shape(0);
    let other = (1..batch)
        .map(|index| (index, shape(index)))
        .find(|(_, shape)| *shape != first);
    match other {
        None => Ok(()),
        Some((index, shape)) => Err(MatError::BatchShapesDiffer {
            side,
            first,
            index,
            shape,
        }),
    }
}

/// Multiplies a batch whose sides have one shape each.
fn run<'a, T: GemmElement>(
    out: &mut [T],
    batch: usize,
    lhs: Batch<'_, 'a, T>,
    rhs: &(dyn Fn(usize) -> Right<'a, T> + Sync),
    [lhs_shape, rhs_shape]: [[usize; 2]; 2],
) -> Result<(), MatError> {
    if lhs_shape[1] != rhs_shape[0] {
        return Err(MatError::InnerSizesDiffer {
            lhs: lhs_shape,
            rhs: rhs_shape,
        });
    }
    let ([rows, inner], [_, cols]) = (lhs_shape, rhs_shape);
    check_len(out.len(), [batch, rows, cols])?;
    if out.is_empty() {
        return Ok(());
    }
    if inner == 0 {
        out.fill(T::ZERO);
        return Ok(());
    }
    T::run(Matmul {
        out,
        batch,
        lhs,
        rhs,
        sizes: Sizes { rows, cols, inner },
    });
    Ok(())
}

/// The products of one element type. The kernels are compiled here, for each type that there is,
/// and not anew in every crate that calls them.
pub trait Products: Element {
    /// Runs a product at this processor's level.
    fn run(work: Matmul<'_, '_, Self>);
}

macro_rules! products {
    ($($type:ty),+) => {
        $(impl Products for $type {
            fn run(work: Matmul<'_, '_, Self>) {
                dispatch(work);
            }
        })+
    };
}
products!(f32, f64, half::f16, half::bf16, float8::F8E4M3);

fn shape_of<T>(matrix: MatRef<'_, T>) -> [usize; 2] {
    [matrix.rows(), matrix.cols()]
}

fn check_len(len: usize, shape: [usize; 3]) -> Result<(), MatError> {
    let expected = shape
        .iter()
        .try_fold(1usize, |product, size| product.checked_mul(*size));
    if expected == Some(len) {
        Ok(())
    } else {
        Err(MatError::OutputLength { shape, len })
    }
}

#[derive(Clone, Copy)]
struct Sizes {
    rows: usize,
    cols: usize,
    inner: usize,
}

impl Sizes {
    /// Floating-point operations of one matrix.
    fn operations(self) -> usize {
        [2, self.rows, self.cols, self.inner]
            .into_iter()
            .fold(1, usize::saturating_mul)
    }
}

/// A product whose operands have been checked.
#[allow(missing_debug_implementations)]
pub struct Matmul<'f, 'a, T: Element> {
    out: &'f mut [T],
    batch: usize,
    lhs: Batch<'f, 'a, T>,
    rhs: &'f (dyn Fn(usize) -> Right<'a, T> + Sync),
    sizes: Sizes,
}

impl<T: GemmElement> Kernel for Matmul<'_, '_, T> {
    type Output = ();

    fn run<S: Simd>(self, simd: S) {
        let Self {
            out,
            batch,
            lhs,
            rhs,
            sizes,
        } = self;
        let out = DisjointMut::new(out);
        let one = |index: usize| {
            let offset = index * sizes.rows * sizes.cols;
            match rhs(index) {
                Right::Stored(rhs) => multiply(simd, lhs(index), rhs, &out, offset),
                made => {
                    let row_stride = sizes.cols;
                    let place = OutRows { offset, row_stride };
                    packed::multiply(simd, lhs(index), made, &out, place);
                }
            }
        };
        let operations = sizes.operations();
        let all = || {
            if operations <= SMALL_OPERATIONS && batch >= num_threads() {
                // Enough matrices in a task to make handing it out worth while.
                let together = (PARALLEL_OPERATIONS / 4).div_ceil(operations).min(batch);
                parallel_for(batch.div_ceil(together), |task| {
                    let start = task * together;
                    (start..batch.min(start + together)).for_each(one);
                });
            } else {
                (0..batch).for_each(one);
            }
        };
        if operations.saturating_mul(batch) < PARALLEL_OPERATIONS {
            with_num_threads(1, all);
        } else {
            all();
        }
    }
}

/// One matrix: `out`, row-major from `offset` on, becomes `lhs · rhs`. No size is 0.
fn multiply<S: Simd, T: Element>(
    simd: S,
    lhs: MatRef<'_, T>,
    rhs: MatRef<'_, T>,
    out: &DisjointMut<'_, T>,
    offset: usize,
) {
    let cols = rhs.cols();
    let skinny = |vectors, matrix, vector_stride, line_stride| {
        let place = OutLines {
            offset,
            vector_stride,
            line_stride,
        };
        Skinny {
            simd,
            vectors,
            matrix,
            out,
            place,
        }
        .multiply();
    };
    if lhs.rows() <= MAX_VECTORS && lhs.rows() <= cols {
        skinny(lhs, rhs.t(), cols, 1);
    } else if cols <= MAX_VECTORS {
        skinny(rhs.t(), lhs, 1, cols);
    } else {
        let row_stride = cols;
        let place = OutRows { offset, row_stride };
        match Direct::new(lhs, rhs, out, place) {
            Some(direct) => direct.multiply(simd),
            None => packed::multiply(simd, lhs, Right::Stored(rhs), out, place),
        }
    }
}
