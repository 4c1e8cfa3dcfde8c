//! The launch: one kernel, with the formula and the dtype as defines and the numbers as parameters.
//!
//! A result of integers that is not whole sets the device's error word, which the next read-back
//! finds; where no element can have a whole result the call itself is the error.

use super::cpu::Formula;
use super::{Affine, Clamp, Elu, Powf};
use crate::gpu::{ELEMENTS, GpuStorage, GpuView, Views, define_views, dtype_word, integer, launch};
use crate::{DType, Result, bail};
use tallow_gpu::strided::Dims;
use tallow_gpu::{KernelSource, Variant, params_text};

tallow_gpu::params! {
    /// A view and two numbers, in each of the forms that dtypes want.
    pub(super) struct ParametricParams {
        /// Elements.
        pub count: u64,
        /// Where the view starts, in elements.
        pub offset: u64,
        /// The bits of the numbers as f64.
        pub a_double: u64,
        /// The second's.
        pub b_double: u64,
        /// The numbers as integers.
        pub a_whole: i64,
        /// The second.
        pub b_whole: i64,
        /// The numbers.
        pub a: f32,
        /// The second.
        pub b: f32,
        /// The sizes.
        pub dims: Dims,
        /// The strides.
        pub strides: [u64; 12],
    }
}

const TEXT: &str = include_str!("parametric.gpu.h");
type Text = Option<fn() -> (String, usize)>;
const PARAMS: Text = Some(params_text::<ParametricParams>);

static PARAMETRIC: KernelSource = KernelSource::new("parametric", TEXT, &[ELEMENTS], PARAMS, 256);
/// The same with the error word: only what can fail takes it.
static CHECKED: KernelSource =
    KernelSource::new("parametric_checked", TEXT, &[ELEMENTS], PARAMS, 256);

/// A formula's name in the kernel, and its numbers.
pub(super) struct Numbers {
    formula: &'static str,
    /// The formula for integers, if any of them has a whole result.
    of_integers: Option<&'static str>,
    /// Some integers have no whole result.
    refuses: bool,
    a: f64,
    b: f64,
    whole: (i64, i64),
}

/// A formula with numbers.
pub(super) trait Parameters {
    fn numbers(&self) -> Numbers;
}

impl Parameters for Affine {
    fn numbers(&self) -> Numbers {
        let exact = self.whole.is_none();
        Numbers {
            formula: "parametric_affine",
            of_integers: Some(match exact {
                true => "parametric_affine_exact",
                false => "parametric_affine",
            }),
            refuses: exact,
            a: self.scale,
            b: self.shift,
            whole: self.whole.unwrap_or_default(),
        }
    }
}

impl Parameters for Powf {
    fn numbers(&self) -> Numbers {
        Numbers {
            formula: "parametric_powf",
            of_integers: self.whole.map(|_| "parametric_powf"),
            refuses: self.whole.is_some_and(|exponent| exponent < 0),
            a: self.exponent,
            b: 0.0,
            whole: (self.whole.unwrap_or_default(), 0),
        }
    }
}

impl Parameters for Elu {
    fn numbers(&self) -> Numbers {
        Numbers {
            formula: "parametric_elu",
            of_integers: Some("parametric_elu"),
            refuses: self.alpha != 0.0,
            a: self.alpha,
            b: 0.0,
            whole: (0, 0),
        }
    }
}

impl Parameters for Clamp {
    fn numbers(&self) -> Numbers {
        Numbers {
            formula: "parametric_clamp",
            of_integers: Some("parametric_clamp"),
            refuses: false,
            a: self.least,
            b: self.most,
            whole: self.whole,
        }
    }
}

pub(super) fn run<F: Formula + Parameters>(
    formula: F,
    x: GpuView<'_>,
    out: &GpuStorage,
) -> Result<()> {
    let numbers = formula.numbers();
    let integers = x.dtype().is_int();
    let needs_f64 = numbers.of_integers == Some("parametric_affine_exact");
    let word = match integers {
        false => Some(numbers.formula),
        true if needs_f64 && !out.device().info().has_f64 => None,
        true => numbers.of_integers,
    };
    let Some(word) = word else {
        let (name, what) = (F::NAME, formula.describe());
        bail!(
            "{name}: {what} of {} values is not whole; cast to a float dtype",
            x.dtype()
        );
    };
    let views = Views::new(F::NAME, [x], out.dtype())?;
    let view = views.params();
    let params = ParametricParams {
        count: view.count,
        offset: view.offset,
        a_double: numbers.a.to_bits(),
        b_double: numbers.b.to_bits(),
        a_whole: numbers.whole.0,
        b_whole: numbers.whole.1,
        a: numbers.a as f32,
        b: numbers.b as f32,
        dims: view.dims,
        strides: view.strides,
    };
    let checked = integers && numbers.refuses;
    let variant = Variant::new(if checked { &CHECKED } else { &PARAMETRIC })
        .define("XT", dtype_word(x.dtype()))
        .define("INTEGER", integer(x.dtype()))
        .define("WIDE", u32::from(x.dtype() == DType::F64))
        .define("CHECKED", u32::from(checked))
        .define("FORMULA", word);
    let variant = define_views(variant, &views);
    launch(&variant, [x], out, &params, views.groups(&variant))
}
