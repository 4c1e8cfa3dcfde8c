//! A case: operands, how to run the operation, what is right and how near it has to be.

use super::Array;
use crate::{DType, Result, Tensor};

/// Values of an operand.
#[derive(Clone, Debug)]
pub enum Values {
    /// Spread over a range, in an order that looks random and is always the same.
    Range(f64, f64),
    /// These, over and over.
    List(Vec<f64>),
}

/// One operand of a case.
#[derive(Clone, Debug)]
pub struct Input {
    /// The sizes.
    pub dims: Vec<usize>,
    /// The values.
    pub values: Values,
    /// The dtype, where it is not the one that the case is run for (indexes, conditions).
    pub dtype: Option<DType>,
}

impl Input {
    /// An operand of the case's dtype.
    pub fn new(dims: &[usize], values: Values) -> Self {
        Self {
            dims: dims.to_vec(),
            values,
            dtype: None,
        }
    }

    /// An operand of a dtype of its own.
    pub fn of(dims: &[usize], values: Values, dtype: DType) -> Self {
        Self {
            dims: dims.to_vec(),
            values,
            dtype: Some(dtype),
        }
    }

    /// The operand's elements; `salt` tells operands of one range apart.
    pub fn array(&self, salt: u64) -> Array {
        let mut state = salt.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        let mut count = 0;
        Array::from_fn(&self.dims, |_| {
            count += 1;
            match &self.values {
                Values::List(list) => list[(count - 1) % list.len()],
                Values::Range(low, high) => low + (high - low) * unit(&mut state),
            }
        })
    }
}

/// The next of a sequence (splitmix64, Steele, Lea and Flood 2014).
pub(super) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The next of a sequence in [0, 1).
fn unit(state: &mut u64) -> f64 {
    (random(state) >> 11) as f64 / (1u64 << 53) as f64
}

/// How near a result has to be: within `relative` units of the result's dtype of the right value,
/// or within `absolute` such units of 1. A unit is the dtype's distance from 1 to the next value.
/// Integers have to be equal.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Units of the right value.
    pub relative: f64,
    /// Units of 1, for results near 0 of sums with cancellation.
    pub absolute: f64,
}

impl Tolerance {
    /// The nearest value of the dtype, and nothing else.
    pub const EXACT: Self = Self {
        relative: 0.0,
        absolute: 0.0,
    };
    /// Rounded once: half a unit, and double rounding's share.
    pub const ROUNDED: Self = Self {
        relative: 1.0,
        absolute: 0.0,
    };
    /// Vector maths: at most 2 units from the right value (their tested bound is in `tallow-simd`),
    /// and the final rounding.
    pub const MATHS: Self = Self {
        relative: 3.0,
        absolute: 0.0,
    };

    /// A sum of products of size at most 1, added up one after the other and rounded once more.
    ///
    /// Each addition is off by up to half a unit of the sum so far. With n products of mixed signs
    /// that is some √n, even where an operand repeats; of one sign, at most the result.
    pub fn of_products(count: usize) -> Self {
        let count = count.max(1) as f64;
        Self::units(1.0 + 0.5 * count, 0.5 * count * count.sqrt())
    }

    /// Units of the value and units of 1.
    pub const fn units(relative: f64, absolute: f64) -> Self {
        Self { relative, absolute }
    }
}

/// Runs the operation.
pub type Run = Box<dyn Fn(&[Tensor]) -> Result<Tensor> + Send + Sync>;
/// Computes the right values.
pub type Reference = Box<dyn Fn(&[Array]) -> Array + Send + Sync>;

/// One case of an operation.
pub struct Case {
    /// The operation's name in [`ops::ALL`](crate::ops::ALL).
    pub op: &'static str,
    /// The dtypes that it is run for.
    pub dtypes: &'static [DType],
    /// The operands.
    pub inputs: Vec<Input>,
    /// Runs the operation.
    pub run: Run,
    /// Computes the right values from the operands as their dtype holds them.
    pub reference: Reference,
    /// How near the result has to be.
    pub tolerance: Tolerance,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {:?}",
            self.op,
            self.inputs
                .iter()
                .map(|input| &input.dims)
                .collect::<Vec<_>>()
        )
    }
}

/// Shapes that an elementwise operation has to take: scalar, empty, of size 1, around a vector's
/// length, of rank 9, large enough for blocked tiles and for several threads.
pub fn elementwise_shapes() -> Vec<Vec<usize>> {
    vec![
        vec![],
        vec![0],
        vec![1],
        vec![7],
        vec![33],
        vec![2, 3],
        vec![3, 0, 2],
        vec![4, 1, 5],
        vec![1, 1, 1, 1],
        vec![5, 17, 3],
        vec![70, 67],
        vec![2, 2, 1, 2, 3, 1, 2, 1, 2],
        vec![70_001],
    ]
}
