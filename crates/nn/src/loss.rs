//! Losses: how far a model's output is from what it should be, as a scalar to be made small.
//!
//! Each is a mean over the batch, or over all elements. f16, bf16 and f8 are computed in f32 and
//! rounded once.

use crate::ops::log_softmax;
use crate::wide::in_wide;
use tallow::{Result, Tensor, bail};

/// The mean of −log p of the right classes. Input `[batch, classes]` of log probabilities, target
/// `[batch]` of class indexes. Errors if there is no such class, and for an empty batch.
///
/// ```
/// use tallow::{Device, Tensor};
/// let log_p = Tensor::new(&[[-1f32, -2.], [-3., -4.]], &Device::Cpu)?;
/// let target = Tensor::new(&[1u32, 0], &Device::Cpu)?;
/// assert_eq!(tallow_nn::loss::nll(&log_p, &target)?.to_scalar::<f32>()?, 2.5);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn nll(inp: &Tensor, target: &Tensor) -> Result<Tensor> {
    let batch = check_classes("nll", inp, target)?;
    in_wide(inp, |inp| {
        let right = inp.gather(&target.unsqueeze(1)?, 1)?;
        right.sum_all()?.affine(-1.0 / batch as f64, 0.0)
    })
}

/// [`nll`] of the log probabilities that logits give. Input `[batch, classes]`, target `[batch]`.
pub fn cross_entropy(inp: &Tensor, target: &Tensor) -> Result<Tensor> {
    check_classes("cross_entropy", inp, target)?;
    in_wide(inp, |inp| nll(&log_softmax(inp, 1)?, target))
}

fn check_classes(op: &str, inp: &Tensor, target: &Tensor) -> Result<usize> {
    match (inp.dims(), target.dims()) {
        (&[batch, _], &[targets]) if batch == targets && batch > 0 => Ok(batch),
        _ => bail!(
            "{op}: input {:?}, target {:?}; want [batch, classes] and [batch], not empty",
            inp.shape(),
            target.shape()
        ),
    }
}

/// The mean of the squared differences.
pub fn mse(inp: &Tensor, target: &Tensor) -> Result<Tensor> {
    in_wide(inp, |inp| {
        inp.sub(&target.to_dtype(inp.dtype())?)?.sqr()?.mean_all()
    })
}

/// The mean of −t·ln p − (1 − t)·ln(1 − p), where p is the sigmoid of the input and t the target,
/// of the same shape and any dtype.
///
/// It is computed as ln(1 + eˣ) − x·t, and the first term without overflow, so that logits of any
/// size have their exact loss.
///
/// ```
/// use tallow::{Device, Tensor};
/// let logits = Tensor::new(&[[40f32, -200.]], &Device::Cpu)?;
/// let target = Tensor::new(&[[0f32, 1.]], &Device::Cpu)?;
/// let loss = tallow_nn::loss::binary_cross_entropy_with_logit(&logits, &target)?;
/// assert_eq!(loss.to_scalar::<f32>()?, 120.);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn binary_cross_entropy_with_logit(inp: &Tensor, target: &Tensor) -> Result<Tensor> {
    in_wide(inp, |x| {
        let target = target.to_dtype(x.dtype())?;
        // With s = min(x, 0) and −|x| taken from the same side of 0, the gradient there is right.
        let negative = x.lt(0f64)?;
        let zeros = x.detach().zeros_like()?;
        let minus_abs = negative.where_cond(x, &x.neg()?)?;
        let greater = negative.where_cond(&zeros, x)?;
        let softplus = minus_abs.exp()?.affine(1.0, 1.0)?.log()?.add(&greater)?;
        softplus.sub(&x.mul(&target)?)?.mean_all()
    })
}

