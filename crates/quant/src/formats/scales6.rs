//! The 12 bytes in which Q4_K and Q5_K keep eight 6-bit scales and eight 6-bit minimums.
//!
//! ```text
//! byte j (0 to 3)       bits 0-5: scale j              bits 6-7: bits 4-5 of scale j + 4
//! byte j + 4            bits 0-5: minimum j            bits 6-7: bits 4-5 of minimum j + 4
//! byte j + 8            bits 0-3: scale j + 4          bits 4-7: minimum j + 4
//! ```

/// Packs scales and minimums below 64.
pub(super) fn pack(scales: &[u8; 8], minimums: &[u8; 8]) -> [u8; 12] {
    let mut bytes = [0; 12];
    for j in 0..4 {
        bytes[j] = scales[j] | (scales[j + 4] >> 4) << 6;
        bytes[j + 4] = minimums[j] | (minimums[j + 4] >> 4) << 6;
        bytes[j + 8] = scales[j + 4] & 15 | (minimums[j + 4] & 15) << 4;
    }
    bytes
}

/// Scales and minimums, eight each. Four bytes at a time: a row's dot product starts with this.
#[inline(always)]
pub(super) fn unpack(bytes: &[u8; 12]) -> ([u8; 8], [u8; 8]) {
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let (a, b, c) = (word(0), word(4), word(8));
    let six = 0x3f3f_3f3f;
    let four = 0x0f0f_0f0f;
    let two_high = 0x3030_3030;
    let scales = u64::from(a & six) | u64::from(c & four | a >> 2 & two_high) << 32;
    let minimums = u64::from(b & six) | u64::from(c >> 4 & four | b >> 2 & two_high) << 32;
    (scales.to_le_bytes(), minimums.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpack_inverts_pack() {
        for start in 0..64u8 {
            let scales = std::array::from_fn(|j| (start + 11 * j as u8) % 64);
            let minimums = std::array::from_fn(|j| (start + 23 * j as u8 + 5) % 64);
            assert_eq!(unpack(&pack(&scales, &minimums)), (scales, minimums));
        }
    }
}
