//! For tests: values beside those wanted, and gradients beside central differences.

use tallow::{DType, Device, Result, Tensor, Var, bail};

/// A tensor of small numbers, all different, of both signs, none near 0.
pub(crate) fn numbers(dims: &[usize], dtype: DType) -> Result<Tensor> {
    let count: usize = dims.iter().product();
    let value = |at: usize| (at as f64 * 0.7 + 0.3).sin() * 1.5 + 0.04 * (at as f64 * 0.9).cos();
    let values: Vec<f64> = (0..count).map(value).collect();
    Tensor::from_vec(values, dims, &Device::Cpu)?.to_dtype(dtype)
}

/// All elements, as f64.
pub(crate) fn values(x: &Tensor) -> Result<Vec<f64>> {
    x.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// Errors unless shapes agree and every element is within the tolerance, relative to 1 or to the
/// value wanted where that is greater. NaN equals NaN.
#[track_caller]
pub(crate) fn assert_near(got: &Tensor, dims: &[usize], want: &[f64], tolerance: f64) {
    assert_eq!(got.dims(), dims);
    let got = values(got).expect("the elements can be read");
    assert_eq!(got.len(), want.len());
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        let near = (got - want).abs() <= tolerance * want.abs().max(1.0);
        let same = got == want || (got.is_nan() && want.is_nan());
        assert!(near || same, "element {at} is {got}, wanted {want}");
    }
}

/// Errors unless the gradients of a weighted sum of the result are the central differences, for
/// every element of every operand. Operands are f64.
pub(crate) fn check_gradients(
    operands: &[Tensor],
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<()> {
    let weigh = |y: &Tensor| -> Result<Tensor> {
        let y = y.to_dtype(DType::F64)?;
        y.mul(&numbers(y.dims(), DType::F64)?)?.sum_all()
    };
    let variables = operands.iter().map(Var::from_tensor);
    let variables = variables.collect::<Result<Vec<_>>>()?;
    let tracked: Vec<Tensor> = variables.iter().map(|x| x.as_tensor().clone()).collect();
    let store = weigh(&f(&tracked)?)?.backward()?;
    const STEP: f64 = 1e-5;
    for (operand, variable) in variables.iter().enumerate() {
        let Some(gradient) = store.get(variable) else {
            bail!("operand {operand} has no gradient");
        };
        let (gradient, base) = (values(gradient)?, values(&operands[operand])?);
        for element in 0..base.len() {
            let at = |shift: f64| -> Result<f64> {
                let mut moved = base.clone();
                moved[element] += shift;
                let mut inputs = operands.to_vec();
                inputs[operand] = Tensor::from_vec(moved, operands[operand].dims(), &Device::Cpu)?;
                weigh(&f(&inputs)?)?.to_scalar()
            };
            let want = (at(STEP)? - at(-STEP)?) / (2.0 * STEP);
            let got = gradient[element];
            if (got - want).abs() > 1e-6 * want.abs().max(1.0) {
                bail!("operand {operand}, element {element}: gradient {got}, wanted {want}");
            }
        }
    }
    Ok(())
}