/// The mean of Huber's loss: d²/2 for differences below `delta`, `delta · (|d| − delta/2)` from
/// there on.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 4.], &Device::Cpu)?;
/// let zero = x.zeros_like()?;
/// assert_eq!(tallow_nn::loss::huber(&x, &zero, 2.0)?.to_scalar::<f32>()?, (0.5 + 6.) / 2.);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn huber(inp: &Tensor, target: &Tensor, delta: f64) -> Result<Tensor> {
    in_wide(inp, |inp| {
        let difference = inp.sub(&target.to_dtype(inp.dtype())?)?.abs()?;
        let squared = difference.sqr()?.affine(0.5, 0.0)?;
        let linear = difference.affine(delta, -0.5 * delta * delta)?;
        difference
            .lt(delta)?
            .where_cond(&squared, &linear)?
            .mean_all()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::{DType, Device, Var};

    const FLOATS: [(DType, f64); 4] = [
        (DType::F64, 1e-12),
        (DType::F32, 1e-6),
        (DType::F16, 2e-3),
        (DType::BF16, 1e-2),
    ];

    #[test]
    fn class_losses_by_a_loop() -> Result<()> {
        let x = numbers(&[3, 4], DType::F64)?.affine(3.0, 0.0)?;
        let classes = [2usize, 0, 3];
        for (dtype, tolerance) in FLOATS {
            let x = x.to_dtype(dtype)?;
            let all = values(&x)?;
            let rows = || all.chunks(4).zip(classes);
            let nll_want = -rows().map(|(row, class)| row[class]).sum::<f64>() / 3.0;
            let entropy = |(row, class): (&[f64], usize)| {
                row.iter().map(|x| x.exp()).sum::<f64>().ln() - row[class]
            };
            let entropy_want = rows().map(entropy).sum::<f64>() / 3.0;
            for ids in [DType::U32, DType::I64, DType::U8] {
                let target = Tensor::new(&classes.map(|class| class as u8), &Device::Cpu)?;
                let target = target.to_dtype(ids)?;
                assert_near(&nll(&x, &target)?, &[], &[nll_want], tolerance);
                assert_near(
                    &cross_entropy(&x, &target)?,
                    &[],
                    &[entropy_want],
                    tolerance,
                );
            }
        }
        Ok(())
    }

    #[test]
    fn class_losses_of_what_does_not_fit_are_errors() -> Result<()> {
        let x = numbers(&[3, 4], DType::F32)?;
        let ids = |ids: &[u32]| Tensor::new(ids, &Device::Cpu);
        for loss in [nll, cross_entropy] {
            assert!(loss(&x, &ids(&[0, 1])?).is_err());
            assert!(loss(&x, &ids(&[0, 1, 4])?).is_err());
            assert!(loss(&x, &ids(&[0, 1, 2])?.unsqueeze(0)?).is_err());
            assert!(loss(&x.narrow(0, 0, 0)?, &ids(&[])?).is_err());
            assert!(loss(&x, &numbers(&[3], DType::F32)?).is_err());
        }
        Ok(())
    }

    #[test]
    fn binary_cross_entropy_of_logits_of_any_size() -> Result<()> {
        let exact = |x: f64, t: f64| x.max(0.0) + (-x.abs()).exp().ln_1p() - x * t;
        let logits = [
            0., -0., 1., -1., 3.5, -3.5, 17., -17., 40., -40., 104., -104., 3e4, -3e4,
        ];
        for (dtype, tolerance) in FLOATS {
            for target in [0., 1., 0.25] {
                for logit in logits {
                    let x = Tensor::new(&[[logit]], &Device::Cpu)?.to_dtype(dtype)?;
                    let logit = values(&x)?[0];
                    let t = Tensor::new(&[[target]], &Device::Cpu)?.to_dtype(dtype)?;
                    let loss = binary_cross_entropy_with_logit(&x, &t)?;
                    assert_near(&loss, &[], &[exact(logit, target)], tolerance);
                    // The gradient is sigmoid(x) − t, at 0 too.
                    let x = Var::from_tensor(&x)?;
                    let loss = binary_cross_entropy_with_logit(&x, &t)?;
                    let store = loss.backward()?;
                    let want = 1.0 / (1.0 + (-logit).exp()) - target;
                    assert_near(store.get(&x).unwrap(), &[1, 1], &[want], tolerance);
                }
            }
        }
        let x = Tensor::new(&[[40f32, -200.]], &Device::Cpu)?;
        let whole = Tensor::new(&[[0u32, 1]], &Device::Cpu)?;
        assert_near(
            &binary_cross_entropy_with_logit(&x, &whole)?,
            &[],
            &[120.],
            1e-6,
        );
        let nan = Tensor::new(&[[f32::NAN, 0.]], &Device::Cpu)?;
        let loss = binary_cross_entropy_with_logit(&nan, &whole)?;
        assert!(loss.to_scalar::<f32>()?.is_nan());
        Ok(())
    }

    #[test]
    fn differences_by_hand() -> Result<()> {
        let x = Tensor::new(&[[1f32, 2., 4.], [0., -3., 1.]], &Device::Cpu)?;
        let target = Tensor::new(&[[0.5f32, 4., 1.], [0., 0., 1.]], &Device::Cpu)?;
        for (dtype, tolerance) in FLOATS {
            let (x, target) = (x.to_dtype(dtype)?, target.to_dtype(dtype)?);
            assert_near(
                &mse(&x, &target)?,
                &[],
                &[(0.25 + 4. + 9. + 9.) / 6.],
                tolerance,
            );
            let want = (0.125 + 1.5 + 2.5 + 2.5) / 6.;
            assert_near(&huber(&x, &target, 1.0)?, &[], &[want], tolerance);
        }
        assert!(mse(&x, &target.get(0)?).is_err() && huber(&x, &target.get(0)?, 1.0).is_err());
        Ok(())
    }

    #[test]
    fn squares_of_narrow_floats_do_not_overflow() -> Result<()> {
        // The square of 300 is beyond f16; the mean is not.
        let mut values = [0f32; 4];
        values[0] = 300.;
        let x = Tensor::new(&values, &Device::Cpu)?.to_dtype(DType::F16)?;
        assert_near(&mse(&x, &x.zeros_like()?)?, &[], &[22500.], 1e-3);
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let operands = [
            numbers(&[3, 4], DType::F64)?,
            numbers(&[3, 4], DType::F64)?.affine(-0.8, 0.3)?,
        ];
        let target = Tensor::new(&[2u32, 0, 3], &Device::Cpu)?;
        check_gradients(&operands[..1], |x| nll(&x[0], &target))?;
        check_gradients(&operands[..1], |x| cross_entropy(&x[0], &target))?;
        check_gradients(&operands, |x| mse(&x[0], &x[1]))?;
        check_gradients(&operands, |x| huber(&x[0], &x[1], 0.7))?;
        check_gradients(&operands, |x| binary_cross_entropy_with_logit(&x[0], &x[1]))
    }
}
