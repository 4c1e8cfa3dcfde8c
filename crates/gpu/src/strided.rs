//! Strided views as kernels take them: dimensions merged, divisions made multiplications.
//!
//! A kernel finds element `i` of a view by taking `i` apart, last dimension first:
//! `i = (…(i0·n1 + i1)·n2 + …)`. For counts below 2³¹ each division by a size `n` is
//! `(mulhi(i, magic) + i) >> shift` with `shift = ⌈log2 n⌉` and
//! `magic = ⌊2³²·(2^shift − n)/n⌋ + 1` (Granlund and Montgomery 1994). Larger counts divide.

/// The most dimensions that are left after merging.
pub const DIMS_MAX: usize = 12;

crate::params! {
    /// The sizes that views share.
    pub struct Dims {
        /// The sizes, the last one first.
        pub size: [u64; 12],
        /// Multipliers for the sizes.
        pub magic: [u32; 12],
        /// Shifts for the sizes.
        pub shift: [u32; 12],
        /// How many there are.
        pub rank: u32,
        /// Nothing.
        pub unused: u32,
    }
}

/// A view's strides in elements, in the order of [`Dims`].
pub type Strides = [u64; DIMS_MAX];

/// Views of one shape, merged: dimensions of size 1 are dropped, and neighbours that all views walk
/// through as one become one. `None` if more than [`DIMS_MAX`] dimensions are left.
pub fn merge<const N: usize>(
    dims: &[usize],
    strides: [&[usize]; N],
) -> Option<(Dims, [Strides; N])> {
    let mut out = Dims {
        size: [1; DIMS_MAX],
        magic: [1; DIMS_MAX],
        shift: [0; DIMS_MAX],
        rank: 0,
        unused: 0,
    };
    let mut merged = [[0u64; DIMS_MAX]; N];
    let mut rank = 0usize;
    for at in (0..dims.len()).rev().filter(|at| dims[*at] != 1) {
        let size = dims[at] as u64;
        let inner = rank.checked_sub(1);
        let joins = inner.filter(|&inner| {
            let pairs = strides.iter().zip(&merged);
            let mut pairs = pairs.map(|(strides, merged)| (strides[at] as u64, merged[inner]));
            pairs.all(|(stride, of_inner)| stride == of_inner.wrapping_mul(out.size[inner]))
        });
        if let Some(inner) = joins {
            out.size[inner] *= size;
            continue;
        }
        if rank == DIMS_MAX {
            return None;
        }
        out.size[rank] = size;
        (0..N).for_each(|view| merged[view][rank] = strides[view][at] as u64);
        rank += 1;
    }
    out.rank = rank as u32;
    for at in 0..rank {
        if let Ok(divisor) = u32::try_from(out.size[at]) {
            (out.magic[at], out.shift[at]) = magic(divisor);
        }
    }
    Some((out, merged))
}

/// The multiplier and the shift for a divisor of at least 1.
fn magic(divisor: u32) -> (u32, u32) {
    let shift = u32::BITS - (divisor - 1).leading_zeros();
    let excess = (1u64 << shift) - u64::from(divisor);
    let magic = ((excess << 32) / u64::from(divisor)) as u32 + 1;
    (magic, shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_right_below_two_to_the_31() {
        let divide = |i: u32, divisor| {
            let (magic, shift) = magic(divisor);
            let high = (u64::from(i) * u64::from(magic)) >> 32;
            (high as u32 + i) >> shift
        };
        let most = (1u32 << 31) - 1;
        for divisor in (1..2000).chain([65_535, 65_536, 65_537, 1 << 30, most]) {
            for i in [
                0,
                1,
                divisor - 1,
                divisor,
                divisor.saturating_mul(7) - 1,
                most - 1,
                most,
            ] {
                let i = i.min(most);
                assert_eq!(divide(i, divisor), i / divisor, "{i} / {divisor}");
            }
        }
    }

    #[test]
    fn neighbours_that_all_views_walk_as_one_merge() {
        let dims = [2, 3, 1, 4];
        let (merged, [a]) = merge(&dims, [&[12, 4, 99, 1]]).unwrap();
        assert_eq!((merged.rank, merged.size[0], a[0]), (1, 24, 1));
        let (merged, [a, b]) = merge(&dims, [&[12, 4, 4, 1], &[0, 1, 0, 0]]).unwrap();
        assert_eq!((merged.rank, &merged.size[..3]), (3, &[4, 3, 2][..]));
        assert_eq!((&a[..3], &b[..3]), (&[1, 4, 12][..], &[0, 1, 0][..]));
        assert_eq!(merge(&[], [&[]]).unwrap().0.rank, 0);
        assert!(merge(&[2; 13], [&[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]]).is_none());
    }
}
