//! Fill references. The in-place operations are checked over a copy that keeps the operand's
//! strides as far as a copy can: they write into a narrowed, transposed view of a larger tensor.

use crate::scalar::Scalar;
use crate::testing::{Array, Case, Draw, Input, Tolerance, Values, elementwise_shapes};
use crate::{DType, Device, Result, Tensor};

/// Writes into a view of a buffer twice as wide, then shows the whole buffer: half of it is
/// untouched.
fn set_half(x: &Tensor, set: fn(&Tensor) -> Result<()>) -> Result<Tensor> {
    let whole = Tensor::stack(&[x, x], 0)?;
    let dims: Vec<usize> = (0..whole.rank()).rev().collect();
    set(&whole.narrow(0, 1, 1)?.permute(dims)?)?;
    Ok(whole)
}

fn full(x: &Tensor, value: f64) -> Result<Tensor> {
    crate::with_dtype!(x.dtype(), "full", T in all => {
        Tensor::full(<T as crate::WithDType>::from_f64(value), x.shape(), &Device::Cpu)
    })
}

fn seven(x: &Tensor) -> Result<Scalar> {
    crate::with_dtype!(x.dtype(), "const_set", T in all => {
        Ok(<T as crate::WithDType>::from_f64(7.0).into())
    })
}

type Run = fn(&Tensor) -> Result<Tensor>;

const NEW: [(&str, Run, f64); 5] = [
    (
        "zeros",
        |x| Tensor::zeros(x.shape(), x.dtype(), x.device()),
        0.0,
    ),
    (
        "ones",
        |x| Tensor::ones(x.shape(), x.dtype(), x.device()),
        1.0,
    ),
    ("full", |x| full(x, 7.0), 7.0),
    ("zeros_like", Tensor::zeros_like, 0.0),
    ("ones_like", Tensor::ones_like, 1.0),
];

const SET: [(&str, Run, f64); 3] = [
    ("zero_set", |x| set_half(x, Tensor::zero_set), 0.0),
    ("one_set", |x| set_half(x, Tensor::one_set), 1.0),
    (
        "const_set",
        |x| set_half(x, |half| half.const_set(seven(half)?)),
        7.0,
    ),
];

fn new((op, run, value): (&'static str, Run, f64), dims: &[usize]) -> Case {
    case(op, run, dims, move |inputs| inputs[0].map(|_| value))
}

fn set((op, run, value): (&'static str, Run, f64), dims: &[usize]) -> Case {
    case(op, run, dims, move |inputs| {
        let whole = [&[2], inputs[0].dims.as_slice()].concat();
        Array::from_fn(&whole, |index| match index[0] {
            0 => inputs[0].at(&index[1..]),
            _ => value,
        })
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for dims in elementwise_shapes() {
        cases.extend(NEW.map(|row| new(row, &dims)));
        cases.extend(SET.map(|row| set(row, &dims)));
    }
    cases
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let (at, dims) = (draw.below(NEW.len() + SET.len()), draw.dims());
    match NEW.get(at) {
        Some(row) => new(*row, &dims),
        None => set(SET[at - NEW.len()], &dims),
    }
}

fn case(
    op: &'static str,
    run: Run,
    dims: &[usize],
    reference: impl Fn(&[Array]) -> Array + Send + Sync + 'static,
) -> Case {
    Case {
        op,
        dtypes: &DType::COMPUTE,
        inputs: vec![Input::new(dims, Values::Range(0.0, 100.0))],
        run: Box::new(move |inputs| run(&inputs[0])),
        reference: Box::new(reference),
        tolerance: Tolerance::EXACT,
    }
}
