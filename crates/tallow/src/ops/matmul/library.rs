//! Products by the driver's own library: a batch of matrices in one call, more dimensions of batch
//! in a loop of calls.
//!
//! Letters: m rows and n columns of the result, k the inner size.

use crate::gpu::{GpuStorage, GpuView, span};
use crate::{DType, Layout, Result};
use tallow_gpu::strided::{self, Dims, Strides};
use tallow_gpu::{MatrixLayout, MatrixPlace, Number, Product};

/// Multiplications from which the library is asked: its calls part the kept graphs, in which small
/// products cost the least.
const WORK_MIN: usize = 1 << 18;
/// Calls for one operation at most; beyond, the portable kernel does it in one launch.
const CALLS_MAX: usize = 64;

/// A product, and the calls that it takes.
struct Plan {
    product: Product,
    /// Sizes of the batch, of which the product has the first.
    dims: Dims,
    /// Strides over the batch: lhs's and rhs's.
    strides: [Strides; 2],
}

/// Lets the library multiply; false if there is none, or it cannot with these strides.
pub(super) fn multiply(lhs: GpuView<'_>, rhs: GpuView<'_>, out: &GpuStorage) -> Result<bool> {
    let Some(plan) = Plan::new(lhs.dtype(), lhs.layout(), rhs.layout()) else {
        return Ok(false);
    };
    let (product, bytes) = (&plan.product, plan.product.number.bytes());
    let ([(left, left_range), (right, right_range)], (whole, whole_range)) =
        ([lhs, rhs].map(span), out.whole());
    let out_bytes = product.batch * product.m * product.n * bytes;
    for call in 0..plan.calls() {
        let [from_left, from_right] = plan.starts(call).map(|start| start * bytes);
        let operands = [
            (left, left_range.start + from_left..left_range.end),
            (right, right_range.start + from_right..right_range.end),
        ];
        let from = whole_range.start + call * out_bytes;
        let target = (whole, from..from + out_bytes);
        // The first call says whether there is a library for all of them.
        if !out.device().multiply(product, operands, target)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Plan {
    fn new(dtype: DType, lhs: &Layout, rhs: &Layout) -> Option<Self> {
        let number = match dtype {
            DType::F32 => Number::F32,
            DType::F16 => Number::F16,
            DType::BF16 => Number::BF16,
            _ => return None,
        };
        let rank = lhs.dims().len().checked_sub(2)?;
        let (batch, sizes) = lhs.dims().split_at(rank);
        let (mut m, k, n) = (sizes[0], sizes[1], rhs.dims()[rank + 1]);
        let work = batch
            .iter()
            .chain([&m, &k, &n])
            .try_fold(1usize, |work, size| work.checked_mul(*size))?;
        let [left, right] = [lhs, rhs].map(|layout| layout.stride().split_at(rank));
        let (mut dims, mut strides) = strided::merge(batch, [left.0, right.0])?;
        // Matrices that meet one rhs, and lie one behind the other, are one with more rows.
        let joined = m * left.1[0];
        if dims.rank > 0 && strides[1][0] == 0 && strides[0][0] == joined as u64 {
            m *= dims.size[0] as usize;
            dims.size[0] = 1;
        }
        if dims.rank == 0 {
            dims.size[0] = 1;
            strides = [[0; strided::DIMS_MAX]; 2];
        }
        let layout = |start, sizes, own: &[usize], over: &Strides| {
            // What every call's start is a multiple of, as far as a power of two goes.
            let outer = over.iter().take(dims.rank as usize).skip(1);
            let multiple = outer.fold(start, |all, at| all | *at as usize);
            let place = MatrixPlace {
                sizes,
                strides: [own[0], own[1]],
                batch: over[0] as usize,
                offset: multiple,
            };
            MatrixLayout::new(place, number)
        };
        let product = Product {
            number,
            batch: dims.size[0] as usize,
            m,
            n,
            k,
            lhs: layout(lhs.start_offset(), [m, k], left.1, &strides[0])?,
            rhs: layout(rhs.start_offset(), [k, n], right.1, &strides[1])?,
        };
        let plan = Self {
            product,
            dims,
            strides,
        };
        let calls = plan.calls();
        (work / calls.max(1) >= WORK_MIN && calls <= CALLS_MAX).then_some(plan)
    }

    /// Sizes of the batch that are left to the loop.
    fn outer(&self) -> impl Iterator<Item = (usize, usize)> {
        let sizes = self.dims.size.iter().take(self.dims.rank as usize);
        sizes
            .enumerate()
            .skip(1)
            .map(|(at, size)| (at, *size as usize))
    }

    fn calls(&self) -> usize {
        self.outer().map(|(_, size)| size).product()
    }

    /// Where the operands of a call start, in elements from those of the first.
    fn starts(&self, call: usize) -> [usize; 2] {
        let (mut rest, mut starts) = (call, [0; 2]);
        for (at, size) in self.outer() {
            for (start, strides) in starts.iter_mut().zip(&self.strides) {
                *start += rest % size * strides[at] as usize;
            }
            rest /= size;
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Tensor};

    /// Where element `[row, column]` of a matrix lies, from the matrix's start.
    fn place(matrix: MatrixLayout, row: usize, column: usize) -> usize {
        match matrix.turned {
            true => row + column * matrix.pitch,
            false => row * matrix.pitch + column,
        }
    }

    /// The product as a library does it that keeps to the plan.
    fn by_plan(lhs: &Tensor, rhs: &Tensor) -> Result<Option<Vec<f32>>> {
        let Some(plan) = Plan::new(lhs.dtype(), lhs.layout(), rhs.layout()) else {
            return Ok(None);
        };
        // What the buffers hold: the tensors here are views of whole ranges of numbers.
        let number = |at: usize| (at % 13) as f32 - 6.0;
        let (product, mut out) = (plan.product, Vec::new());
        for call in 0..plan.calls() {
            let [left, right] = plan.starts(call);
            let left = left + lhs.layout().start_offset();
            let right = right + rhs.layout().start_offset();
            for batch in 0..product.batch {
                let left = left + batch * product.lhs.batch;
                let right = right + batch * product.rhs.batch;
                assert_eq!(left * 4 % product.lhs.alignment as usize, 0);
                for cell in 0..product.m * product.n {
                    let (row, column) = (cell / product.n, cell % product.n);
                    let term = |k| {
                        number(left + place(product.lhs, row, k))
                            * number(right + place(product.rhs, k, column))
                    };
                    out.push((0..product.k).map(term).sum());
                }
            }
        }
        Ok(Some(out))
    }

    /// A tensor over the numbers that `by_plan` knows.
    fn counted(dims: &[usize]) -> Result<Tensor> {
        let count = dims.iter().product::<usize>();
        let numbers: Vec<f32> = (0..count).map(|at| (at % 13) as f32 - 6.0).collect();
        Tensor::from_vec(numbers, dims, &Device::Cpu)
    }

    #[test]
    fn plans_give_the_product_for_every_kind_of_batch() -> Result<()> {
        let (x, w) = (counted(&[64, 65])?, counted(&[66, 70])?);
        let batches = counted(&[2, 3, 64, 66])?;
        let turned = batches.transpose(0, 1)?;
        let pairs = [
            (
                x.clone(),
                w.narrow(0, 0, 65)?.contiguous()?,
                1,
                "a matrix by a matrix",
            ),
            (x.t()?, x.clone(), 1, "a turned lhs"),
            (x.clone(), x.t()?, 1, "a turned rhs"),
            (x.narrow(1, 3, 60)?, w.narrow(0, 2, 60)?, 1, "parts of both"),
            (
                batches.clone(),
                w.broadcast_as((2, 3, 66, 70))?,
                1,
                "one rhs for all rows",
            ),
            (batches.clone(), batches.transpose(2, 3)?, 1, "a batch"),
            (
                turned.clone(),
                turned.transpose(2, 3)?,
                3,
                "a batch that does not merge",
            ),
            (
                turned,
                w.broadcast_as((3, 2, 66, 70))?,
                3,
                "one rhs for rows apart",
            ),
        ];
        for (lhs, rhs, calls, what) in pairs {
            let plan = Plan::new(lhs.dtype(), lhs.layout(), rhs.layout());
            assert_eq!(plan.map(|plan| plan.calls()), Some(calls), "{what}");
            let got = by_plan(&lhs, &rhs)?.expect("there is a plan");
            assert_eq!(
                got,
                lhs.matmul(&rhs)?.flatten_all()?.to_vec1::<f32>()?,
                "{what}"
            );
        }
        Ok(())
    }

    #[test]
    fn what_a_library_cannot_do_has_no_plan() -> Result<()> {
        let x = counted(&[64, 130])?;
        let w = counted(&[130, 64])?;
        let plan = |lhs: &Tensor, rhs: &Tensor| Plan::new(lhs.dtype(), lhs.layout(), rhs.layout());
        assert!(plan(&x, &w).is_some());
        let column = counted(&[130, 1])?.broadcast_as((130, 64))?;
        assert!(plan(&x, &column).is_none(), "columns that are one");
        assert!(plan(&x.narrow(0, 0, 2)?, &w).is_none(), "too little work");
        let (x, w) = (x.to_dtype(DType::F64)?, w.to_dtype(DType::F64)?);
        assert!(plan(&x, &w).is_none(), "numbers that it is not asked for");
        Ok(())
    }
}
