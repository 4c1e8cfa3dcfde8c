//! Files that lie, end early or overflow: each must give an error that says so, in little memory,
//! and never a panic.
//!
//! Memory is measured by the allocator of this program, so tests take turns.

mod archives;
mod gguf;
mod older;
mod safetensors;

#[path = "../support/older.rs"]
mod older_raw;
#[path = "../support/raw.rs"]
mod raw;

use std::sync::{Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;
use tallow_formats::Error;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Held by each test from its first line on.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The header in memory may take a few times the file (an empty array takes 12 bytes there and
/// 40 here, and a growing list holds two copies for a moment); messages and such take the rest.
const BYTES_PER_FILE_BYTE: usize = 16;
const BYTES_MORE: usize = 16 * 1024;

/// Runs `read` on a file of `len` bytes and checks that it took no more memory than it may.
fn bounded<R>(len: usize, read: impl FnOnce() -> R) -> R {
    bounded_by(len, len * BYTES_PER_FILE_BYTE + BYTES_MORE, read)
}

/// As [`bounded`], with a bound of its own.
fn bounded_by<R>(len: usize, bound: usize, read: impl FnOnce() -> R) -> R {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = read();
    let took = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(
        took <= bound,
        "{took} bytes for a file of {len}: more than {bound}"
    );
    result
}

/// Checks that `result` is an error with these words on one line of sane length.
fn assert_says(label: &str, result: Result<(), Error>, words: &str) {
    let message = result.expect_err(label).to_string();
    assert!(
        message.contains(words),
        "{label}: {message:?} lacks {words:?}"
    );
    assert!(
        !message.contains('\n') && message.len() < 1000,
        "{label}: {message:?}"
    );
}

/// Bytes of `file`, one or two of them changed, the same in each run.
fn mutations(file: &[u8], count: u64) -> impl Iterator<Item = Vec<u8>> {
    let interesting = [0, 1, 2, 7, 8, 9, 32, 39, 127, 128, 254, 255];
    (1..=count).map(move |seed| {
        // Steele's SplitMix64.
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = |below: usize| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = state;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) % below as u64) as usize
        };
        let mut bytes = file.to_vec();
        for _ in 0..1 + next(2) {
            let at = next(bytes.len());
            bytes[at] = if next(2) == 0 {
                interesting[next(12)]
            } else {
                next(256) as u8
            };
        }
        bytes
    })
}

/// Fewer where each one takes long.
const MUTATIONS: u64 = if cfg!(miri) { 100 } else { 20_000 };
