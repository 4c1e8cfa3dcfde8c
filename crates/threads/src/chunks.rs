//! Regions over the chunks of a slice.

use crate::{DisjointMut, num_threads, parallel_for};

/// Chunks that each thread gets at best: a few, so that a thread which starts late or is slow
/// leaves its share to the others, and the last ones to finish wait for a quarter of a share.
const CHUNKS_PER_THREAD: usize = 4;

/// The chunk length with which `len` items give each thread a few chunks of at least `min_chunk`.
///
/// It is at least 1, and the whole of `len` where one thread would run. It depends on the thread
/// count, so a result that must not may only use it where items do not influence each other.
pub fn chunk_len(len: usize, min_chunk: usize) -> usize {
    let threads = num_threads();
    let share = if threads == 1 {
        len
    } else {
        len.div_ceil(threads * CHUNKS_PER_THREAD)
    };
    share.max(min_chunk).max(1)
}

/// Runs `f(index, chunk)` over `data` in chunks of `chunk` elements (the last may be shorter).
///
/// ```
/// let mut squares = vec![0; 100];
/// tallow_threads::parallel_chunks_mut(&mut squares, 32, |index, chunk| {
///     chunk.iter_mut().enumerate().for_each(|(i, x)| *x = (index * 32 + i).pow(2));
/// });
/// assert_eq!(squares[99], 99 * 99);
/// ```
///
/// # Panics
/// When `chunk` is 0, and when `f` panics.
pub fn parallel_chunks_mut<T: Send>(
    data: &mut [T],
    chunk: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    assert!(
        chunk > 0,
        "parallel_chunks_mut: chunk is 0; it must be at least 1"
    );
    let len = data.len();
    let shared = DisjointMut::new(data);
    parallel_for(len.div_ceil(chunk), |index| {
        let start = index * chunk;
        // SAFETY: `parallel_for` gives each index to one task only, and chunks of different
        // indexes are disjoint.
        let part = unsafe { shared.range(start, chunk.min(len - start)) };
        f(index, part);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::with_num_threads;

    #[test]
    fn chunk_len_gives_each_thread_a_few_chunks() {
        with_num_threads(4, || {
            assert_eq!(chunk_len(1600, 1), 100);
            assert_eq!(chunk_len(1600, 1000), 1000);
            assert_eq!(chunk_len(0, 0), 1);
        });
        with_num_threads(1, || assert_eq!(chunk_len(1600, 10), 1600));
    }

    #[test]
    fn every_element_is_visited_once_at_every_chunk_length() {
        for len in [0, 1, 7, 64, 65] {
            for chunk in [1, 2, 7, 64, 100] {
                let mut data = vec![0; len];
                let run = || {
                    parallel_chunks_mut(&mut data, chunk, |index, part| {
                        for (i, x) in part.iter_mut().enumerate() {
                            *x += index * chunk + i + 1;
                        }
                    });
                };
                // Under Miri the pool of the process, whose workers never end, stays unused.
                if cfg!(miri) {
                    with_num_threads(1, run)
                } else {
                    with_num_threads(3, run)
                }
                assert!(data.iter().copied().eq(1..=len), "len {len}, chunk {chunk}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "chunk is 0")]
    fn a_chunk_length_of_zero_panics() {
        parallel_chunks_mut(&mut [1], 0, |_, _| {});
    }
}
