//! What the system is told of memory: that large pages would serve it well.
//!
//! An operation over tens of megabytes walks thousands of pages of 4 KiB, each with its entry in
//! the translation buffers, and each wherever the system had one free: pages that fall on the same
//! places of the last-level cache push each other out. A page of 2 MiB is one entry, and fills all
//! places alike. Linux gives them to who asks, by default; elsewhere nothing is asked.

/// The usual large page. Where they are larger, the system rounds for itself.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Smaller memory has too few whole large pages to gain.
const ADVISED_BYTES_MIN: usize = 2 * HUGE_PAGE_BYTES;

/// Asks the system for large pages under `memory`, best before it is first written to. The values
/// stay what they are, and a refusal costs speed only.
///
/// ```
/// let mut buffer = vec![0.0_f32; 4 << 20];
/// tallow_threads::prefer_huge_pages(&mut buffer);
/// assert!(buffer.iter().all(|&value| value == 0.0));
/// ```
pub fn prefer_huge_pages<T>(memory: &mut [T]) {
    if size_of_val(memory) < ADVISED_BYTES_MIN {
        return;
    }
    // At least one whole large page lies within, so the first boundary is no further than the last.
    let bytes = memory.as_mut_ptr_range();
    let start = bytes.start.addr().next_multiple_of(HUGE_PAGE_BYTES);
    let end = bytes.end.addr() / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
    advise(start, end - start);
}

#[cfg(all(any(target_os = "linux", target_os = "android"), not(miri)))]
fn advise(start: usize, len: usize) {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        fn madvise(start: *mut c_void, len: usize, advice: c_int) -> c_int;
    }
    /// `MADV_HUGEPAGE` of `asm-generic/mman-common.h`.
    const HUGE_PAGE: c_int = 14;
    // SAFETY: the caller has whole pages within one borrowed slice, and this advice changes no
    // contents and no protection, only how the system backs them. The status is of no interest.
    unsafe { madvise(std::ptr::without_provenance_mut(start), len, HUGE_PAGE) };
}

#[cfg(not(all(any(target_os = "linux", target_os = "android"), not(miri))))]
fn advise(_start: usize, _len: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_at_any_length_and_offset() {
        let mut memory = vec![7_u8; 9 << 20];
        let marks = [0, 4, 4095, (4 << 20) - 1, 5 << 20, (9 << 20) - 1];
        for mark in marks {
            memory[mark] = 9;
        }
        for (start, end) in [(0, 0), (0, 5), (1, 9 << 20), (4095, 5 << 20), (77, 4 << 20)] {
            prefer_huge_pages(&mut memory[start..end]);
        }
        // Miri would take minutes to look at millions.
        if !cfg!(miri) {
            let sum: usize = memory.iter().map(|&byte| usize::from(byte)).sum();
            assert_eq!(sum, 7 * (9 << 20) + 2 * marks.len());
        }
        assert!(marks.iter().all(|&mark| memory[mark] == 9));
    }
}
