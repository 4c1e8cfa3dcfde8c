//! Products with one of several matrices for each row: `out[t, s] = x[t, s] · W[ids[t, s]]ᵀ`.
//!
//! Letters: t tokens, s slots (experts that a token goes to), k values in a row of x, n rows in a
//! matrix. Rows of x that go to the same matrix are gathered and multiplied at once.

use super::{experts_gpu, with_rows};
use crate::cpu::{CpuView, recycle};
use crate::gpu::{GpuStorage, GpuView};
use crate::op::{Gradients, Op, apply};
use crate::quantized::{QTensor, row_ids};
use crate::{CpuStorage, DType, Error, Result, Shape, Tensor, bail};
use smallvec::smallvec;

const NAME: &str = "indexed_moe_forward";

struct ExpertMatMul {
    /// `[experts, n, k]`
    weight: QTensor,
    /// `[tokens, slots]`
    ids: Vec<u32>,
    slots: usize,
}

impl Op for ExpertMatMul {
    fn name(&self) -> &'static str {
        NAME
    }

    fn infer(&self, inputs: &[&Tensor]) -> Result<(Shape, DType)> {
        let (x, (experts, n, k)) = (inputs[0], self.weight.shape().dims3()?);
        if x.dtype() != DType::F32 {
            return Err(Error::UnsupportedDTypeForOp(x.dtype(), NAME));
        }
        let tokens = self.ids.len().checked_div(self.slots);
        let slots = self.slots;
        match *x.dims() {
            [rows, inputs, inner]
                if tokens.is_none_or(|tokens| tokens == rows)
                    && (inputs == 1 || inputs == slots)
                    && inner == k =>
            {
                Ok((Shape::from((rows, slots, n)), DType::F32))
            }
            ref dims => bail!(
                "{NAME}: x {dims:?} does not fit ids [{}, {slots}] and weights [{experts}, {n}, \
                 {k}]; wants [tokens, 1 or {slots}, {k}]",
                tokens.unwrap_or(0)
            ),
        }
    }

    fn cpu(&self, inputs: &[CpuView<'_>], out: &mut CpuStorage) -> Result<()> {
        let out = out.as_mut_slice::<f32>()?;
        with_rows(inputs[0], |x| self.multiply(x, out))
    }

    fn gpu(&self, inputs: &[GpuView<'_>], out: &GpuStorage) -> Result<()> {
        experts_gpu::multiply(&self.weight, inputs[0], &self.ids, out)
    }

    /// Each row's is upstream times its matrix; an input that all slots share gets their sum.
    fn gradient(&self, inputs: &[&Tensor], _: &Tensor, upstream: &Tensor) -> Result<Gradients> {
        let (x, (_, n, k)) = (inputs[0], self.weight.shape().dims3()?);
        let (tokens, shared, _) = x.dims3()?;
        let ids = Tensor::from_slice(&self.ids, self.ids.len(), x.device())?;
        let matrices = self.weight.dequantize(x.device())?.index_select(&ids, 0)?;
        let rows = upstream
            .reshape((self.ids.len(), 1, n))?
            .matmul(&matrices)?;
        let rows = rows.reshape((tokens, self.slots, k))?;
        let gradient = match shared == self.slots {
            true => rows,
            false => rows.sum_keepdim(1)?,
        };
        Ok(smallvec![Some(gradient)])
    }
}

impl ExpertMatMul {
    fn multiply(&self, x: &[f32], out: &mut [f32]) -> Result<()> {
        let (experts, n, k) = self.weight.shape().dims3()?;
        // One input for all slots of a token, or one for each.
        let shared = x.len() < self.ids.len() * k;
        let input = |position: usize| match shared {
            true => position / self.slots,
            false => position,
        };
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_by_key(|&position| self.ids[position]);
        let expert_bytes = self.weight.blocks().len().checked_div(experts).unwrap_or(0);
        for group in order.chunk_by(|&a, &b| self.ids[a] == self.ids[b]) {
            let expert = self.ids[group[0]] as usize;
            let matrix = &self.weight.blocks()[expert * expert_bytes..][..expert_bytes];
            let mut rows = recycle::take::<f32>(group.len() * k);
            let mut products = recycle::take::<f32>(group.len() * n);
            for (at, &position) in group.iter().enumerate() {
                rows[at * k..][..k].copy_from_slice(&x[input(position) * k..][..k]);
            }
            let (dtype, m) = (self.weight.dtype(), group.len());
            tallow_quant::matmul(dtype, matrix, n, k, &rows, m, &mut products)?;
            for (at, &position) in group.iter().enumerate() {
                out[position * n..][..n].copy_from_slice(&products[at * n..][..n]);
            }
            recycle::give(rows);
            recycle::give(products);
        }
        Ok(())
    }
}

/// x `[tokens, 1 or slots, k]` of f32, W `[experts, n, k]` and ids `[tokens, slots]` give
/// `[tokens, slots, n]`.
pub(crate) fn qmatmul_of_experts(weight: &QTensor, x: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let (experts, slots) = (weight.shape().dims3()?.0, ids.dims2()?.1);
    let ids = row_ids(ids, NAME)?;
    if let Some(&id) = ids.iter().find(|&&id| id as usize >= experts) {
        return Err(Error::InvalidIndex {
            op: NAME,
            index: id as usize,
            size: experts,
        });
    }
    let weight = weight.share();
    let product = ExpertMatMul { weight, ids, slots };
    match x.device().is_cpu() {
        true => apply(product, &[x]),
        // Kernels take rows one behind the other.
        false => apply(product, &[&x.contiguous()?]),
    }
}
