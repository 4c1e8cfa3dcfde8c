//! Products with the weights of experts, of which each token goes through some.
//!
//! A pair is a token and one of its experts: pair `t · topk + i` is the i-th expert of token t.
//! `sorted_token_ids` lists the pairs in the order of their experts, and `experts_ids` the expert
//! of each in that order; both are `[pairs]`, of an integer dtype. Row p of the result belongs to
//! pair p.
//!
//! Without `topk_weights` the input has a row for each token, which all its pairs share. With them,
//! `[pairs]` in any shape, it has a row for each pair, and the result is multiplied by the pair's
//! weight.

use tallow::quantized::QTensor;
use tallow::{DType, Device, Result, Tensor, bail};

/// `out[p] = W[expert of p] · input[row of p]`, times the pair's weight if there are weights. Input
/// `[rows, k]`, weights `[experts, n, k]`; the result is `[pairs, n]`, of the input's dtype.
///
/// ```
/// use tallow::{Device, Tensor};
/// use tallow_nn::moe::moe_gemm;
/// let cpu = &Device::Cpu;
/// // One token, two experts of which it takes the second and the first.
/// let (input, weights) = (Tensor::new(&[[3f32]], cpu)?, Tensor::new(&[[[1f32]], [[10.]]], cpu)?);
/// let (pairs, experts) = (Tensor::new(&[1u32, 0], cpu)?, Tensor::new(&[0u32, 1], cpu)?);
/// let y = moe_gemm(&input, &weights, &None, &pairs, &experts, 2, false)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[30.], [3.]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn moe_gemm(
    input: &Tensor,
    weights: &Tensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
) -> Result<Tensor> {
    let (experts, rows, columns) = weights.dims3()?;
    let routes = Routes::new(
        [experts, topk],
        [sorted_token_ids, experts_ids],
        topk_weights,
    )?;
    let sizes = [rows, columns];
    routes.multiply(input, sizes, topk_weights, |expert| {
        weights.get(expert)?.t()
    })
}

/// [`moe_gemm`] with weights of GGUF blocks, `[experts, n, k]`. The result is f32, and so is the
/// input that is multiplied, whatever `dtype` says. Errors unless every token has `topk` pairs.
#[allow(clippy::too_many_arguments)] // the interface's
pub fn moe_gemm_gguf(
    input: &Tensor,
    weights: &QTensor,
    topk_weights: &Option<Tensor>,
    sorted_token_ids: &Tensor,
    experts_ids: &Tensor,
    topk: usize,
    _is_prefill: bool,
    _dtype: DType,
) -> Result<Tensor> {
    let (experts, rows, columns) = weights.shape().dims3()?;
    let routes = Routes::new(
        [experts, topk],
        [sorted_token_ids, experts_ids],
        topk_weights,
    )?;
    let inputs = routes.check(input, [rows, columns])?;
    if !routes.count.is_multiple_of(topk) {
        bail!(
            "moe_gemm_gguf: {} pairs, topk {topk}; wants a multiple",
            routes.count
        );
    }
    let tokens = routes.count / topk;
    let used = input.narrow(0, 0, routes.count.div_ceil(routes.sharers).min(inputs))?;
    let x = used
        .to_dtype(DType::F32)?
        .reshape((tokens, topk / routes.sharers, columns))?;
    let owners = Tensor::from_vec(routes.owners(), (tokens, topk), input.device())?;
    let out = weights
        .indexed_moe_forward(&x, &owners)?
        .reshape((routes.count, rows))?;
    routes.scaled(out, topk_weights)
}

/// Which pairs each expert has.
struct Routes {
    /// The pairs of each expert, in the order in which they were given.
    pairs: Vec<Vec<usize>>,
    count: usize,
    /// How many pairs share a row of the input.
    sharers: usize,
}

impl Routes {
    fn new(
        [experts, topk]: [usize; 2],
        [sorted, experts_ids]: [&Tensor; 2],
        topk_weights: &Option<Tensor>,
    ) -> Result<Self> {
        let (sorted, owners) = (
            ids("sorted_token_ids", sorted)?,
            ids("experts_ids", experts_ids)?,
        );
        let count = sorted.len();
        if owners.len() != count || topk == 0 {
            bail!(
                "moe_gemm: {count} pairs, {} experts, topk {topk}; wants as many",
                owners.len()
            );
        }
        let mut pairs = vec![Vec::new(); experts];
        let mut taken = vec![false; count];
        for (&pair, &expert) in sorted.iter().zip(&owners) {
            if expert >= experts || pair >= count || std::mem::replace(&mut taken[pair], true) {
                bail!(
                    "moe_gemm: pair {pair} of {count}, expert {expert} of {experts}; wants each \
                     pair once, and experts that there are"
                );
            }
            pairs[expert].push(pair);
        }
        let sharers = if topk_weights.is_some() { 1 } else { topk };
        Ok(Self {
            pairs,
            count,
            sharers,
        })
    }

