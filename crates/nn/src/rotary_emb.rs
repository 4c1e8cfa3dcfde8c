//! Rotary position embedding (Su et al. 2021): pairs of features turned by an angle that grows with
//! the position.
//!
//! cos and sin are `[len, head_dim / 2]`, or `[batch, len, head_dim / 2]`; more rows than `len` are
//! allowed, and the first ones count. A pair (a, b) becomes (a·cos − b·sin, a·sin + b·cos).

use tallow::{Result, Tensor, bail, ops};

/// Turns pairs of neighbours, features 2i and 2i + 1. x `[batch, heads, len, head_dim]`.
pub fn rope_i(xs: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    ops::rope_i(xs, cos, sin)
}

/// [`rope_i`] by another name.
pub fn rope_i_slow(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    ops::rope_i(x, cos, sin)
}

/// Turns pairs half a head apart, features i and i + head_dim / 2. x is
/// `[batch, heads, len, head_dim]`.
///
/// ```
/// use tallow::{Device, Tensor};
/// let x = Tensor::new(&[1f32, 2.], &Device::Cpu)?.reshape((1, 1, 1, 2))?;
/// let (cos, sin) = (Tensor::new(&[[0f32]], &Device::Cpu)?, Tensor::new(&[[1f32]], &Device::Cpu)?);
/// let y = tallow_nn::rotary_emb::rope(&x, &cos, &sin)?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [-2., 1.]);
/// # Ok::<(), tallow::Error>(())
/// ```
pub fn rope(xs: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    ops::rope(xs, cos, sin)
}

/// [`rope`] by another name.
pub fn rope_slow(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    ops::rope(x, cos, sin)
}

/// [`rope`] where the heads stand behind the positions. x `[batch, len, heads, head_dim]`.
pub fn rope_thd(xs: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let (batch, len, heads, head_dim) = xs.dims4()?;
    // Each position as an example of length 1 with a table of its own: nothing is transposed.
    let flat = xs.reshape((batch * len, heads, 1, head_dim))?;
    let [cos, sin] = [cos, sin].map(|table| each_position(table, batch, len));
    ops::rope(&flat, &cos?, &sin?)?.reshape(xs.shape())
}

/// A table as `[batch · len, 1, features]`.
fn each_position(table: &Tensor, batch: usize, len: usize) -> Result<Tensor> {
    let (rows, features) = match *table.dims() {
        [rows, features] => (rows, features),
        [tables, rows, features] if tables == batch => (rows, features),
        _ => (0, 0),
    };
    if rows < len || (rows == 0 && features == 0) {
        bail!(
            "rope_thd: cos, sin {:?}; want [{len} or more, head_dim / 2] or [{batch}, ...]",
            table.shape()
        );
    }
    let used = table.narrow(table.rank() - 2, 0, len)?;
    used.broadcast_as((batch, len, features))?
        .reshape((batch * len, 1, features))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::differences::{assert_near, check_gradients, numbers, values};
    use tallow::DType;

    /// x `[2, 2, 3, 4]` turned by a loop; `pair` gives the features of pair i.
    fn by_a_loop(x: &[f64], cos: &[f64], sin: &[f64], pair: fn(usize) -> [usize; 2]) -> Vec<f64> {
        let mut out = x.to_vec();
        for (row, head) in x.chunks(4).enumerate() {
            let position = row % 3;
            for i in 0..2 {
                let ([a, b], (cos, sin)) =
                    (pair(i), (cos[position * 2 + i], sin[position * 2 + i]));
                out[row * 4 + a] = head[a] * cos - head[b] * sin;
                out[row * 4 + b] = head[a] * sin + head[b] * cos;
            }
        }
        out
    }

    #[test]
    fn every_order_by_a_loop() -> Result<()> {
        let x = numbers(&[2, 2, 3, 4], DType::F64)?;
        let (cos, sin) = (
            numbers(&[5, 2], DType::F64)?,
            numbers(&[5, 2], DType::F64)?.neg()?,
        );
        let (all, c, s) = (values(&x)?, values(&cos)?, values(&sin)?);
        let halves = by_a_loop(&all, &c, &s, |i| [i, i + 2]);
        let neighbours = by_a_loop(&all, &c, &s, |i| [2 * i, 2 * i + 1]);
        let dims = [2, 2, 3, 4];
        assert_near(&rope(&x, &cos, &sin)?, &dims, &halves, 1e-12);
        assert_near(&rope_slow(&x, &cos, &sin)?, &dims, &halves, 1e-12);
        assert_near(&rope_i(&x, &cos, &sin)?, &dims, &neighbours, 1e-12);
        assert_near(&rope_i_slow(&x, &cos, &sin)?, &dims, &neighbours, 1e-12);
        let behind = x.transpose(1, 2)?;
        let turned = rope_thd(&behind, &cos, &sin)?;
        assert!(turned.is_contiguous());
        assert_near(&turned.transpose(1, 2)?, &dims, &halves, 1e-12);
        let (cos, sin) = (cos.broadcast_as((2, 5, 2))?, sin.broadcast_as((2, 5, 2))?);
        assert_near(
            &rope_thd(&behind, &cos, &sin)?.transpose(1, 2)?,
            &dims,
            &halves,
            1e-12,
        );
        Ok(())
    }

    #[test]
    fn tables_that_do_not_fit_are_errors() -> Result<()> {
        let x = numbers(&[2, 3, 2, 4], DType::F32)?;
        for dims in [vec![2, 2], vec![3, 3], vec![3, 3, 2], vec![2], vec![0, 0]] {
            let table = numbers(&dims, DType::F32)?;
            assert!(rope_thd(&x, &table, &table).is_err(), "{dims:?}");
        }
        let table = numbers(&[3, 2], DType::F32)?;
        assert_eq!(
            rope_thd(&x.narrow(0, 0, 0)?, &table, &table)?.dims(),
            [0, 3, 2, 4]
        );
        Ok(())
    }

    #[test]
    fn gradients() -> Result<()> {
        let operands = [
            numbers(&[1, 2, 3, 4], DType::F64)?,
            numbers(&[3, 2], DType::F64)?,
            numbers(&[3, 2], DType::F64)?.affine(0.5, 0.1)?,
        ];
        check_gradients(&operands[..1], |x| rope(&x[0], &operands[1], &operands[2]))?;
        check_gradients(&operands[..1], |x| {
            rope_i(&x[0], &operands[1], &operands[2])
        })?;
        check_gradients(&operands[..1], |x| {
            rope_thd(&x[0].transpose(1, 2)?, &operands[1], &operands[2])
        })
    }
}
