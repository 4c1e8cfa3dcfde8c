//! Rows of keys with their places, sorted by radix.
//!
//! A key of up to four bytes is packed above its place into one u64, so that equal keys keep their
//! order whatever sorts them; longer keys are pairs of key and place. Rows of at least
//! [`RADIX_MIN`] elements are sorted byte by byte, the least significant first: one pass counts all
//! bytes, and each byte that is not the same everywhere costs a pass between two buffers. Shorter
//! rows are left to the standard library's sort. For the first `count` of a long row, a selection
//! comes first. A thread takes whole rows.

use super::key::Keyed;
use crate::cpu::map::Cost;
use crate::cpu::{CpuView, View, copy, recycle};
use crate::{CpuStorage, Result};

/// Shorter rows are sorted by comparison: a pass clears and sums 256 counters, about as much work
/// as moving 256 elements.
const RADIX_MIN: usize = 160;

/// Counters of a byte's values.
type Counts = [u32; 256];

pub(super) fn arg_sort(ascending: bool, x: CpuView<'_>, out: &mut [u32]) -> Result<()> {
    crate::with_dtype!(x.dtype(), "sort", T in all => {
        sort_rows(x.typed::<T>()?, ascending, out);
        Ok(())
    })
}

fn sort_rows<T: Keyed>(x: View<'_, T>, ascending: bool, out: &mut [u32]) {
    let packed = x.contiguous().is_none().then(|| {
        let mut packed = recycle::take::<T>(x.count());
        copy::copy(x, &mut packed);
        packed
    });
    let data = packed.as_deref().unwrap_or(x.data);
    let len = x.dims.last().copied().unwrap_or(1);
    let rows = data.len() / len;
    let count = out.len() / rows;
    let rows_min = (Cost::Heavy.min_chunk() / len).max(1);
    let chunk = tallow_threads::chunk_len(rows, rows_min);
    tallow_threads::parallel_chunks_mut(out, chunk * count, |index, part| {
        let rows = data[index * chunk * len..].chunks_exact(len);
        match T::BYTES {
            ..=4 => sort_part::<T, u64>(rows, part, ascending, count),
            _ => sort_part::<T, Pair>(rows, part, ascending, count),
        }
    });
    if let Some(packed) = packed {
        recycle::give(packed);
    }
}

/// The elements of each row of `x` at the places that `order`, row-major, has for it.
pub(super) fn in_order(x: CpuView<'_>, order: &[u32], out: &mut CpuStorage) -> Result<()> {
    crate::with_dtype!(x.dtype(), "sort", T in all => {
        let (x, out) = (x.typed::<T>()?, out.as_mut_slice::<T>()?);
        let packed = x.contiguous().is_none().then(|| {
            let mut packed = recycle::take::<T>(x.count());
            copy::copy(x, &mut packed);
            packed
        });
        let data = packed.as_deref().unwrap_or(x.data);
        let len = x.dims.last().copied().unwrap_or(1);
        let rows = data.len() / len;
        let count = out.len() / rows;
        let chunk = tallow_threads::chunk_len(rows, (Cost::Light.min_chunk() / count).max(1));
        tallow_threads::parallel_chunks_mut(out, chunk * count, |index, part| {
            let rows = data[index * chunk * len..].chunks_exact(len);
            let orders = order[index * chunk * count..].chunks_exact(count);
            for ((row, order), out) in rows.zip(orders).zip(part.chunks_exact_mut(count)) {
                for (slot, &place) in out.iter_mut().zip(order) {
                    *slot = row[place as usize];
                }
            }
        });
        if let Some(packed) = packed {
            recycle::give(packed);
        }
        Ok(())
    })
}

/// A key with its place.
trait Item: Copy + Default + Ord {
    fn new(key: u64, place: u32) -> Self;
    fn place(self) -> u32;
    /// The key's byte of this number, the least significant first.
    fn byte(self, number: usize) -> usize;
}

