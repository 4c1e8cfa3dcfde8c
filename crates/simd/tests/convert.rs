//! 16-bit conversions at every level against the `half` crate.

use half::{bf16, f16};
use tallow_simd::convert::{self, Convert};
use tallow_simd::{dispatch_at, supported_levels};

/// Every 16-bit pattern; a sample of them under Miri.
fn all_patterns() -> Vec<u16> {
    (0..=u16::MAX)
        .step_by(if cfg!(miri) { 509 } else { 1 })
        .collect()
}

#[test]
fn every_f16_and_bf16_widens_as_half_does() {
    let patterns = all_patterns();
    let f16s: Vec<f16> = patterns.iter().map(|&bits| f16::from_bits(bits)).collect();
    let bf16s: Vec<bf16> = patterns.iter().map(|&bits| bf16::from_bits(bits)).collect();
    let mut out = vec![0.0; patterns.len()];
    for level in supported_levels() {
        dispatch_at(
            level,
            Convert {
                src: &f16s,
                dst: &mut out,
            },
        )
        .unwrap();
        for (&narrow, &wide) in f16s.iter().zip(&out) {
            assert_eq!(
                wide.to_bits(),
                narrow.to_f32_const().to_bits(),
                "{level}: {narrow:?}"
            );
        }
        dispatch_at(
            level,
            Convert {
                src: &bf16s,
                dst: &mut out,
            },
        )
        .unwrap();
        for (&narrow, &wide) in bf16s.iter().zip(&out) {
            assert_eq!(
                wide.to_bits(),
                u32::from(narrow.to_bits()) << 16,
                "{level}: {narrow:?}"
            );
        }
    }
}

/// f32 where rounding is decided: each 16-bit value, the middle to the next, and one step beside.
fn critical_f32() -> Vec<f32> {
    let patterns = all_patterns();
    let f16s = patterns
        .iter()
        .map(|&bits| f16::from_bits(bits).to_f32_const().to_bits());
    let bf16s = patterns.iter().map(|&bits| u32::from(bits) << 16);
    let middles = f16s.flat_map(|bits| [bits, bits.wrapping_add(0x1000)]);
    let tiny = (0..2048).map(|k| (k as f32 * 2f32.powi(-26)).to_bits());
    middles
        .chain(bf16s.flat_map(|bits| [bits, bits.wrapping_add(0x8000)]))
        .chain(tiny)
        .flat_map(|bits| [bits.wrapping_sub(1), bits, bits.wrapping_add(1)])
        .map(f32::from_bits)
        .collect()
}

#[test]
fn narrowing_rounds_to_even_as_half_does() {
    let wide = critical_f32();
    let mut f16s = vec![f16::ZERO; wide.len()];
    let mut bf16s = vec![bf16::ZERO; wide.len()];
    for level in supported_levels() {
        dispatch_at(
            level,
            Convert {
                src: &wide,
                dst: &mut f16s,
            },
        )
        .unwrap();
        dispatch_at(
            level,
            Convert {
                src: &wide,
                dst: &mut bf16s,
            },
        )
        .unwrap();
        for ((&x, got), gotb) in wide.iter().zip(&f16s).zip(&bf16s) {
            if x.is_nan() {
                assert!(got.is_nan() && gotb.is_nan(), "{level}: {:#x}", x.to_bits());
                assert_eq!(got.is_sign_negative(), x.is_sign_negative());
            } else {
                assert_eq!(
                    got.to_bits(),
                    f16::from_f32_const(x).to_bits(),
                    "{level}: {x:e}"
                );
                assert_eq!(
                    gotb.to_bits(),
                    bf16::from_f32_const(x).to_bits(),
                    "{level}: {x:e}"
                );
            }
        }
    }
}

#[test]
fn slice_functions_convert_every_length() {
    for len in 0..40 {
        let wide: Vec<f32> = (0..len).map(|k| k as f32 - 3.5).collect();
        let (mut f16s, mut bf16s) = (vec![f16::MAX; len], vec![bf16::MAX; len]);
        convert::f32_to_f16(&wide, &mut f16s);
        convert::f32_to_bf16(&wide, &mut bf16s);
        let (mut back, mut backb) = (vec![0.0; len], vec![0.0; len]);
        convert::f16_to_f32(&f16s, &mut back);
        convert::bf16_to_f32(&bf16s, &mut backb);
        assert_eq!(back, wide);
        assert_eq!(backb, wide);
    }
}

#[test]
#[should_panic(expected = "lengths differ: src 2, dst 3")]
fn different_lengths_are_refused() {
    convert::f32_to_f16(&[0.0; 2], &mut [f16::ZERO; 3]);
}
