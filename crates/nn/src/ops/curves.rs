//! Functions of each element that activations are made of.

use crate::wide::in_wide;
use tallow::{D, Result, Tensor, bail};

/// 1 / (1 + e⁻ˣ).
pub fn sigmoid(xs: &Tensor) -> Result<Tensor> {
    xs.sigmoid()
}

/// x · sigmoid(x).
pub fn silu(xs: &Tensor) -> Result<Tensor> {
    xs.silu()
}

/// silu(a) · b, where a and b are the halves of the last dimension. Errors if its size is odd.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[0f32, 40., 5., 2.], &Device::Cpu)?;
/// assert_eq!(tallow_nn::ops::swiglu(&x)?.to_vec1::<f32>()?, [0., 80.]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn swiglu(xs: &Tensor) -> Result<Tensor> {
    let size = xs.dim(D::Minus1)?;
    if size % 2 != 0 {
        bail!(
            "swiglu: last dim of {:?} is odd; wants two halves",
            xs.shape()
        );
    }
    let half = size / 2;
    let gate = xs.narrow(D::Minus1, 0, half)?.silu()?;
    gate.mul(&xs.narrow(D::Minus1, half, half)?)
}

/// (x + 3) / 6, held between 0 and 1.
pub fn hard_sigmoid(xs: &Tensor) -> Result<Tensor> {
    in_wide(xs, |x| x.affine(1.0 / 6.0, 0.5)?.clamp(0f32, 1f32))
}

/// x · tanh(ln(1 + eˣ)) (Misra 2019).
///
/// With e = eˣ the factor is e(e + 2) / (e(e + 2) + 2), which loses no digits where it nears 0. It
/// is 1 to every digit of an f64 from x = 20 on, before eˣ overflows.
pub fn mish(xs: &Tensor) -> Result<Tensor> {
    in_wide(xs, |x| {
        let power = x.minimum(20f64)?.exp()?;
        let numerator = power.mul(&power.affine(1.0, 2.0)?)?;
        x.mul(&numerator.div(&numerator.affine(1.0, 2.0)?)?)
    })
}

/// x where it is positive, `negative_slope · x` elsewhere.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[-4f32, 0., 3.], &Device::Cpu)?;
/// assert_eq!(tallow_nn::ops::leaky_relu(&x, 0.5)?.to_vec1::<f32>()?, [-2., 0., 3.]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn leaky_relu(xs: &Tensor, negative_slope: f64) -> Result<Tensor> {
    xs.gt(0f64)?
        .where_cond(xs, &xs.affine(negative_slope, 0.0)?)
}

/// gamma · x where x is positive, gamma · alpha · (eˣ − 1) elsewhere (Klambauer et al. 2017).
pub fn selu(xs: &Tensor, alpha: f32, gamma: f32) -> Result<Tensor> {
    in_wide(xs, |x| {
        x.elu(f64::from(alpha))?.affine(f64::from(gamma), 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::{DType, Device};

    type Curve = fn(&Tensor) -> Result<Tensor>;
    type Formula = fn(f64) -> f64;

    fn curves() -> [(Curve, Formula); 6] {
        [
            (sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
            (silu, |x| x / (1.0 + (-x).exp())),
            (hard_sigmoid, |x| ((x + 3.0) / 6.0).clamp(0.0, 1.0)),
            (mish, |x| x * x.exp().ln_1p().tanh()),
            (
                |x| leaky_relu(x, 0.01),
                |x| if x > 0.0 { x } else { 0.01 * x },
            ),
            (
                |x| selu(x, 1.5, 1.25),
                |x| 1.25 * if x > 0.0 { x } else { 1.5 * x.exp_m1() },
            ),
        ]
    }

    #[test]
    fn values_are_those_of_the_formulas() -> Result<()> {
        let x: Vec<f64> = (-80..=80).map(|x| f64::from(x) * 0.37).collect();
        let x = Tensor::from_vec(x, (7, 23), &Device::Cpu)?;
        for (at, (curve, formula)) in curves().into_iter().enumerate() {
            for (dtype, tolerance) in [
                (DType::F64, 1e-12),
                (DType::F32, 2e-6),
                (DType::F16, 6e-4),
                (DType::BF16, 4e-3),
            ] {
                let x = x.to_dtype(dtype)?;
                let want: Vec<f64> = values(&x)?.into_iter().map(formula).collect();
                let y = curve(&x)?;
                assert_eq!(y.dtype(), dtype, "curve {at}");
                assert_near(&y, &[7, 23], &want, tolerance);
                let turned = curve(&x.t()?)?.t()?;
                assert_near(&turned, &[7, 23], &want, tolerance);
            }
        }
        Ok(())
    }

    #[test]
    fn large_elements_and_nan() -> Result<()> {
        let x = Tensor::new(&[300f32, f32::INFINITY, f32::NAN], &Device::Cpu)?;
        assert_near(&mish(&x)?, &[3], &[300., f64::INFINITY, f64::NAN], 0.0);
        for (curve, _) in curves() {
            assert!(values(&curve(&x)?)?[2].is_nan());
            assert_eq!(
                curve(&Tensor::zeros((0, 2), DType::F32, &Device::Cpu)?)?.dims(),
                [0, 2]
            );
        }
        Ok(())
    }

    #[test]
    fn swiglu_gates_the_second_half() -> Result<()> {
        let x = numbers(&[3, 4], DType::F64)?;
        let all = values(&x)?;
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let want: Vec<f64> = (0..3)
            .flat_map(|row| [0, 1].map(|at| silu(all[row * 4 + at]) * all[row * 4 + 2 + at]))
            .collect();
        assert_near(&swiglu(&x)?, &[3, 2], &want, 1e-12);
        assert!(swiglu(&numbers(&[3, 5], DType::F64)?).is_err());
        assert!(swiglu(&Tensor::new(1f32, &Device::Cpu)?).is_err());
        check_gradients(&[x], |x| swiglu(&x[0]))
    }

    #[test]
    fn gradients() -> Result<()> {
        let x = numbers(&[3, 5], DType::F64)?.affine(4.0, 0.0)?;
        for (curve, _) in curves() {
            check_gradients(std::slice::from_ref(&x), |x| curve(&x[0]))?;
        }
        let far = Tensor::new(&[19.9, 20.5, 700., -700.], &Device::Cpu)?;
        check_gradients(&[far], |x| mish(&x[0]))
    }
}
