//! Checks gradients against central differences of the references, which compute in f64.

use super::{Array, Case, Report};
use crate::{DType, Result, Tensor, Var, bail};

/// Elements of an operand whose differences are taken.
const SAMPLES: usize = 12;
/// Cases with more elements than this are left to [`conformance`](super::conformance).
const ELEMENTS_MAX: usize = 4096;

/// Checks the gradient of every operation whose name contains `filter`, over its cases. What writes
/// into its target (`…_set`) is not recorded and not checked.
pub fn gradients(filter: &str) -> Result<Report> {
    let mut report = Report::default();
    let cases = crate::ops::ALL.iter().flat_map(|family| (family.cases)());
    for case in cases.filter(|case| case.op.contains(filter) && !case.op.ends_with("_set")) {
        let Some(&dtype) = [DType::F64, DType::F32]
            .iter()
            .find(|dtype| case.dtypes.contains(dtype))
        else {
            continue;
        };
        match check(&case, dtype) {
            Ok(compared) => report.compared += compared,
            Err(error) => report.failures.push(format!("{case:?} {dtype}: {error}")),
        }
    }
    Ok(report)
}

/// The operands, and a weight for each element of the result: the scalar whose gradient is taken is
/// the weighted sum.
struct Setup<'a> {
    case: &'a Case,
    arrays: Vec<Array>,
    weights: Array,
}

impl Setup<'_> {
    fn scalar(&self, arrays: &[Array]) -> f64 {
        let out = (self.case.reference)(arrays);
        out.data
            .iter()
            .zip(&self.weights.data)
            .map(|(y, w)| y * w)
            .sum()
    }

    /// The central difference by one element, and how far its own error may reach; none where the
    /// function has a kink or no finite value.
    fn difference(&self, operand: usize, element: usize) -> Option<f64> {
        let at = |shift: f64| {
            let mut arrays = self.arrays.clone();
            arrays[operand].data[element] += shift;
            self.scalar(&arrays)
        };
        let step = 1e-5 * self.arrays[operand].data[element].abs().max(1.0);
        let (below, here, above) = (at(-step), at(0.0), at(step));
        let (left, right) = ((here - below) / step, (above - here) / step);
        let slope = (above - below) / (2.0 * step);
        // One-sided slopes differ by f'' · step where f is smooth.
        let smooth = (left - right).abs() <= 1e-2 * slope.abs().max(0.1);
        (slope.is_finite() && smooth).then_some(slope)
    }
}

fn check(case: &Case, dtype: DType) -> Result<usize> {
    let (mut operands, mut arrays) = (Vec::new(), Vec::new());
    for (input, salt) in case.inputs.iter().zip(1..) {
        let dtype = input.dtype.unwrap_or(dtype);
        let array = input.array(salt).rounded(dtype);
        let tensor = array.to_tensor(dtype)?;
        let operand = match dtype {
            DType::F64 | DType::F32 => Var::from_tensor(&tensor)?.into_inner(),
            _ => tensor,
        };
        operands.push(operand);
        arrays.push(array);
    }
    let elements: usize = operands.iter().map(Tensor::elem_count).sum();
    if elements > ELEMENTS_MAX {
        return Ok(0);
    }
    let out = (case.run)(&operands)?;
    if !out.dtype().is_float() || out.elem_count() > ELEMENTS_MAX {
        return Ok(0);
    }
    // Weights that a wrong factor or a wrong place does not leave as they are.
    let mut at = 0.0;
    let weights = Array::from_fn(out.dims(), |_| {
        at += 1.0;
        0.25 + (at * 0.7_f64).sin()
    });
    let weighted = out.mul(&weights.to_tensor(out.dtype())?)?;
    let store = weighted.sum_all()?.backward()?;
    let weights = weights.rounded(out.dtype());
    let setup = Setup {
        case,
        arrays,
        weights,
    };
    let mut compared = 0;
    for (at, operand) in operands.iter().enumerate().filter(|(_, x)| x.is_variable()) {
        let gradient = match store.get(operand) {
            Some(gradient) => Array::from_tensor(gradient)?,
            None => Array::from_fn(operand.dims(), |_| 0.0),
        };
        compared += compare(&setup, at, &gradient, operand.dtype())?;
    }
    Ok(compared)
}

fn compare(setup: &Setup<'_>, operand: usize, gradient: &Array, dtype: DType) -> Result<usize> {
    let count = gradient.data.len();
    let scale = gradient.data.iter().filter(|g| g.is_finite());
    let scale = scale.fold(1.0_f64, |most, g| most.max(g.abs()));
    let tolerance = scale * if dtype == DType::F64 { 1e-5 } else { 1e-3 };
    let stride = count.div_ceil(SAMPLES).max(1);
    let mut compared = 0;
    for element in (0..count).step_by(stride) {
        let Some(want) = setup.difference(operand, element) else {
            continue;
        };
        let got = gradient.data[element];
        let near = (got - want).abs() <= tolerance;
        if !near {
            bail!("gradient of operand {operand}, element {element}, is {got}, wanted {want}");
        }
        compared += 1;
    }
    Ok(compared)
}
