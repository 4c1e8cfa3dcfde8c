//! Repeating a tensor along its dimensions.

use crate::ops::{Family, OpInfo};
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Result, Shape, Tensor};

/// The entry in [`ALL`](crate::ops::ALL).
pub const FAMILY: Family = Family {
    name: "repeat",
    ops: &[OpInfo {
        name: "repeat",
        dtypes: &DType::COMPUTE,
    }],
    cases,
    draw,
};

impl Tensor {
    /// This tensor, as many times along each dimension as the shape says. A shape of more
    /// dimensions adds some in front; dimensions that it does not reach stay as they are.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[1u8, 2], &Device::Cpu)?;
    /// assert_eq!(x.repeat((2, 2))?.to_vec2::<u8>()?, [[1, 2, 1, 2], [1, 2, 1, 2]]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn repeat<S: Into<Shape>>(&self, shape: S) -> Result<Self> {
        let mut repeats = shape.into().into_dims();
        let added = repeats.len().saturating_sub(self.rank());
        let dims = [&vec![1; added], self.dims()].concat();
        repeats.resize(dims.len(), 1);
        // Each dim gets one of the repeats in front, a view of stride 0; one copy then lays them
        // out.
        let pairs = || repeats.iter().zip(&dims);
        let apart: Vec<usize> = dims.iter().flat_map(|&size| [1, size]).collect();
        let shown: Vec<usize> = pairs().flat_map(|(&times, &size)| [times, size]).collect();
        let sizes = pairs()
            .map(|(times, size)| times.checked_mul(*size))
            .collect::<Option<Vec<_>>>();
        let Some(sizes) = sizes else {
            crate::bail!("repeat: {repeats:?} times shape {dims:?} passes what memory can address");
        };
        Shape::from(sizes.as_slice()).checked_elem_count()?;
        self.reshape(apart)?.broadcast_as(shown)?.reshape(sizes)
    }
}

fn case(dims: &[usize], repeats: &[usize]) -> Case {
    let (times, own) = (repeats.to_vec(), repeats.to_vec());
    Case {
        op: "repeat",
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| inputs[0].repeat(own.as_slice())),
        reference: Box::new(move |inputs: &[Array]| {
            let dims = &inputs[0].dims;
            let rank = dims.len().max(times.len());
            let added = rank - dims.len();
            let size = |dim: usize| if dim < added { 1 } else { dims[dim - added] };
            let times = |dim: usize| times.get(dim).copied().unwrap_or(1);
            let sizes: Vec<usize> = (0..rank).map(|dim| size(dim) * times(dim)).collect();
            Array::from_fn(&sizes, |index| {
                let own: Vec<usize> = (added..rank).map(|dim| index[dim] % size(dim)).collect();
                inputs[0].at(&own)
            })
        }),
        tolerance: Tolerance::EXACT,
    }
}

fn cases() -> Vec<Case> {
    let shapes: [(&[usize], &[usize]); 7] = [
        (&[3], &[2]),
        (&[2, 3], &[3, 2]),
        (&[2, 3], &[2]),
        (&[3], &[2, 1, 2]),
        (&[2, 3], &[0, 1]),
        (&[], &[4]),
        (&[1, 2, 1, 2, 1, 2, 1, 2, 1], &[2, 1, 1, 1, 3, 1, 1, 2, 1]),
    ];
    shapes.map(|(dims, repeats)| case(dims, repeats)).into()
}

fn draw(draw: &mut Draw) -> Case {
    let dims = draw.dims();
    let mut large = 0;
    let repeats: Vec<usize> = (0..draw.below(10))
        .map(|_| {
            let times = draw.pick("times", &[1, 1, 2, 3, 0]);
            large += usize::from(times > 1);
            // The elements grow at most 27-fold.
            if large > 3 { 1 } else { times }
        })
        .collect();
    case(&dims, &repeats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn a_size_past_memory_is_an_error() -> Result<()> {
        let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?;
        assert!(x.repeat(usize::MAX).is_err() && x.repeat((1 << 40, 1 << 40)).is_err());
        Ok(())
    }
}
