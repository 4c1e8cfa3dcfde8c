//! Every way into attention beside a loop over the definition.

use super::cpu_flash::causal::causal_decode_f32_interleaved;
use super::scores::alibi_slopes;
use super::*;
use crate::differences::{assert_near, check_gradients, numbers, values};
use crate::ops::sdpa;
use tallow::{DType, Device, Result};

/// The sizes of a case.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    heads: usize,
    kv_heads: usize,
    q_len: usize,
    kv_len: usize,
    dim: usize,
}

const SIZES: Sizes = Sizes {
    batch: 2,
    heads: 4,
    kv_heads: 2,
    q_len: 3,
    kv_len: 5,
    dim: 4,
};

/// q, k and v, `[batch, heads, len, dim]`.
fn operands(sizes: Sizes, dtype: DType) -> Result<[Tensor; 3]> {
    let Sizes {
        batch,
        heads,
        kv_heads,
        q_len,
        kv_len,
        dim,
    } = sizes;
    let k = numbers(&[batch, kv_heads, kv_len, dim], DType::F64)?;
    let v = k.affine(-0.8, 0.3)?.sin()?;
    let q = numbers(&[batch, heads, q_len, dim], dtype)?;
    Ok([q, k.to_dtype(dtype)?, v.to_dtype(dtype)?])
}

/// The definition; `score` makes a score of (batch, head, query, key, scaled product), and gives
/// none where the query does not see the key.
fn by_a_loop(
    [q, k, v]: &[Tensor; 3],
    sizes: Sizes,
    score: impl Fn([usize; 4], f64) -> Option<f64>,
) -> Result<Vec<f64>> {
    let (q, k, v) = (values(q)?, values(k)?, values(v)?);
    let Sizes {
        batch,
        heads,
        kv_heads,
        q_len,
        kv_len,
        dim,
    } = sizes;
    let mut out = Vec::new();
    for (b, h, i) in
        (0..batch).flat_map(|b| (0..heads).flat_map(move |h| (0..q_len).map(move |i| (b, h, i))))
    {
        let kv = |x: &[f64], j: usize, at: usize| {
            x[((b * kv_heads + h / (heads / kv_heads)) * kv_len + j) * dim + at]
        };
        let query = |at: usize| q[((b * heads + h) * q_len + i) * dim + at];
        let dot = |j: usize| (0..dim).map(|at| query(at) * kv(&k, j, at)).sum::<f64>() * 0.5;
        let weight = |j: usize| score([b, h, i, j], dot(j)).map_or(0.0, f64::exp);
        let total: f64 = (0..kv_len).map(weight).sum();
        for at in 0..dim {
            let sum: f64 = (0..kv_len).map(|j| weight(j) * kv(&v, j, at)).sum();
            out.push(if total == 0.0 { 0.0 } else { sum / total });
        }
    }
    Ok(out)
}

fn flash(x: &[Tensor; 3], mask: AttnMask, bias: Option<f32>, cap: Option<f32>) -> Result<Tensor> {
    let [q, k, v] = x;
    let (q, k, v) = (q.transpose(1, 2)?, k.transpose(1, 2)?, v.transpose(1, 2)?);
    match q.dtype() {
        DType::F64 => flash_attn::<f64>(&q, &k, &v, 0.5, mask, bias, cap),
        DType::F16 => flash_attn::<tallow::f16>(&q, &k, &v, 0.5, mask, bias, cap),
        _ => flash_attn::<f32>(&q, &k, &v, 0.5, mask, bias, cap),
    }
}

const DTYPES: [(DType, f64); 3] = [(DType::F64, 1e-6), (DType::F32, 2e-6), (DType::F16, 3e-3)];