    /// Multiplies the rows of each expert at once; `weight` gives its matrix `[k, n]`.
    fn multiply(
        &self,
        input: &Tensor,
        [rows, columns]: [usize; 2],
        topk_weights: &Option<Tensor>,
        weight: impl Fn(usize) -> Result<Tensor>,
    ) -> Result<Tensor> {
        self.check(input, [rows, columns])?;
        let device = input.device();
        let (mut outputs, mut places) = (Vec::new(), vec![0; self.count]);
        let mut done = 0;
        for (expert, pairs) in self
            .pairs
            .iter()
            .enumerate()
            .filter(|(_, pairs)| !pairs.is_empty())
        {
            let sources = pairs.iter().map(|pair| pair / self.sharers);
            let own = input.index_select(&indexes(sources, device)?, 0)?;
            outputs.push(own.matmul(&weight(expert)?)?);
            for &pair in pairs {
                places[pair] = done;
                done += 1;
            }
        }
        if outputs.is_empty() {
            return Tensor::zeros((0, rows), input.dtype(), device);
        }
        let sorted = Tensor::cat(&outputs, 0)?;
        let out = sorted.index_select(&indexes(places.into_iter(), device)?, 0)?;
        self.scaled(out, topk_weights)
    }

    /// The number of rows of the input. Errors if there are too few for the pairs, or their size is
    /// not that of the experts, `[rows, columns]`.
    fn check(&self, input: &Tensor, [rows, columns]: [usize; 2]) -> Result<usize> {
        let (inputs, size) = input.dims2()?;
        if size != columns || self.count > inputs.saturating_mul(self.sharers) {
            bail!(
                "moe_gemm: input {:?}, experts [{rows}, {columns}], {} pairs, {} to a row",
                input.shape(),
                self.count,
                self.sharers
            );
        }
        Ok(inputs)
    }

    /// The expert of each pair.
    fn owners(&self) -> Vec<u32> {
        let mut owners = vec![0; self.count];
        for (expert, pairs) in (0..).zip(&self.pairs) {
            pairs.iter().for_each(|&pair| owners[pair] = expert);
        }
        owners
    }

    /// Rows of pairs, times the pairs' weights.
    fn scaled(&self, out: Tensor, topk_weights: &Option<Tensor>) -> Result<Tensor> {
        match topk_weights {
            Some(weights) => {
                let weights = weights.to_dtype(out.dtype())?.reshape((self.count, 1))?;
                out.broadcast_mul(&weights)
            }
            None => Ok(out),
        }
    }
}

fn indexes(places: impl Iterator<Item = usize>, device: &Device) -> Result<Tensor> {
    // Counts of rows in memory are below 2⁶³.
    Tensor::from_iter(places.map(|place| place as i64), device)
}

