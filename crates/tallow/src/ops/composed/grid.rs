//! Matrices of row and column numbers: `eye`, `tril2`, `triu2`, and `meshgrid`.

use crate::ops::{Family, OpInfo};
use crate::testing::{Array, Case, Draw, Input, Reference, Run, Tolerance, Values};
use crate::{DType, Device, Error, Result, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "grid",
    ops: &[
        OpInfo {
            name: "eye",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "tril2",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "triu2",
            dtypes: &DType::COMPUTE,
        },
        OpInfo {
            name: "meshgrid",
            dtypes: &DType::COMPUTE,
        },
    ],
    cases,
    draw,
};

/// 1 where a relation of row and column number holds, else 0.
fn related(
    n: usize,
    dtype: DType,
    device: &Device,
    relation: fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let Ok(end) = i64::try_from(n) else {
        crate::bail!("eye: {n} rows pass what memory can address");
    };
    let numbers = Tensor::arange(0, end, device)?;
    relation(&numbers.reshape((n, 1))?, &numbers.reshape((1, n))?)?.to_dtype(dtype)
}

impl Tensor {
    /// The identity matrix: 1 on the diagonal, else 0.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::eye(2, DType::F32, &Device::Cpu)?;
    /// assert_eq!(x.to_vec2::<f32>()?, [[1., 0.], [0., 1.]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn eye(n: usize, dtype: DType, device: &Device) -> Result<Self> {
        related(n, dtype, device, Tensor::broadcast_eq)
    }

    /// A square matrix with 1 on the diagonal and below, else 0.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::tril2(2, DType::U8, &Device::Cpu)?;
    /// assert_eq!(x.to_vec2::<u8>()?, [[1, 0], [1, 1]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn tril2(n: usize, dtype: DType, device: &Device) -> Result<Self> {
        related(n, dtype, device, Tensor::broadcast_ge)
    }

    /// A square matrix with 1 on the diagonal and above, else 0.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::triu2(2, DType::U8, &Device::Cpu)?;
    /// assert_eq!(x.to_vec2::<u8>()?, [[1, 1], [0, 1]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn triu2(n: usize, dtype: DType, device: &Device) -> Result<Self> {
        related(n, dtype, device, Tensor::broadcast_le)
    }

    /// For tensors of rank 1, the grid that they span: as many tensors, each with the coordinates
    /// of one. Dimension `i` follows tensor `i`; with `xy_indexing` the first two change places, as
    /// numpy does. Errors for fewer than two tensors.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1u8, 2, 3], &Device::Cpu)?;
    /// let y = Tensor::new(&[4u8, 5], &Device::Cpu)?;
    /// let grids = Tensor::meshgrid(&[x, y], true)?;
    /// assert_eq!(grids[0].to_vec2::<u8>()?, [[1, 2, 3], [1, 2, 3]]);
    /// assert_eq!(grids[1].to_vec2::<u8>()?, [[4, 4, 4], [5, 5, 5]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn meshgrid<A: AsRef<Tensor>>(args: &[A], xy_indexing: bool) -> Result<Vec<Self>> {
        if args.len() < 2 {
            return Err(Error::OpRequiresAtLeastTwoTensors { op: "meshgrid" });
        }
        let args: Vec<&Tensor> = args.iter().map(AsRef::as_ref).collect();
        let mut dims = args
            .iter()
            .map(|arg| arg.dims1())
            .collect::<Result<Vec<_>>>()?;
        let mut order: Vec<usize> = (0..args.len()).collect();
        if xy_indexing {
            dims.swap(0, 1);
            order.swap(0, 1);
        }
        let grid = |(arg, dim): (&&Tensor, usize)| {
            let mut own = vec![1; dims.len()];
            own[dim] = dims[dim];
            arg.reshape(own)?
                .broadcast_as(dims.as_slice())?
                .contiguous()
        };
        args.iter().zip(order).map(grid).collect()
    }
}

type Make = fn(usize, DType, &Device) -> Result<Tensor>;

type Relation = fn(usize, usize) -> bool;

const MATRICES: [(&str, Make, Relation); 3] = [
    ("eye", Tensor::eye, |row, column| row == column),
    ("tril2", Tensor::tril2, |row, column| row >= column),
    ("triu2", Tensor::triu2, |row, column| row <= column),
];

fn case(op: &'static str, dims: &[usize], run: Run, reference: Reference) -> Case {
    let input = |&size: &usize| Input::new(&[size], Values::Range(0.0, 100.0));
    Case {
        op,
        dtypes: &DType::COMPUTE,
        inputs: dims.iter().map(input).collect(),
        run,
        reference,
        tolerance: Tolerance::EXACT,
    }
}

/// The operand tells dtype and device.
fn matrix(kind: usize, n: usize) -> Case {
    let (op, make, relation) = MATRICES[kind];
    let run: Run = Box::new(move |inputs| make(n, inputs[0].dtype(), inputs[0].device()));
    let reference: Reference = Box::new(move |_| {
        Array::from_fn(&[n, n], |index| {
            f64::from(u8::from(relation(index[0], index[1])))
        })
    });
    case(op, &[n], run, reference)
}

fn grid(sizes: &[usize], xy: bool, which: usize) -> Case {
    let run: Run = Box::new(move |inputs| Ok(Tensor::meshgrid(inputs, xy)?.swap_remove(which)));
    let reference: Reference = Box::new(move |inputs: &[Array]| {
        let mut operands: Vec<usize> = (0..inputs.len()).collect();
        if xy {
            operands.swap(0, 1);
        }
        let dims: Vec<usize> = operands.iter().map(|&from| inputs[from].dims[0]).collect();
        Array::from_fn(&dims, |index| inputs[which].at(&[index[operands[which]]]))
    });
    case("meshgrid", sizes, run, reference)
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in 0..MATRICES.len() {
        cases.extend([0, 1, 5, 37].map(|n| matrix(kind, n)));
    }
    for xy in [false, true] {
        cases.extend([0, 1, 2].map(|which| grid(&[4, 3, 2], xy, which)));
    }
    cases
}

fn draw(draw: &mut Draw) -> Case {
    match draw.below(2) {
        0 => matrix(draw.below(MATRICES.len()), draw.size(0)),
        _ => {
            let sizes = draw.dims_of(2..=6, 0);
            let which = draw.number("which", 0, sizes.len() - 1);
            grid(&sizes, draw.flag("xy"), which)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_spans_no_grid_is_an_error() -> Result<()> {
        let cpu = &Device::Cpu;
        let x = Tensor::new(&[1f32], cpu)?;
        assert!(Tensor::meshgrid(&[&x], false).is_err());
        assert!(Tensor::meshgrid(&[&x, &x.reshape((1, 1))?], false).is_err());
        assert!(Tensor::eye(usize::MAX, DType::F32, cpu).is_err());
        assert!(Tensor::eye(2, DType::F4, cpu).is_err());
        Ok(())
    }
}
