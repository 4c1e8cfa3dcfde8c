//! A plain row-major array of f64: what references compute with.

use crate::{DType, Device, Result, Shape, Tensor, WithDType};

/// Sizes and row-major elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The sizes.
    pub dims: Vec<usize>,
    /// The elements, in row-major order.
    pub data: Vec<f64>,
}

impl Array {
    /// An array whose element at an index is `f(index)`.
    pub fn from_fn(dims: &[usize], mut f: impl FnMut(&[usize]) -> f64) -> Self {
        let count = dims.iter().product();
        let mut index = vec![0; dims.len()];
        let mut data = Vec::with_capacity(count);
        for _ in 0..count {
            data.push(f(&index));
            for dim in (0..dims.len()).rev() {
                index[dim] += 1;
                if index[dim] < dims[dim] {
                    break;
                }
                index[dim] = 0;
            }
        }
        Self {
            dims: dims.to_vec(),
            data,
        }
    }

    /// The element at an index.
    pub fn at(&self, index: &[usize]) -> f64 {
        assert_eq!(index.len(), self.dims.len(), "an index of the array's rank");
        self.data[index
            .iter()
            .zip(&self.dims)
            .fold(0, |at, (index, size)| at * size + index)]
    }

    /// The element that an index of a broadcast result shows: sizes are aligned at the end, and
    /// sizes of 1 repeat.
    pub fn at_broadcast(&self, index: &[usize]) -> f64 {
        let added = index.len() - self.dims.len();
        let own: Vec<usize> = index[added..]
            .iter()
            .zip(&self.dims)
            .map(|(&at, &size)| if size == 1 { 0 } else { at })
            .collect();
        self.at(&own)
    }

    /// Each pair of elements mapped; sizes of 1 repeat.
    pub fn zip_broadcast(&self, rhs: &Self, f: impl Fn(f64, f64) -> f64) -> Self {
        if self.dims == rhs.dims {
            let pairs = self.data.iter().zip(&rhs.data);
            let data = pairs.map(|(&a, &b)| f(a, b)).collect();
            return Self {
                dims: self.dims.clone(),
                data,
            };
        }
        let rank = self.dims.len().max(rhs.dims.len());
        let size = |array: &Self, dim: usize| {
            (dim + array.dims.len())
                .checked_sub(rank)
                .map_or(1, |dim| array.dims[dim])
        };
        let dims: Vec<usize> = (0..rank)
            .map(|dim| {
                if size(self, dim) == 1 {
                    size(rhs, dim)
                } else {
                    size(self, dim)
                }
            })
            .collect();
        Self::from_fn(&dims, |index| {
            f(self.at_broadcast(index), rhs.at_broadcast(index))
        })
    }

    /// Each element mapped.
    pub fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        Self {
            dims: self.dims.clone(),
            data: self.data.iter().map(|&value| f(value)).collect(),
        }
    }

    /// The elements as a dtype holds them.
    pub fn rounded(&self, dtype: DType) -> Self {
        self.map(|value| round_to(value, dtype))
    }

    /// A contiguous tensor of these elements.
    pub fn to_tensor(&self, dtype: DType) -> Result<Tensor> {
        crate::with_dtype!(dtype, "to_tensor", T in all => {
            let data = self.data.iter().map(|&value| <T as WithDType>::from_f64(value));
            let data: Vec<T> = data.collect();
            Tensor::from_vec(data, self.dims.clone(), &Device::Cpu)
        })
    }

    /// The elements of a tensor.
    pub fn from_tensor(tensor: &Tensor) -> Result<Self> {
        let flat = tensor.flatten_all()?;
        let data = crate::with_dtype!(tensor.dtype(), "from_tensor", T in all => {
            Ok::<_, crate::Error>(flat.to_vec1::<T>()?.into_iter().map(WithDType::to_f64).collect())
        })?;
        Ok(Self {
            dims: tensor.dims().to_vec(),
            data,
        })
    }

    /// The shape.
    pub fn shape(&self) -> Shape {
        Shape::from(self.dims.as_slice())
    }
}

/// The sum, compensated (Neumaier 1974): many numbers, above all equal ones, would cost a plain f64
/// sum its last digits.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for value in values {
        let next = sum + value;
        let larger = sum.abs() >= value.abs();
        lost += if larger {
            (sum - next) + value
        } else {
            (value - next) + sum
        };
        sum = next;
    }
    // An infinite sum leaves nothing that would make sense.
    if sum.is_finite() { sum + lost } else { sum }
}

/// The nearest value that the dtype holds. Dtypes that only store are left alone.
pub(super) fn round_to(value: f64, dtype: DType) -> f64 {
    crate::with_dtype!(dtype, "round_to", T in all => {
        Ok::<_, crate::Error>(WithDType::to_f64(<T as WithDType>::from_f64(value)))
    })
    .unwrap_or(value)
}
