//! Matrices of row and column numbers: `eye`, `tril2`, `triu2`, and `meshgrid`.

use crate::ops::{Family, OpInfo};
use crate::testing::{Array, Case, Input, Tolerance, Values};
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

fn cases() -> Vec<Case> {
    type Relation = fn(usize, usize) -> bool;
    type Make = fn(usize, DType, &Device) -> Result<Tensor>;
    let matrices: [(&str, Make, Relation); 3] = [
        ("eye", Tensor::eye, |row, column| row == column),
        ("tril2", Tensor::tril2, |row, column| row >= column),
        ("triu2", Tensor::triu2, |row, column| row <= column),
    ];
    let mut cases = Vec::new();
    let mut push = |op, dims: &[&[usize]], run, reference| {
        let inputs = dims
            .iter()
            .map(|dims| Input::new(dims, Values::Range(0.0, 100.0)))
            .collect();
        let (dtypes, tolerance) = (&DType::COMPUTE, Tolerance::EXACT);
        cases.push(Case {
            op,
            dtypes,
            inputs,
            run,
            reference,
            tolerance,
        });
    };
    for (op, make, relation) in matrices {
        // The operand tells size, dtype and device.
        for n in [0, 1, 5, 37] {
            push(
                op,
                &[&[n]],
                Box::new(move |inputs| make(n, inputs[0].dtype(), inputs[0].device())),
                Box::new(move |_| {
                    Array::from_fn(&[n, n], |index| {
                        f64::from(u8::from(relation(index[0], index[1])))
                    })
                }),
            );
        }
    }
    for (xy, swapped) in [(false, [0, 1, 2]), (true, [1, 0, 2])] {
        for which in 0..3 {
            push(
                "meshgrid",
                &[&[4], &[3], &[2]],
                Box::new(move |inputs| Ok(Tensor::meshgrid(inputs, xy)?.swap_remove(which))),
                Box::new(move |inputs: &[Array]| {
                    let dims = swapped.map(|from: usize| inputs[from].dims[0]);
                    Array::from_fn(&dims, |index| inputs[which].at(&[index[swapped[which]]]))
                }),
            );
        }
    }
    cases
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