#[test]
fn causal_with_every_offset() -> Result<()> {
    let dims = [2, 4, 3, 4];
    for (dtype, tolerance) in DTYPES {
        let x = operands(SIZES, dtype)?;
        for offset in 0..7 {
            let sees = |[_, _, i, j]: [usize; 4]| j <= i + offset;
            let want = by_a_loop(&x, SIZES, |at, score| sees(at).then_some(score))?;
            let mask = AttnMask::causal_with_offset(offset);
            assert_eq!((mask.is_causal(), mask.kv_offset()), (true, offset));
            assert_near(
                &flash(&x, mask.clone(), None, None)?,
                &dims,
                &want,
                tolerance,
            );
            let capped = |score: f64| 0.7 * (score / 0.7).tanh();
            let want = by_a_loop(&x, SIZES, |at, score| sees(at).then(|| capped(score)))?;
            assert_near(
                &flash(&x, mask.clone(), None, Some(0.7))?,
                &dims,
                &want,
                tolerance,
            );
            let slopes = alibi_slopes(4, 8.0);
            let want = by_a_loop(&x, SIZES, |[b, h, i, j], score| {
                let distance = (j as f64 - (i + offset) as f64).abs();
                sees([b, h, i, j]).then(|| score - slopes[h] * distance)
            })?;
            assert_near(&flash(&x, mask, Some(8.0), None)?, &dims, &want, tolerance);
        }
        let want = by_a_loop(&x, SIZES, |_, score| Some(score))?;
        assert_near(
            &flash(&x, AttnMask::default(), None, None)?,
            &dims,
            &want,
            tolerance,
        );
    }
    Ok(())
}

#[test]
fn masks_of_every_rank() -> Result<()> {
    for (dtype, tolerance) in DTYPES {
        let x = operands(SIZES, dtype)?;
        for shape in [
            vec![3, 5],
            vec![2, 3, 5],
            vec![1, 3, 5],
            vec![2, 1, 3, 5],
            vec![2, 4, 3, 5],
        ] {
            let mask = numbers(&shape, dtype)?;
            let flat = values(&mask)?;
            let strides = |[b, h, i, j]: [usize; 4]| -> usize {
                let (b, h) = match shape[..] {
                    [1, _, _] | [_, _] => (0, 0),
                    [_, _, _] => (b, 0),
                    [_, heads, _, _] => (b * heads, if heads == 1 { 0 } else { h }),
                    _ => unreachable!("shapes above"),
                };
                ((b + h) * 3 + i) * 5 + j
            };
            let want = by_a_loop(&x, SIZES, |at, score| Some(score + flat[strides(at)]))?;
            let got = flash(&x, AttnMask::Mask(mask.clone()), None, None)?;
            assert_near(&got, &[2, 4, 3, 4], &want, tolerance);
            let slopes = alibi_slopes(4, 4.0);
            let want = by_a_loop(&x, SIZES, |at, score| {
                Some(score + slopes[at[1]] * flat[strides(at)])
            })?;
            let got = flash(&x, AttnMask::Mask(mask), Some(4.0), None)?;
            assert_near(&got, &[2, 4, 3, 4], &want, tolerance);
        }
        let nothing = Tensor::full(f32::NEG_INFINITY, (3, 5), &Device::Cpu)?.to_dtype(dtype)?;
        let got = flash(&x, AttnMask::Mask(nothing), None, None)?;
        assert_near(&got, &[2, 4, 3, 4], &[0.0; 96], 0.0);
        let whole = Tensor::ones((3, 5), DType::U8, &Device::Cpu)?;
        assert!(flash(&x, AttnMask::Mask(whole), None, None).is_err());
    }
    Ok(())
}

#[test]
fn sdpa_takes_masks_caps_and_other_sizes_of_values() -> Result<()> {
    for (dtype, tolerance) in DTYPES {
        let x = operands(SIZES, dtype)?;
        let [q, k, v] = &x;
        let mask = numbers(&[2, 1, 3, 5], dtype)?;
        let flat = values(&mask)?;
        let want = by_a_loop(&x, SIZES, |[b, _, i, j], score| {
            (j <= i + 2).then(|| 2.0 * (score / 2.0).tanh() + flat[(b * 3 + i) * 5 + j])
        })?;
        let got = sdpa(q, k, v, Some(&mask), true, 0.5, 2.0)?;
        assert_near(&got, &[2, 4, 3, 4], &want, tolerance);
        let narrow = sdpa(q, k, &v.narrow(3, 0, 1)?, Some(&mask), true, 0.5, 2.0)?;
        let first: Vec<f64> = want.iter().copied().step_by(4).collect();
        assert_near(&narrow, &[2, 4, 3, 1], &first, tolerance);
        let want = by_a_loop(&x, SIZES, |[_, _, i, j], score| {
            (j <= i + 2).then_some(score)
        })?;
        assert_near(
            &sdpa(q, k, v, None, true, 0.5, 1.0)?,
            &[2, 4, 3, 4],
            &want,
            tolerance,
        );
    }
    Ok(())
}

