//! Moving elements between channels and pixels, and padding images with their border.

use tallow::{D, Result, Tensor, bail};

/// `[batch, channels · r², height, width]` to `[batch, channels, height · r, width · r]`: each
/// group of r² channels becomes a square of pixels (Shi et al. 2016). Errors if the channels are no
/// multiple of r².
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::arange(0u8, 4, &Device::Cpu)?.reshape((1, 4, 1, 1))?;
/// let y = tallow_nn::ops::pixel_shuffle(&x, 2)?;
/// assert_eq!(y.get(0)?.to_vec3::<u8>()?, [[[0, 1], [2, 3]]]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn pixel_shuffle(xs: &Tensor, upscale_factor: usize) -> Result<Tensor> {
    let (batch, channels, height, width) = xs.dims4()?;
    let (op, r) = ("pixel_shuffle", upscale_factor);
    let Some(square) = r.checked_mul(r).filter(|&r| r > 0 && channels % r == 0) else {
        bail!(
            "{op}: {channels} channels of {:?}; wants a multiple of {r} squared",
            xs.shape()
        );
    };
    let (tall, broad) = (scaled(op, height, r)?, scaled(op, width, r)?);
    let split = xs.reshape(vec![batch, channels / square, r, r, height, width])?;
    let moved = split.permute(vec![0, 1, 4, 2, 5, 3])?;
    moved.reshape((batch, channels / square, tall, broad))
}

/// What [`pixel_shuffle`] made, undone: `[batch, channels, height, width]` to
/// `[batch, channels · r², height / r, width / r]`. Errors if a side is no multiple of r.
pub fn pixel_unshuffle(xs: &Tensor, downscale_factor: usize) -> Result<Tensor> {
    let (batch, channels, height, width) = xs.dims4()?;
    let (op, r) = ("pixel_unshuffle", downscale_factor);
    if r == 0 || height % r != 0 || width % r != 0 {
        bail!(
            "{op}: height and width of {:?}; want multiples of {r}",
            xs.shape()
        );
    }
    let deep = scaled(op, scaled(op, channels, r)?, r)?;
    let split = xs.reshape(vec![batch, channels, height / r, r, width / r, r])?;
    let moved = split.permute(vec![0, 1, 3, 5, 2, 4])?;
    moved.reshape((batch, deep, height / r, width / r))
}

fn scaled(op: &str, size: usize, factor: usize) -> Result<usize> {
    let product = size.checked_mul(factor);
    product.ok_or_else(|| tallow::Error::msg(format!("{op}: {size} times {factor} overflows")))
}

/// The last two dimensions, each with `pad` more elements on both sides, which repeat those at the
/// border.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[[1u8, 2]], &Device::Cpu)?;
/// let y = tallow_nn::ops::replication_pad2d(&x, 1)?;
/// assert_eq!(y.to_vec2::<u8>()?, [[1, 1, 2, 2]; 3]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn replication_pad2d(xs: &Tensor, pad: usize) -> Result<Tensor> {
    match pad {
        0 => Ok(xs.clone()),
        _ => xs
            .pad_with_same(D::Minus2, pad, pad)?
            .pad_with_same(D::Minus1, pad, pad),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::{DType, Device};

    #[test]
    fn shuffling_is_undone() -> Result<()> {
        let x = numbers(&[2, 18, 2, 3], DType::F32)?;
        let y = pixel_shuffle(&x, 3)?;
        let (from, to) = (values(&x)?, values(&y)?);
        // Channel c · 9 + i · 3 + j of pixel (h, w) is pixel (3h + i, 3w + j) of channel c.
        let at = |c: usize, i: usize, j: usize, h: usize, w: usize| {
            (
                from[((c * 9 + i * 3 + j) * 2 + h) * 3 + w],
                to[(c * 6 + h * 3 + i) * 9 + w * 3 + j],
            )
        };
        for (c, i, j, h, w) in [(0, 0, 0, 0, 0), (1, 2, 1, 1, 2), (0, 1, 2, 1, 0)] {
            let (from, to) = at(c, i, j, h, w);
            assert_eq!(from, to);
        }
        assert_near(&pixel_unshuffle(&y, 3)?, &[2, 18, 2, 3], &from, 0.0);
        assert_eq!(pixel_shuffle(&x.narrow(0, 0, 0)?, 3)?.dims(), [0, 2, 6, 9]);
        Ok(())
    }

    #[test]
    fn what_cannot_be_split_is_an_error() -> Result<()> {
        let x = Tensor::zeros((1, 6, 4, 4), DType::F32, &Device::Cpu)?;
        for factor in [0, 2, usize::MAX] {
            assert!(pixel_shuffle(&x, factor).is_err());
        }
        for factor in [0, 3, usize::MAX] {
            assert!(pixel_unshuffle(&x, factor).is_err());
        }
        assert!(pixel_shuffle(&x.get(0)?, 1).is_err());
        assert!(replication_pad2d(&x.narrow(3, 0, 0)?, 1).is_err());
        Ok(())
    }

    #[test]
    fn padding_repeats_the_border() -> Result<()> {
        let x = Tensor::new(&[[1f64, 2.], [3., 4.]], &Device::Cpu)?;
        let want: Vec<f64> = [[1., 1., 1., 2., 2., 2.]; 3]
            .into_iter()
            .chain([[3., 3., 3., 4., 4., 4.]; 3])
            .flatten()
            .collect();
        let padded = replication_pad2d(&x.reshape((1, 1, 2, 2))?, 2)?;
        assert_near(&padded, &[1, 1, 6, 6], &want, 0.0);
        check_gradients(&[x], |x| replication_pad2d(&x[0], 2))
    }

    #[test]
    fn gradients() -> Result<()> {
        let x = [numbers(&[1, 4, 2, 2], DType::F64)?];
        check_gradients(&x, |x| pixel_shuffle(&x[0], 2))?;
        check_gradients(&x, |x| pixel_unshuffle(&x[0], 2))
    }
}
