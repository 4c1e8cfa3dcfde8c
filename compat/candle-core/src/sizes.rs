//! The sizes of a shape of a known rank, from a slice.

use tallow::{Result, Shape};

/// Errors unless there are no sizes.
pub fn dims0(dims: &[usize]) -> Result<()> {
    Shape::from(dims).dims0()
}

/// The one size; an error if there are more or fewer.
pub fn dims1(dims: &[usize]) -> Result<usize> {
    Shape::from(dims).dims1()
}

/// The two sizes; an error if there are more or fewer.
pub fn dims2(dims: &[usize]) -> Result<(usize, usize)> {
    Shape::from(dims).dims2()
}

/// The three sizes; an error if there are more or fewer.
pub fn dims3(dims: &[usize]) -> Result<(usize, usize, usize)> {
    Shape::from(dims).dims3()
}

/// The four sizes; an error if there are more or fewer.
pub fn dims4(dims: &[usize]) -> Result<(usize, usize, usize, usize)> {
    Shape::from(dims).dims4()
}

/// The five sizes; an error if there are more or fewer.
pub fn dims5(dims: &[usize]) -> Result<(usize, usize, usize, usize, usize)> {
    Shape::from(dims).dims5()
}