impl Item for u64 {
    #[inline(always)]
    fn new(key: u64, place: u32) -> Self {
        key << 32 | u64::from(place)
    }
    #[inline(always)]
    fn place(self) -> u32 {
        self as u32
    }
    #[inline(always)]
    fn byte(self, number: usize) -> usize {
        (self >> (32 + 8 * number)) as usize & 0xFF
    }
}

/// Key and place, ordered in that order.
type Pair = (u64, u32);

impl Item for Pair {
    #[inline(always)]
    fn new(key: u64, place: u32) -> Self {
        (key, place)
    }
    #[inline(always)]
    fn place(self) -> u32 {
        self.1
    }
    #[inline(always)]
    fn byte(self, number: usize) -> usize {
        (self.0 >> (8 * number)) as usize & 0xFF
    }
}

fn sort_part<T: Keyed, I: Item>(
    rows: std::slice::ChunksExact<'_, T>,
    out: &mut [u32],
    ascending: bool,
    count: usize,
) {
    let (mut items, mut other) = (Vec::new(), Vec::new());
    for (row, out) in rows.zip(out.chunks_exact_mut(count)) {
        let keyed = row
            .iter()
            .zip(0..)
            .map(|(value, place)| I::new(value.key(ascending), place));
        items.clear();
        items.extend(keyed);
        if count < row.len() {
            items.select_nth_unstable(count);
            items[..count].sort_unstable();
        } else if count < RADIX_MIN {
            items.sort_unstable();
        } else {
            other.resize(count, I::default());
            match T::BYTES {
                1 => radix_sort::<I, 1>(&mut items, &mut other),
                2 => radix_sort::<I, 2>(&mut items, &mut other),
                4 => radix_sort::<I, 4>(&mut items, &mut other),
                _ => radix_sort::<I, 8>(&mut items, &mut other),
            }
        }
        for (out, item) in out.iter_mut().zip(&items) {
            *out = item.place();
        }
    }
}

/// Sorts by the key's bytes. Equal keys keep their order, which is that of their places.
fn radix_sort<I: Item, const BYTES: usize>(items: &mut [I], other: &mut [I]) {
    let mut counts: [Counts; BYTES] = [[0; 256]; BYTES];
    for item in items.iter() {
        for (number, counts) in counts.iter_mut().enumerate() {
            counts[item.byte(number)] += 1;
        }
    }
    let (mut from, mut to, mut passes) = (items, other, 0);
    for (number, counts) in counts.iter_mut().enumerate() {
        if counts[from[0].byte(number)] as usize == from.len() {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            (start, *count) = (start + *count, start);
        }
        for item in from.iter() {
            let slot = &mut counts[item.byte(number)];
            to[*slot as usize] = *item;
            *slot += 1;
        }
        (from, to) = (to, from);
        passes += 1;
    }
    if passes % 2 == 1 {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random; `bits` of them differ.
    fn numbers(count: usize, bits: u32) -> Vec<u64> {
        let mut state = 1u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 32 & ((1 << bits) - 1)
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn radix_order_is_the_order_of_items() {
        for (count, bits) in [(1, 32), (2, 8), (300, 32), (1000, 9), (500, 16), (200, 0)] {
            let keys = numbers(count, bits);
            let mut items: Vec<u64> = keys
                .iter()
                .zip(0..)
                .map(|(&k, at)| Item::new(k, at))
                .collect();
            let mut want = items.clone();
            want.sort_unstable();
            radix_sort::<_, 4>(&mut items, &mut vec![0; count]);
            assert_eq!(items, want);
            let mut pairs: Vec<Pair> = keys.iter().zip(0..).map(|(&k, at)| (k << 17, at)).collect();
            let mut want = pairs.clone();
            want.sort_unstable();
            radix_sort::<_, 8>(&mut pairs, &mut vec![(0, 0); count]);
            assert_eq!(pairs, want);
        }
    }
}
