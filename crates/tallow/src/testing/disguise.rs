//! The same values in other clothes: layouts that an operation has to see through.

use super::Array;
use crate::{D, DType, Result, Tensor};

/// A layout for an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disguise {
    /// Row-major.
    Contiguous,
    /// Dimensions stored in reverse order.
    Transposed,
    /// A window of a larger buffer, with an offset; NaN (or 77) around it.
    Narrowed,
    /// The last dimension repeated with stride 0.
    BroadcastLast,
    /// The first dimension repeated with stride 0.
    BroadcastFirst,
    /// Elements two apart.
    Strided,
}

impl Disguise {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Contiguous,
        Self::Transposed,
        Self::Narrowed,
        Self::BroadcastLast,
        Self::BroadcastFirst,
        Self::Strided,
    ];

    /// The values that the operand will show: broadcasting repeats the first slice.
    pub fn values(self, array: &Array) -> Array {
        let rank = array.dims.len();
        let repeated = match self {
            Self::BroadcastLast if rank > 0 => rank - 1,
            Self::BroadcastFirst if rank > 0 => 0,
            _ => return array.clone(),
        };
        Array::from_fn(&array.dims, |index| {
            let mut index = index.to_vec();
            index[repeated] = 0;
            array.at(&index)
        })
    }

    /// A tensor of this layout that shows [`values`](Self::values) of the array.
    pub fn tensor(self, array: &Array, dtype: DType) -> Result<Tensor> {
        let (dims, rank) = (&array.dims, array.dims.len());
        match self {
            Self::Contiguous => array.to_tensor(dtype),
            Self::Transposed => {
                let reversed: Vec<usize> = dims.iter().rev().copied().collect();
                let stored = Array::from_fn(&reversed, |index| {
                    array.at(&index.iter().rev().copied().collect::<Vec<_>>())
                });
                stored
                    .to_tensor(dtype)?
                    .permute((0..rank).rev().collect::<Vec<_>>())
            }
            Self::Narrowed => {
                let around = if dtype.is_float() { f64::NAN } else { 77.0 };
                let padded: Vec<usize> = dims.iter().map(|size| size + 2).collect();
                let stored = Array::from_fn(&padded, |index| {
                    let inside = |(&at, &size): (&usize, &usize)| (1..=size).contains(&at);
                    match index.iter().zip(dims).all(inside) {
                        true => array.at(&index.iter().map(|at| at - 1).collect::<Vec<_>>()),
                        false => around,
                    }
                });
                let whole = stored.to_tensor(dtype)?;
                (0..rank).try_fold(whole, |view, dim| view.narrow(dim, 1, dims[dim]))
            }
            Self::BroadcastLast | Self::BroadcastFirst => {
                let repeated = if self == Self::BroadcastLast {
                    rank.saturating_sub(1)
                } else {
                    0
                };
                if rank == 0 || dims[repeated] == 0 {
                    return array.to_tensor(dtype);
                }
                array
                    .to_tensor(dtype)?
                    .narrow(repeated, 0, 1)?
                    .contiguous()?
                    .broadcast_as(dims.clone())
            }
            Self::Strided => {
                let doubled = [dims.as_slice(), &[2]].concat();
                // What lies between differs; adding 0 to -0 would lose its sign.
                let stored = Array::from_fn(&doubled, |index| match index[rank] {
                    0 => array.at(&index[..rank]),
                    _ => array.at(&index[..rank]) + 1.0,
                });
                stored
                    .to_tensor(dtype)?
                    .narrow(D::Minus1, 0, 1)?
                    .squeeze(D::Minus1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disguise_shows_its_values() -> Result<()> {
        let array = Array::from_fn(&[3, 4, 2], |index| {
            (index[0] * 8 + index[1] * 2 + index[2]) as f64
        });
        for disguise in Disguise::ALL {
            let tensor = disguise.tensor(&array, DType::F32)?;
            assert_eq!(
                Array::from_tensor(&tensor)?,
                disguise.values(&array),
                "{disguise:?}"
            );
            assert_eq!(
                tensor.is_contiguous(),
                disguise == Disguise::Contiguous,
                "{disguise:?}"
            );
        }
        Ok(())
    }
}
