//! Rust's operators: `&a + &b`, `(a * b)? - 1.`, `1. / &a`. All combinations of owned and borrowed
//! tensors, results of tensors, and f64. Each gives a `Result`.

use crate::scalar::Scalar;
use crate::{Error, Result, Tensor};
use std::borrow::Borrow;
use std::ops::{Add, Div, Mul, Sub};

macro_rules! operator {
    ($Trait:ident, $method:ident, $with_number:expr) => {
        impl<B: Borrow<Tensor>> $Trait<B> for Tensor {
            type Output = Result<Tensor>;
            fn $method(self, rhs: B) -> Result<Tensor> {
                Tensor::$method(&self, rhs.borrow())
            }
        }
        impl<B: Borrow<Tensor>> $Trait<B> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, rhs: B) -> Result<Tensor> {
                Tensor::$method(self, rhs.borrow())
            }
        }
        impl<B: Borrow<Tensor>> $Trait<Tensor> for Result<B> {
            type Output = Result<Tensor>;
            fn $method(self, rhs: Tensor) -> Result<Tensor> {
                Tensor::$method(self?.borrow(), &rhs)
            }
        }
        impl<B: Borrow<Tensor>> $Trait<&Tensor> for Result<B> {
            type Output = Result<Tensor>;
            fn $method(self, rhs: &Tensor) -> Result<Tensor> {
                Tensor::$method(self?.borrow(), rhs)
            }
        }
        impl<B: Borrow<Tensor>> $Trait<Result<B>> for Tensor {
            type Output = Result<Tensor>;
            fn $method(self, rhs: Result<B>) -> Result<Tensor> {
                Tensor::$method(&self, rhs?.borrow())
            }
        }
        impl<B: Borrow<Tensor>> $Trait<Result<B>> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, rhs: Result<B>) -> Result<Tensor> {
                Tensor::$method(self, rhs?.borrow())
            }
        }
        impl $Trait<f64> for Tensor {
            type Output = Result<Tensor>;
            fn $method(self, rhs: f64) -> Result<Tensor> {
                $with_number(&self, rhs)
            }
        }
        impl $Trait<f64> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, rhs: f64) -> Result<Tensor> {
                $with_number(self, rhs)
            }
        }
    };
}
operator!(Add, add, |x: &Tensor, number: f64| x.affine(1.0, number));
operator!(Sub, sub, |x: &Tensor, number: f64| x.affine(1.0, -number));
// Adding -0 changes nothing; adding 0 would make 0 of -0.
operator!(Mul, mul, |x: &Tensor, number: f64| x.affine(number, -0.0));
operator!(Div, div, |x: &Tensor, number: f64| x
    .broadcast_div(&divisor(number, x)?));

macro_rules! number_first {
    ($Trait:ident, $method:ident, $f:expr) => {
        impl $Trait<Tensor> for f64 {
            type Output = Result<Tensor>;
            fn $method(self, rhs: Tensor) -> Result<Tensor> {
                $f(self, &rhs)
            }
        }
        impl $Trait<&Tensor> for f64 {
            type Output = Result<Tensor>;
            fn $method(self, rhs: &Tensor) -> Result<Tensor> {
                $f(self, rhs)
            }
        }
    };
}
number_first!(Add, add, |number: f64, x: &Tensor| x.affine(1.0, number));
number_first!(Sub, sub, |number: f64, x: &Tensor| x.affine(-1.0, number));
number_first!(Mul, mul, |number: f64, x: &Tensor| x.affine(number, -0.0));
number_first!(Div, div, |number: f64, x: &Tensor| divisor(number, x)?
    .broadcast_div(x));

/// The number as an operand of a division beside `x`. A quotient with an f64 is a fraction, which
/// integers cannot hold.
fn divisor(number: f64, x: &Tensor) -> Result<Tensor> {
    if x.dtype().is_int() {
        return Err(Error::UnsupportedDTypeForOp(
            x.dtype(),
            "div by or of an f64",
        ));
    }
    Scalar::F64(number).beside(x.dtype(), x.device(), "div")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn operators_take_owned_borrowed_results_and_numbers() -> Result<()> {
        let x = Tensor::new(&[1f32, 2., 4.], &Device::Cpu)?;
        let sum = (&x + &x)? + x.clone() + &x;
        assert_eq!(sum?.to_vec1::<f32>()?, [4., 8., 16.]);
        let mixed = &x * (x.clone() - 1.0);
        assert_eq!(mixed?.to_vec1::<f32>()?, [0., 2., 12.]);
        assert_eq!((8.0 / &x)?.to_vec1::<f32>()?, [8., 4., 2.]);
        assert_eq!((&x / 2.0)?.to_vec1::<f32>()?, [0.5, 1., 2.]);
        assert_eq!((1.0 - (2.0 * &x)?)?.to_vec1::<f32>()?, [-1., -3., -7.]);
        assert_eq!((3.0 + x)?.to_vec1::<f32>()?, [4., 5., 7.]);
        Ok(())
    }

    #[test]
    fn integers_take_whole_numbers_and_no_quotients() -> Result<()> {
        let x = Tensor::new(&[1u32, 2], &Device::Cpu)?;
        assert_eq!((&x * 3.0)?.to_vec1::<u32>()?, [3, 6]);
        assert_eq!((5.0 - &x)?.to_vec1::<u32>()?, [4, 3]);
        assert!((&x + 0.5).is_err() && (&x / 2.0).is_err());
        Ok(())
    }

    #[test]
    fn a_product_with_a_number_keeps_the_sign_of_zero() -> Result<()> {
        let x = Tensor::new(&[-0f32, 0.], &Device::Cpu)?;
        let signs: Vec<bool> = (&x * 2.0)?
            .to_vec1::<f32>()?
            .iter()
            .map(|x| x.is_sign_negative())
            .collect();
        assert_eq!(signs, [true, false]);
        Ok(())
    }
}
