//! A random view: values stored in any order of dimensions, as a window of more, with others in
//! between, or once for a whole dimension.

use super::{Array, Draw};
use crate::{D, DType, Result, Tensor};

/// How an operand lies in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The dimensions from the slowest to the fastest.
    order: Vec<usize>,
    /// Of each dimension, how many slices the buffer has in front of the window and behind.
    around: Vec<[usize; 2]>,
    /// Dimensions that show their first slice all along.
    repeated: Vec<bool>,
    /// Whether elements are two apart.
    apart: bool,
}

impl View {
    /// The view of a contiguous tensor.
    pub fn plain(rank: usize) -> Self {
        Self {
            order: (0..rank).collect(),
            around: vec![[0; 2]; rank],
            repeated: vec![false; rank],
            apart: false,
        }
    }

    /// Any view of a tensor of this rank; one in four is contiguous.
    pub fn draw(draw: &mut Draw, rank: usize) -> Self {
        let mut view = Self::plain(rank);
        if draw.below(4) == 0 {
            return view;
        }
        if draw.below(2) == 1 {
            let mut left = view.order.clone();
            view.order = (0..rank)
                .map(|_| left.remove(draw.below(left.len())))
                .collect();
        }
        for dim in 0..rank {
            if draw.rarely(3) {
                view.around[dim] = [draw.below(3), draw.below(3)];
            }
            view.repeated[dim] = draw.rarely(8);
        }
        view.apart = draw.rarely(8);
        view
    }

    /// The values that the operand will show.
    pub fn values(&self, array: Array) -> Array {
        if !self.repeated.contains(&true) {
            return array;
        }
        Array::from_fn(&array.dims, |index| {
            let pairs = index.iter().zip(&self.repeated);
            let shown = pairs.map(|(&at, &repeated)| if repeated { 0 } else { at });
            array.at(&shown.collect::<Vec<_>>())
        })
    }

    /// A tensor with this view that shows [`values`](Self::values) of the array, which are given.
    pub fn tensor(&self, shown: &Array, dtype: DType) -> Result<Tensor> {
        let rank = shown.dims.len();
        if *self == Self::plain(rank) {
            return shown.to_tensor(dtype);
        }
        let kept: Vec<usize> = (0..rank)
            .map(|dim| match self.repeated[dim] {
                true => shown.dims[dim].min(1),
                false => shown.dims[dim],
            })
            .collect();
        let mut stored: Vec<usize> = (self.order.iter())
            .map(|&dim| kept[dim] + self.around[dim].iter().sum::<usize>())
            .collect();
        if self.apart {
            stored.push(2);
        }
        let around = if dtype.is_float() { f64::NAN } else { 77.0 };
        let mut own = vec![0; rank];
        let buffer = Array::from_fn(&stored, |index| {
            let mut inside = !self.apart || index[rank] == 0;
            for (&at, &dim) in index.iter().zip(&self.order) {
                own[dim] = at.wrapping_sub(self.around[dim][0]);
                inside &= own[dim] < kept[dim];
            }
            if inside { shown.at(&own) } else { around }
        });
        let mut tensor = buffer.to_tensor(dtype)?;
        if self.apart {
            tensor = tensor.narrow(D::Minus1, 0, 1)?.squeeze(D::Minus1)?;
        }
        let mut places = vec![0; rank];
        (self.order.iter().enumerate()).for_each(|(place, &dim)| places[dim] = place);
        tensor = tensor.permute(places)?;
        for (dim, &len) in kept.iter().enumerate() {
            tensor = tensor.narrow(dim, self.around[dim][0], len)?;
        }
        tensor.broadcast_as(shown.dims.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_shows_its_values() -> Result<()> {
        for seed in 0..300 {
            let mut draw = Draw::new(seed);
            let dims = draw.dims();
            let view = View::draw(&mut draw, dims.len());
            let mut count = 0.0;
            let array = Array::from_fn(&dims, |_| {
                count += 1.0;
                count
            });
            let shown = view.values(array);
            let tensor = view.tensor(&shown, DType::F64)?;
            assert_eq!(Array::from_tensor(&tensor)?, shown, "{view:?}");
        }
        Ok(())
    }
}
