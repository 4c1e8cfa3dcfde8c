//! From f64 to a narrow float with one rounding, by way of f32.

/// Rounded to f32 towards 0, with the last bit set if anything was lost ("to odd"). Rounding that
/// to nearest in a format of 21 bits or fewer gives what one rounding of the f64 gives (Boldo and
/// Melquiond 2008).
#[inline(always)]
pub(crate) fn round_to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    let towards_zero = nearest.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(towards_zero | u32::from(back != x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn a_value_above_a_tie_goes_up() {
        // 61.125 lies between the bf16 numbers 61 and 61.25; the f64 next above it goes up.
        assert_eq!(bf16::from_f32(round_to_odd(61.125)).to_f32(), 61.0);
        assert_eq!(
            bf16::from_f32(round_to_odd(61.125f64.next_up())).to_f32(),
            61.25
        );
        assert_eq!(
            bf16::from_f32(round_to_odd(-61.125f64.next_up())).to_f32(),
            -61.25
        );
        assert_eq!(f16::from_f32(round_to_odd(1e300)), f16::INFINITY);
        assert!(round_to_odd(f64::NAN).is_nan());
    }
}