#[test]
fn packed_sequences_see_their_own() -> Result<()> {
    // Lengths of queries and keys; queries may be more than keys, and either may be none.
    let lens = [(2, 4), (3, 2), (1, 1), (2, 0), (0, 3), (4, 4)];
    let (total_q, total_k) = (12, 14);
    let slopes = [0.5, 0.25];
    type Window = (bool, Option<usize>, Option<usize>, bool);
    let windows: [Window; 7] = [
        (false, None, None, false),
        (true, None, None, false),
        (false, Some(1), Some(0), false),
        (true, Some(1), None, false),
        (false, None, Some(1), false),
        (false, Some(0), Some(2), true),
        (true, None, None, true),
    ];
    for (dtype, tolerance) in DTYPES {
        let q = numbers(&[total_q, 2, 4], dtype)?;
        let k = numbers(&[total_k, 1, 4], dtype)?;
        let v = k.affine(-1.0, 0.5)?;
        let ints = |at: fn(&(u32, u32)) -> u32| {
            Tensor::from_iter(lens.map(|(q, k)| at(&(q, k))), &Device::Cpu)
        };
        let (lens_q, lens_k) = (ints(|lens| lens.0)?, ints(|lens| lens.1)?);
        for (causal, left, right, alibi) in windows {
            let mut want = Vec::new();
            let (mut start_q, mut start_k) = (0usize, 0usize);
            for (len_q, len_k) in lens.map(|(q, k)| (q as usize, k as usize)) {
                let part =
                    |x: &Tensor, start, len| x.narrow(0, start, len)?.transpose(0, 1)?.contiguous();
                let x = [
                    part(&q, start_q, len_q)?,
                    part(&k, start_k, len_k)?,
                    part(&v, start_k, len_k)?,
                ];
                let sizes = Sizes {
                    batch: 1,
                    heads: 2,
                    kv_heads: 1,
                    q_len: len_q,
                    kv_len: len_k,
                    dim: 4,
                };
                let out = by_a_loop(&x, sizes, |[_, h, i, j], score| {
                    let place = i as i64 + len_k as i64 - len_q as i64;
                    let behind = j as i64 - place;
                    let right = if causal { Some(0) } else { right };
                    let seen = right.is_none_or(|right| behind <= right as i64)
                        && left.is_none_or(|left| -behind <= left as i64);
                    let fall = if alibi {
                        slopes[h] * behind.abs() as f64
                    } else {
                        0.0
                    };
                    seen.then_some(score - fall)
                })?;
                let out = Tensor::from_vec(out, (2, len_q, 4), &Device::Cpu)?.transpose(0, 1)?;
                want.extend(values(&out)?);
                (start_q, start_k) = (start_q + len_q, start_k + len_k);
            }
            let slopes = Tensor::new(&slopes, &Device::Cpu)?;
            for run in [flash_attn_varlen_cpu, flash_attn_varlen_unfused] {
                let alibi = alibi.then_some(&slopes);
                let got = run(
                    &q, &k, &v, alibi, &lens_q, &lens_k, 4, 4, 0.5, causal, left, right,
                )?;
                assert_near(&got, &[total_q, 2, 4], &want, tolerance);
            }
        }
    }
    Ok(())
}

#[test]
fn one_query_over_interleaved_values() -> Result<()> {
    let (k, v) = (
        numbers(&[1, 2, 5, 4], DType::F32)?,
        numbers(&[1, 2, 5, 4], DType::F32)?.neg()?,
    );
    let q = numbers(&[1, 4, 1, 4], DType::F32)?;
    let kv = Tensor::cat(&[&k, &v], 3)?
        .transpose(1, 2)?
        .flatten_all()?
        .to_vec1::<f32>()?;
    let q_data = q.flatten_all()?.to_vec1::<f32>()?;
    let sizes = Sizes {
        batch: 1,
        q_len: 1,
        ..SIZES
    };
    let want = by_a_loop(&[q, k, v], sizes, |_, score| Some(score))?;
    let got = causal_decode_f32_interleaved(&q_data, &kv, 4, 2, 4, 5, 0.5)?;
    assert_near(&got, &[4, 1, 4], &want, 1e-6);
    assert!(causal_decode_f32_interleaved(&q_data, &kv, 4, 2, 4, 6, 0.5).is_err());
    assert!(causal_decode_f32_interleaved(&q_data, &kv, 5, 2, 4, 5, 0.5).is_err());
    assert!(causal_decode_f32_interleaved(&q_data, &kv, 4, usize::MAX, 4, 5, 0.5).is_err());
    Ok(())
}

