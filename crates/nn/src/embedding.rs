//! A table of vectors, looked up by id.

use crate::{Init, VarBuilder};
use tallow::{Module, Result, Tensor};

/// A table `[count, hidden_size]`; ids of any shape give their rows.
#[derive(Clone, Debug)]
pub struct Embedding {
    embeddings: Tensor,
    hidden_size: usize,
}

impl Embedding {
    /// A layer of a table `[count, hidden_size]`.
    pub fn new(embeddings: Tensor, hidden_size: usize) -> Self {
        Self {
            embeddings,
            hidden_size,
        }
    }

    /// The table.
    pub fn embeddings(&self) -> &Tensor {
        &self.embeddings
    }

    /// The length of a row.
    pub fn hidden_size(&self) -> usize {
        self.hidden_size
    }
}

impl Module for Embedding {
    /// Ids `[…]` of an integer dtype give `[…, hidden_size]`. Errors if the table has no such row.
    fn forward(&self, indexes: &Tensor) -> Result<Tensor> {
        let rows = self.embeddings.index_select(&indexes.flatten_all()?, 0)?;
        rows.reshape([indexes.dims(), &[self.hidden_size]].concat())
    }
}

/// A table of `in_size` rows of `out_size`, from `weight` of the builder; a new one is drawn from
/// the standard normal distribution.
///
/// ```
/// use tallow::{DType, Device, Tensor};
/// use tallow_nn::{Module, VarBuilder, embedding};
/// let layer = embedding(10, 4, VarBuilder::zeros(DType::F32, &Device::Cpu))?;
/// let ids = Tensor::new(&[[1u32, 9, 3]], &Device::Cpu)?;
/// assert_eq!(layer.forward(&ids)?.dims(), [1, 3, 4]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn embedding(in_size: usize, out_size: usize, vb: VarBuilder<'_>) -> Result<Embedding> {
    let normal = Init::Randn {
        mean: 0.,
        stdev: 1.,
    };
    let embeddings = vb.get_with_hints((in_size, out_size), "weight", normal)?;
    Ok(Embedding::new(embeddings, out_size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers};
    use tallow::{DType, Device};

    #[test]
    fn ids_of_any_shape_give_rows() -> Result<()> {
        let table = Tensor::new(&[[0f32, 1.], [2., 3.], [4., 5.]], &Device::Cpu)?;
        let layer = Embedding::new(table, 2);
        let ids = Tensor::new(&[[2u32, 0], [1, 2]], &Device::Cpu)?;
        let want = [4., 5., 0., 1., 2., 3., 4., 5.];
        assert_near(&layer.forward(&ids)?, &[2, 2, 2], &want, 0.0);
        let turned = [4., 5., 2., 3., 0., 1., 4., 5.];
        assert_near(&layer.forward(&ids.t()?)?, &[2, 2, 2], &turned, 0.0);
        assert_near(
            &layer.forward(&Tensor::new(1u8, &Device::Cpu)?)?,
            &[2],
            &[2., 3.],
            0.0,
        );
        let none = Tensor::zeros((0, 3), DType::U32, &Device::Cpu)?;
        assert_eq!(layer.forward(&none)?.dims(), [0, 3, 2]);
        assert!(layer.forward(&Tensor::new(&[3u32], &Device::Cpu)?).is_err());
        assert!(layer.forward(&Tensor::new(&[1f32], &Device::Cpu)?).is_err());
        Ok(())
    }

    #[test]
    fn gradients_of_repeated_rows_add_up() -> Result<()> {
        let ids = Tensor::new(&[[2u32, 0], [2, 2]], &Device::Cpu)?;
        check_gradients(&[numbers(&[3, 2], DType::F64)?], |x| {
            Embedding::new(x[0].clone(), 2).forward(&ids)
        })
    }
}
