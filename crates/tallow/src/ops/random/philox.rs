//! Philox4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2,
//! 3"): ten rounds that mix a counter of four words with a key of two.
//!
//! ```text
//! one round   (a, b, c, d) → (hi(M1·c) ⊕ b ⊕ k0,  lo(M1·c),  hi(M0·a) ⊕ d ⊕ k1,  lo(M0·a))
//! and then    k0 += W0,  k1 += W1
//! ```
//!
//! Here the key is the seed and the counter the block's number, low word first.

/// Blocks that are mixed together: a vector's worth of each word.
pub(super) const WIDE: usize = 16;

const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

/// The words of [`WIDE`] blocks from number `first` on: word `w` of block `b` is `[w][b]`.
#[inline(always)]
pub(super) fn blocks(seed: u64, first: u64) -> [[u32; WIDE]; 4] {
    let mut words = [[0; WIDE]; 4];
    let [low, high, ..] = &mut words;
    for ((low, high), block) in low.iter_mut().zip(high).zip(0..) {
        let number = first.wrapping_add(block);
        (*low, *high) = (number as u32, (number >> 32) as u32);
    }
    mix(words, [seed as u32, (seed >> 32) as u32])
}

#[inline(always)]
fn mix(mut words: [[u32; WIDE]; 4], mut key: [u32; 2]) -> [[u32; WIDE]; 4] {
    for _ in 0..ROUNDS {
        let [a, b, c, d] = words;
        for at in 0..WIDE {
            let left = u64::from(MULTIPLIERS[0]) * u64::from(a[at]);
            let right = u64::from(MULTIPLIERS[1]) * u64::from(c[at]);
            words[0][at] = (right >> 32) as u32 ^ b[at] ^ key[0];
            words[1][at] = right as u32;
            words[2][at] = (left >> 32) as u32 ^ d[at] ^ key[1];
            words[3][at] = left as u32;
        }
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers of the authors' Random123 distribution.
    #[test]
    fn published_answers_come_out() {
        let first =
            |counter: [u32; 4], key| mix(counter.map(|word| [word; WIDE]), key).map(|w| w[3]);
        assert_eq!(
            first([0; 4], [0; 2]),
            [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]
        );
        assert_eq!(
            first([u32::MAX; 4], [u32::MAX; 2]),
            [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]
        );
        assert_eq!(
            first(
                [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344],
                [0xA409_3822, 0x299F_31D0]
            ),
            [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]
        );
    }

    #[test]
    fn blocks_are_numbered_across_words() {
        let across = blocks(5, u64::from(u32::MAX) - 3);
        let behind = blocks(5, 1 << 32);
        assert_eq!(across.map(|word| word[4]), behind.map(|word| word[0]));
        let seeds = [blocks(1, 0), blocks(1 << 32, 0)];
        assert_ne!(seeds[0], seeds[1]);
    }
}