fn ids(name: &str, ids: &Tensor) -> Result<Vec<usize>> {
    if !ids.dtype().is_int() {
        bail!(
            "moe_gemm: {name} is {}; wants an integer dtype",
            ids.dtype()
        );
    }
    let ids = ids.flatten_all()?.to_dtype(DType::I64)?.to_vec1::<i64>()?;
    let own = |&id: &i64| match usize::try_from(id) {
        Ok(id) => Ok(id),
        Err(_) => bail!("moe_gemm: {name} has {id}; wants 0 or more"),
    };
    ids.iter().map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::quantized::GgmlDType;

    const TOPK: usize = 2;
    /// The expert of each pair of three tokens; expert 1 has none.
    const EXPERTS: [usize; 6] = [3, 0, 2, 3, 0, 2];

    fn routes() -> Result<[Tensor; 2]> {
        let mut sorted: Vec<usize> = (0..EXPERTS.len()).collect();
        sorted.sort_by_key(|&pair| EXPERTS[pair]);
        let experts = sorted.iter().map(|&pair| EXPERTS[pair] as u32);
        let experts = Tensor::from_iter(experts, &Device::Cpu)?;
        Ok([
            Tensor::from_iter(sorted.iter().map(|&pair| pair as u32), &Device::Cpu)?,
            experts,
        ])
    }

    fn by_a_loop(
        input: &[f64],
        weights: &[f64],
        n: usize,
        k: usize,
        scale: Option<&[f64]>,
    ) -> Vec<f64> {
        let row = |pair: usize| if scale.is_some() { pair } else { pair / TOPK };
        let value = |pair: usize, at: usize| {
            let weight = &weights[(EXPERTS[pair] * n + at) * k..][..k];
            let dot: f64 = weight
                .iter()
                .zip(&input[row(pair) * k..])
                .map(|(w, x)| w * x)
                .sum();
            dot * scale.map_or(1.0, |scale| scale[pair])
        };
        (0..6)
            .flat_map(|pair| (0..n).map(move |at| (pair, at)))
            .map(|(p, at)| value(p, at))
            .collect()
    }

    #[test]
    fn each_pair_has_its_expert() -> Result<()> {
        let [sorted, experts] = routes()?;
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-6), (DType::BF16, 2e-2)] {
            let weights = numbers(&[4, 5, 3], dtype)?;
            let (tokens, pairs) = (numbers(&[3, 3], dtype)?, numbers(&[6, 3], dtype)?);
            let scale = numbers(&[3, 2], dtype)?;
            let up = moe_gemm(&tokens, &weights, &None, &sorted, &experts, TOPK, true)?;
            let want = by_a_loop(&values(&tokens)?, &values(&weights)?, 5, 3, None);
            assert_near(&up, &[6, 5], &want, tolerance);
            let scaled = Some(scale.clone());
            let down = moe_gemm(&pairs, &weights, &scaled, &sorted, &experts, TOPK, false)?;
            let scale = values(&scale)?;
            let want = by_a_loop(&values(&pairs)?, &values(&weights)?, 5, 3, Some(&scale));
            assert_near(&down, &[6, 5], &want, tolerance);
        }
        Ok(())
    }

    #[test]
    fn weights_of_blocks() -> Result<()> {
        let [sorted, experts] = routes()?;
        let weights = numbers(&[4, 3, 32], DType::F32)?;
        let packed = QTensor::quantize(&weights, GgmlDType::Q8_0)?;
        let unpacked = values(&packed.dequantize(&Device::Cpu)?)?;
        let tokens = numbers(&[3, 32], DType::F16)?;
        let got = moe_gemm_gguf(
            &tokens,
            &packed,
            &None,
            &sorted,
            &experts,
            TOPK,
            true,
            DType::BF16,
        )?;
        assert_eq!(got.dtype(), DType::F32);
        // The product may round x to 8 bits.
        assert_near(
            &got,
            &[6, 3],
            &by_a_loop(&values(&tokens)?, &unpacked, 3, 32, None),
            3e-2,
        );
        let (pairs, scale) = (
            numbers(&[6, 32], DType::F32)?,
            numbers(&[3, 2], DType::F32)?,
        );
        let want = by_a_loop(&values(&pairs)?, &unpacked, 3, 32, Some(&values(&scale)?));
        let got = moe_gemm_gguf(
            &pairs,
            &packed,
            &Some(scale),
            &sorted,
            &experts,
            TOPK,
            true,
            DType::F32,
        )?;
        assert_near(&got, &[6, 3], &want, 3e-2);
        Ok(())
    }

    #[test]
    fn routes_that_do_not_fit_are_errors() -> Result<()> {
        let [sorted, experts] = routes()?;
        let (weights, tokens) = (
            numbers(&[4, 5, 3], DType::F32)?,
            numbers(&[3, 3], DType::F32)?,
        );
        let run = |sorted: &[i64], experts: &[i64], topk| {
            let cpu = &Device::Cpu;
            let (sorted, experts) = (Tensor::new(sorted, cpu)?, Tensor::new(experts, cpu)?);
            moe_gemm(&tokens, &weights, &None, &sorted, &experts, topk, false)
        };
        assert!(run(&[0, 1], &[3, 3], 1).is_ok());
        assert!(run(&[0, 2], &[3, 3], 1).is_err() && run(&[0, 0], &[3, 3], 1).is_err());
        assert!(run(&[0, 1], &[3, 4], 1).is_err() && run(&[0, -1], &[3, 3], 1).is_err());
        assert!(run(&[0, 1], &[3], 1).is_err() && run(&[0, 1], &[3, 3], 0).is_err());
        assert!(run(&[0, 1, 2, 3], &[0, 0, 0, 0], 1).is_err());
        assert_eq!(run(&[], &[], 1)?.dims(), [0, 5]);
        let narrow = tokens.narrow(1, 0, 2)?;
        assert!(moe_gemm(&narrow, &weights, &None, &sorted, &experts, TOPK, false).is_err());
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let [sorted, experts] = routes()?;
        let (f64, all) = (DType::F64, numbers(&[3, 2], DType::F64)?);
        let operands = [numbers(&[3, 2], f64)?, numbers(&[4, 2, 2], f64)?];
        check_gradients(&operands, |x| {
            moe_gemm(&x[0], &x[1], &None, &sorted, &experts, TOPK, true)
        })?;
        let operands = [numbers(&[6, 2], f64)?, numbers(&[4, 2, 2], f64)?, all];
        check_gradients(&operands, |x| {
            moe_gemm(
                &x[0],
                &x[1],
                &Some(x[2].clone()),
                &sorted,
                &experts,
                TOPK,
                true,
            )
        })
    }
}