#[test]
fn slopes_of_alibi() {
    let near = |got: Vec<f64>, want: &[f64]| {
        assert_eq!(got.len(), want.len());
        assert!(
            got.iter()
                .zip(want)
                .all(|(got, want)| (got - want).abs() < 1e-12),
            "{got:?}"
        );
    };
    near(alibi_slopes(2, 8.0), &[1. / 16., 1. / 256.]);
    near(alibi_slopes(3, 8.0), &[1. / 16., 1. / 256., 1. / 4.]);
    near(alibi_slopes(1, 8.0), &[1. / 256.]);
    near(alibi_slopes(0, 8.0), &[]);
}

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    let [q, k, v] = operands(SIZES, DType::F32)?;
    assert!(sdpa(&q, &k, &v.narrow(2, 0, 2)?, None, false, 0.5, 1.0).is_err());
    assert!(sdpa(&q.narrow(1, 0, 3)?, &k, &v, None, false, 0.5, 1.0).is_err());
    assert!(
        sdpa(
            &q,
            &k.narrow(1, 0, 0)?,
            &v.narrow(1, 0, 0)?,
            None,
            false,
            0.5,
            1.0
        )
        .is_err()
    );
    assert!(sdpa(&q, &k.to_dtype(DType::F64)?, &v, None, false, 0.5, 1.0).is_err());
    assert!(sdpa(&q.get(0)?, &k, &v, None, false, 0.5, 1.0).is_err());
    assert!(flash_attn::<f64>(&q, &k, &v, 0.5, AttnMask::None, None, None).is_err());
    let x = [q.clone(), k.clone(), v.clone()];
    assert!(flash(&x, AttnMask::causal_with_offset(usize::MAX), None, None).is_err());
    let packed = q.get(0)?.transpose(0, 1)?;
    let lens = |lens: &[i64]| Tensor::new(lens, &Device::Cpu);
    let run = |lens_q: &Tensor, lens_k: &Tensor, slopes: Option<&Tensor>| {
        let x = &packed;
        flash_attn_varlen_cpu(
            x, x, x, slopes, lens_q, lens_k, 3, 3, 0.5, false, None, None,
        )
    };
    assert!(run(&lens(&[1, 2])?, &lens(&[3, 0])?, None).is_ok());
    assert!(run(&lens(&[1, 1])?, &lens(&[3, 0])?, None).is_err());
    assert!(run(&lens(&[4, -1])?, &lens(&[3, 0])?, None).is_err());
    assert!(run(&lens(&[3])?, &lens(&[3, 0])?, None).is_err());
    let slopes = numbers(&[3], DType::F32)?;
    assert!(run(&lens(&[3])?, &lens(&[3])?, Some(&slopes)).is_err());
    let none = packed.narrow(0, 0, 0)?;
    let empty = lens(&[])?;
    let got = flash_attn_varlen_cpu(
        &none, &none, &none, None, &empty, &empty, 0, 0, 0.5, true, None, None,
    )?;
    assert_eq!(got.dims(), [0, 4, 4]);
    Ok(())
}

#[test]
fn gradients() -> Result<()> {
    let sizes = Sizes {
        batch: 1,
        heads: 2,
        kv_heads: 1,
        q_len: 2,
        kv_len: 3,
        dim: 2,
    };
    let x = operands(sizes, DType::F64)?;
    let mask = numbers(&[1, 2, 2, 3], DType::F64)?;
    let with_mask = [&x[..], &[mask]].concat();
    check_gradients(&with_mask, |x| {
        sdpa(&x[0], &x[1], &x[2], Some(&x[3]), true, 0.5, 2.0)
    })?;
    check_gradients(&x, |x| {
        let x = [x[0].clone(), x[1].clone(), x[2].clone()];
        flash(&x, AttnMask::causal_with_offset(1), Some(8.0), None)
    })?;
    let lens = Tensor::new(&[2u32], &Device::Cpu)?;
    let lens_k = Tensor::new(&[3u32], &Device::Cpu)?;
    let packed = x.map(|x| x.squeeze(0)?.transpose(0, 1)?.contiguous());
    let packed: Vec<Tensor> = packed.into_iter().collect::<Result<_>>()?;
    check_gradients(&packed, |x| {
        flash_attn_varlen_cpu(
            &x[0],
            &x[1],
            &x[2],
            None,
            &lens,
            &lens_k,
            2,
            3,
            0.5,
            true,
            Some(1),
            None,
        )
    })
}
