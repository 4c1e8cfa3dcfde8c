//! Shapes and the ways to name dimensions.
//!
//! A [`Shape`] is a list of sizes, row-major: the last dimension runs fastest. Anything that reads
//! like one converts to it (`5`, `(2, 3)`, `[2, 3]`, `vec![2, 3]`, `&[2, 3][..]`). A dimension is
//! an index or [`D::Minus1`] and its kin, counted from the end.

use crate::{Error, Result, bail};
use smallvec::{SmallVec, smallvec};

/// The sizes of a tensor's dimensions. Rank 0 is a scalar.
#[derive(PartialEq, Eq, Hash, Default)]
pub struct Shape(Sizes);

/// A number for each dimension; up to four lie in place, without an allocation.
pub(crate) type Sizes = SmallVec<[usize; 4]>;

/// The shape of a scalar.
pub const SCALAR: Shape = Shape(SmallVec::new_const());

impl Clone for Shape {
    #[inline]
    fn clone(&self) -> Self {
        // As one copy; the list's own `clone` goes size by size.
        Self(Sizes::from_slice(&self.0))
    }
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Shape {
    /// A shape of these sizes.
    pub fn from_dims(dims: &[usize]) -> Self {
        Self(SmallVec::from_slice(dims))
    }

    /// A shape of the sizes in this list.
    pub(crate) fn of(sizes: Sizes) -> Self {
        Self(sizes)
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// The sizes.
    pub fn dims(&self) -> &[usize] {
        &self.0
    }

    /// The sizes as a vector.
    pub fn into_dims(self) -> Vec<usize> {
        self.0.into_vec()
    }

    /// The size of one dimension.
    pub fn dim<I: Dim>(&self, dim: I) -> Result<usize> {
        Ok(self.0[dim.to_index(self, "dim")?])
    }

    /// Nothing, if the rank is 0.
    pub fn dims0(&self) -> Result<()> {
        match self.rank() {
            0 => Ok(()),
            got => Err(Error::UnexpectedNumberOfDims {
                expected: 0,
                got,
                shape: self.clone(),
            }),
        }
    }

    /// The number of elements; 1 for a scalar.
    pub fn elem_count(&self) -> usize {
        self.0.iter().product()
    }

    /// [`elem_count`](Self::elem_count), or an error where it passes what memory can address.
    pub fn checked_elem_count(&self) -> Result<usize> {
        let nonzero = self.0.iter().filter(|&&size| size != 0);
        let count = nonzero.copied().try_fold(1usize, usize::checked_mul);
        match count.filter(|&count| count <= isize::MAX as usize / 16) {
            Some(_) => Ok(self.elem_count()),
            None => bail!("shape {self:?}: the element count passes what memory can address"),
        }
    }

    /// Row-major strides, in elements: `[2, 3, 4]` gives `[12, 4, 1]`.
    pub fn stride_contiguous(&self) -> Vec<usize> {
        self.strides().into_vec()
    }

    /// [`stride_contiguous`](Self::stride_contiguous) in place.
    #[inline]
    pub(crate) fn strides(&self) -> Sizes {
        let mut strides = Sizes::from_slice(&self.0);
        let mut step = 1usize;
        for stride in strides.iter_mut().rev() {
            // The last product is not used, and may pass what a number holds.
            step = step.wrapping_mul(std::mem::replace(stride, step));
        }
        strides
    }

    /// True if these strides walk the shape in row-major order without gaps.
    pub fn is_contiguous(&self, stride: &[usize]) -> bool {
        let mut expected = 1;
        for (&size, &stride) in self.0.iter().zip(stride).rev() {
            if size == 0 {
                return true;
            }
            if size != 1 && stride != expected {
                return false;
            }
            expected *= size;
        }
        self.rank() == stride.len()
    }

    /// True if these strides walk the shape in column-major order without gaps.
    pub fn is_fortran_contiguous(&self, stride: &[usize]) -> bool {
        let reversed = Shape(self.0.iter().rev().copied().collect());
        reversed.is_contiguous(&stride.iter().rev().copied().collect::<Vec<_>>())
    }

    /// This shape with more dimensions behind.
    pub fn extend(mut self, additional_dims: &[usize]) -> Self {
        self.0.extend_from_slice(additional_dims);
        self
    }

    /// The shape that both operands broadcast to (numpy's rule: sizes are aligned at the end, and a
    /// size of 1 stretches).
    pub fn broadcast_shape_binary_op(&self, rhs: &Self, op: &'static str) -> Result<Shape> {
        let rank = self.rank().max(rhs.rank());
        let at = |shape: &Shape, dim: usize| {
            (dim + shape.rank())
                .checked_sub(rank)
                .map_or(1, |dim| shape.0[dim])
        };
        let merged = (0..rank).map(|dim| match (at(self, dim), at(rhs, dim)) {
            (left, right) if left == right => Some(left),
            (1, right) => Some(right),
            (left, 1) => Some(left),
            _ => None,
        });
        merged
            .collect::<Option<Sizes>>()
            .map(Shape)
            .ok_or_else(|| Error::ShapeMismatchBinaryOp {
                lhs: self.clone(),
                rhs: rhs.clone(),
                op,
            })
    }
}

impl From<()> for Shape {
    fn from((): ()) -> Self {
        SCALAR
    }
}
impl From<usize> for Shape {
    fn from(size: usize) -> Self {
        Self(smallvec![size])
    }
}
impl From<&[usize]> for Shape {
    fn from(dims: &[usize]) -> Self {
        Self::from_dims(dims)
    }
}
impl From<Vec<usize>> for Shape {
    fn from(dims: Vec<usize>) -> Self {
        Self::from_dims(&dims)
    }
}
impl From<&Vec<usize>> for Shape {
    fn from(dims: &Vec<usize>) -> Self {
        Self::from_dims(dims)
    }
}
impl From<&Shape> for Shape {
    fn from(shape: &Shape) -> Self {
        shape.clone()
    }
}
impl<const N: usize> From<[usize; N]> for Shape {
    fn from(dims: [usize; N]) -> Self {
        Self::from_dims(&dims)
    }
}
impl<const N: usize> From<&[usize; N]> for Shape {
    fn from(dims: &[usize; N]) -> Self {
        Self::from_dims(dims)
    }
}

macro_rules! size_tuple {
    ($name:ident) => {
        usize
    };
}

macro_rules! tuples {
    ($($dims:ident $count:literal ($($name:ident),+);)+) => {
        $(
            impl From<($(size_tuple!($name),)+)> for Shape {
                fn from(($($name,)+): ($(size_tuple!($name),)+)) -> Self {
                    Self(smallvec![$($name),+])
                }
            }
            impl Shape {
                #[doc = concat!("The sizes, if the rank is ", $count, ".")]
                pub fn $dims(&self) -> Result<tuple_or_size!($($name),+)> {
                    match self.0[..] {
                        [$($name),+] => Ok(($($name),+)),
                        _ => Err(Error::UnexpectedNumberOfDims {
                            expected: $count, got: self.rank(), shape: self.clone(),
                        }),
                    }
                }
            }
            impl TryFrom<Shape> for tuple_or_size!($($name),+) {
                type Error = Error;
                fn try_from(shape: Shape) -> Result<Self> {
                    shape.$dims()
                }
            }
            impl crate::Tensor {
                #[doc = concat!("The sizes, if the rank is ", $count, ".")]
                pub fn $dims(&self) -> Result<tuple_or_size!($($name),+)> {
                    self.shape().$dims()
                }
            }
        )+
    };
}
macro_rules! tuple_or_size {
    ($one:ident) => { usize };
    ($($name:ident),+) => { ($(size_tuple!($name)),+) };
}
tuples! {
    dims1 1 (a);
    dims2 2 (a, b);
    dims3 3 (a, b, c);
    dims4 4 (a, b, c, d);
    dims5 5 (a, b, c, d, e);
}
impl TryFrom<Shape> for () {
    type Error = Error;
    fn try_from(shape: Shape) -> Result<Self> {
        shape.dims0()
    }
}

impl crate::Tensor {
    /// Nothing, if the rank is 0.
    pub fn dims0(&self) -> Result<()> {
        self.shape().dims0()
    }

    /// The index of a dimension that is counted from the end where it is negative: -1 is the last.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::new(&[[1f32, 2.]], &Device::Cpu)?;
    /// assert_eq!((x.normalize_axis(-1)?, x.normalize_axis(0)?), (1, 0));
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn normalize_axis(&self, axis: i64) -> Result<usize> {
        let rank = self.rank();
        // Every rank fits an i64.
        let index = if axis < 0 { axis + rank as i64 } else { axis };
        let index = usize::try_from(index).ok().filter(|&index| index < rank);
        index.ok_or_else(|| Error::DimOutOfRange {
            shape: self.shape().clone(),
            dim: i32::try_from(axis).unwrap_or(if axis < 0 { i32::MIN } else { i32::MAX }),
            op: "normalize_axis",
        })
    }
}

impl From<(usize, usize, usize, usize, usize, usize)> for Shape {
    fn from((a, b, c, d, e, f): (usize, usize, usize, usize, usize, usize)) -> Self {
        Self(smallvec![a, b, c, d, e, f])
    }
}

/// A dimension counted from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum D {
    /// The last dimension.
    Minus1,
    /// The last but one.
    Minus2,
    /// The n-th from the end; 1 is the last.
    Minus(usize),
}

/// Something that names a dimension: an index, or a [`D`].
pub trait Dim {
    /// The index, if the shape has it.
    fn to_index(&self, shape: &Shape, op: &'static str) -> Result<usize>;
    /// The index, which may be one past the last dimension.
    fn to_index_plus_one(&self, shape: &Shape, op: &'static str) -> Result<usize>;
}

impl Dim for usize {
    fn to_index(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        let dim = i32::try_from(*self).unwrap_or(i32::MAX);
        let error = || Error::DimOutOfRange {
            shape: shape.clone(),
            dim,
            op,
        };
        (*self < shape.rank()).then_some(*self).ok_or_else(error)
    }
    fn to_index_plus_one(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        let dim = i32::try_from(*self).unwrap_or(i32::MAX);
        let error = || Error::DimOutOfRange {
            shape: shape.clone(),
            dim,
            op,
        };
        (*self <= shape.rank()).then_some(*self).ok_or_else(error)
    }
}

impl D {
    fn places_from_end(self) -> usize {
        match self {
            Self::Minus1 => 1,
            Self::Minus2 => 2,
            Self::Minus(count) => count,
        }
    }

    fn resolve(self, count: usize, shape: &Shape, op: &'static str) -> Result<usize> {
        let from_end = self.places_from_end();
        count
            .checked_sub(from_end)
            .filter(|_| from_end > 0)
            .ok_or_else(|| Error::DimOutOfRange {
                shape: shape.clone(),
                dim: i32::try_from(from_end).map_or(i32::MIN, |from_end| -from_end),
                op,
            })
    }
}

impl Dim for D {
    fn to_index(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        self.resolve(shape.rank(), shape, op)
    }
    fn to_index_plus_one(&self, shape: &Shape, op: &'static str) -> Result<usize> {
        self.resolve(shape.rank() + 1, shape, op)
    }
}

/// Something that names several dimensions.
pub trait Dims: Sized {
    /// The indexes, in the order given; an error if one is out of range or named twice.
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<Vec<usize>>;
}

fn distinct(dims: Vec<usize>, shape: &Shape, op: &'static str) -> Result<Vec<usize>> {
    let twice = (1..dims.len()).any(|at| dims[..at].contains(&dims[at]));
    if twice {
        return Err(Error::DuplicateDimIndex {
            shape: shape.clone(),
            dims,
            op,
        });
    }
    Ok(dims)
}

impl Dims for Vec<usize> {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<Vec<usize>> {
        self.as_slice().to_indexes(shape, op)
    }
}
impl Dims for &[usize] {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<Vec<usize>> {
        let dims = self
            .iter()
            .map(|dim| dim.to_index(shape, op))
            .collect::<Result<_>>()?;
        distinct(dims, shape, op)
    }
}
impl<const N: usize> Dims for [usize; N] {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<Vec<usize>> {
        self.as_slice().to_indexes(shape, op)
    }
}
impl Dims for () {
    fn to_indexes(self, _: &Shape, _: &'static str) -> Result<Vec<usize>> {
        Ok(Vec::new())
    }
}
impl<A: Dim + Sized> Dims for A {
    fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<Vec<usize>> {
        Ok(vec![self.to_index(shape, op)?])
    }
}

macro_rules! dims_of_tuple {
    ($($name:ident),+) => {
        impl<$($name: Dim),+> Dims for ($($name,)+) {
            #[allow(non_snake_case)]
            fn to_indexes(self, shape: &Shape, op: &'static str) -> Result<Vec<usize>> {
                let ($($name,)+) = self;
                distinct(vec![$($name.to_index(shape, op)?),+], shape, op)
            }
        }
    };
}
dims_of_tuple!(A);
dims_of_tuple!(A, B);
dims_of_tuple!(A, B, C);
dims_of_tuple!(A, B, C, E);
dims_of_tuple!(A, B, C, E, F);
dims_of_tuple!(A, B, C, E, F, G);

/// A shape in which one size may be left open, as `()`, and follows from the element count:
/// `(2, ())`.
pub trait ShapeWithOneHole {
    /// The shape for this many elements.
    fn into_shape(self, el_count: usize) -> Result<Shape>;
}

impl<S: Into<Shape>> ShapeWithOneHole for S {
    fn into_shape(self, _: usize) -> Result<Shape> {
        Ok(self.into())
    }
}

/// Fills the hole between the sizes before and behind it.
fn fill_hole(before: &[usize], behind: &[usize], el_count: usize) -> Result<Shape> {
    let known: usize = before.iter().chain(behind).product();
    if known == 0 && el_count == 0 {
        return Ok(Shape::from([before, &[0], behind].concat()));
    }
    if known == 0 || !el_count.is_multiple_of(known) {
        bail!("reshape: {el_count} elements do not fill sizes {before:?} and {behind:?} evenly");
    }
    Ok(Shape::from([before, &[el_count / known], behind].concat()))
}

macro_rules! hole_type {
    (hole) => {
        ()
    };
    ($name:ident) => {
        usize
    };
}
macro_rules! holes {
    ($(($($before:ident),*) _ ($($behind:ident),*);)+) => {
        $(impl ShapeWithOneHole for ($(hole_type!($before),)* (), $(hole_type!($behind),)*) {
            fn into_shape(self, el_count: usize) -> Result<Shape> {
                let ($($before,)* (), $($behind,)*) = self;
                fill_hole(&[$($before),*], &[$($behind),*], el_count)
            }
        })+
    };
}
holes! {
    () _ ();
    () _ (a);
    (a) _ ();
    () _ (a, b);
    (a) _ (b);
    (a, b) _ ();
    () _ (a, b, c);
    (a) _ (b, c);
    (a, b) _ (c);
    (a, b, c) _ ();
    () _ (a, b, c, d);
    (a) _ (b, c, d);
    (a, b) _ (c, d);
    (a, b, c) _ (d);
    (a, b, c, d) _ ();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_row_major() {
        assert_eq!(Shape::from((2, 3, 4)).stride_contiguous(), [12, 4, 1]);
        assert_eq!(Shape::from(()).stride_contiguous(), [0usize; 0]);
    }

    #[test]
    fn broadcasting_aligns_at_the_end() {
        let shape = |dims: &[usize]| Shape::from(dims);
        let merged = shape(&[3, 1]).broadcast_shape_binary_op(&shape(&[2, 1, 4]), "add");
        assert_eq!(merged.unwrap(), shape(&[2, 3, 4]));
        let zero = shape(&[0]).broadcast_shape_binary_op(&shape(&[1]), "add");
        assert_eq!(zero.unwrap(), shape(&[0]));
        assert!(
            shape(&[2])
                .broadcast_shape_binary_op(&shape(&[3]), "add")
                .is_err()
        );
    }

    #[test]
    fn a_hole_is_filled_or_refused() {
        assert_eq!((2, ()).into_shape(6).unwrap(), Shape::from((2, 3)));
        assert_eq!((0, ()).into_shape(0).unwrap(), Shape::from((0, 0)));
        assert!((4, ()).into_shape(6).is_err());
        assert!((0, ()).into_shape(6).is_err());
    }

    #[test]
    fn an_element_count_past_memory_is_an_error() {
        assert!(Shape::from((usize::MAX, 2)).checked_elem_count().is_err());
        assert_eq!(Shape::from((usize::MAX, 0)).checked_elem_count().ok(), None);
        assert_eq!(Shape::from((1 << 20, 0)).checked_elem_count().unwrap(), 0);
    }

    #[test]
    fn a_shape_of_another_rank_has_no_such_sizes() {
        let shape = Shape::from((2, 3));
        let sizes: (usize, usize) = shape.clone().try_into().unwrap();
        assert_eq!(sizes, (2, 3));
        assert!(usize::try_from(shape.clone()).is_err() && shape.dims0().is_err());
        assert!(<()>::try_from(Shape::from(())).is_ok());
        let x = crate::Tensor::zeros(shape, crate::DType::U8, &crate::Device::Cpu).unwrap();
        for axis in [2, -3, i64::MIN, i64::MAX] {
            assert!(x.normalize_axis(axis).is_err(), "{axis}");
        }
    }

    #[test]
    fn dims_out_of_range_or_twice_are_errors() {
        let shape = Shape::from((2, 3));
        assert_eq!(D::Minus2.to_index(&shape, "t").unwrap(), 0);
        assert!(D::Minus(3).to_index(&shape, "t").is_err());
        assert!(D::Minus(0).to_index(&shape, "t").is_err());
        assert!((0, D::Minus2).to_indexes(&shape, "t").is_err());
    }
}
