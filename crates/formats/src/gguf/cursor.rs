//! Reads little-endian fields in order, never past the end.
//!
//! A count read here has been compared with the bytes that are left: a caller may loop over it,
//! and reserve memory for it, without trusting the file.

use std::fmt::Display;

use crate::error::{Error, Result};

/// What a field is, for messages: text, or `format_args!`.
pub(super) type What<'a> = &'a dyn Display;

/// A position in the bytes of a file.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// True if counts, lengths and dims have 64 bits; version 1 gives them 32.
    wide_counts: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor {
            bytes,
            at: 0,
            wide_counts: true,
        }
    }

    pub(super) fn set_wide_counts(&mut self, wide_counts: bool) {
        self.wide_counts = wide_counts;
    }

    /// The byte at which the next field stands.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes of a count, a length or a dim.
    pub(super) fn count_bytes(&self) -> usize {
        if self.wide_counts { 8 } else { 4 }
    }

    pub(super) fn take(&mut self, len: usize, what: What<'_>) -> Result<&'a [u8]> {
        match self.bytes[self.at..].split_at_checked(len) {
            Some((taken, _)) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(self.ends_early(len as u128, what)),
        }
    }

    pub(super) fn array<const N: usize>(&mut self, what: What<'_>) -> Result<[u8; N]> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.ends_early(N as u128, what)),
        }
    }

    pub(super) fn u32(&mut self, what: What<'_>) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: What<'_>) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A number of as many bits as this version gives a count.
    pub(super) fn size(&mut self, what: What<'_>) -> Result<u64> {
        if self.wide_counts {
            self.u64(what)
        } else {
            Ok(self.u32(what)?.into())
        }
    }

    /// The number of items to come, each of at least `item_bytes` bytes.
    pub(super) fn count(&mut self, item_bytes: usize, what: What<'_>) -> Result<usize> {
        let at = self.at;
        let count = self.size(what)?;
        let needed = u128::from(count) * item_bytes as u128;
        if needed > self.remaining() as u128 {
            let problem = format!(
                "{what} is {count} at byte {at:#x}: this takes {needed} bytes or more; {} are left",
                self.remaining()
            );
            return Err(malformed(problem));
        }
        // The file is in memory, so what fits in the rest of it fits a usize.
        Ok(count as usize)
    }

    /// A string: its length in bytes, then UTF-8 text.
    pub(super) fn string(&mut self, what: What<'_>) -> Result<&'a str> {
        let len = self.count(1, &format_args!("length of {what}"))?;
        let at = self.at;
        let bytes = self.take(len, what)?;
        std::str::from_utf8(bytes).map_err(|error| {
            let bad = at + error.valid_up_to();
            malformed(format!(
                "{what} at byte {at:#x} is not UTF-8: byte {bad:#x} is wrong"
            ))
        })
    }

    fn ends_early(&self, needed: u128, what: What<'_>) -> Error {
        malformed(format!(
            "file ends early: {what} at byte {:#x} takes {needed} bytes; {} are left",
            self.at,
            self.remaining()
        ))
    }
}

pub(super) fn malformed(problem: String) -> Error {
    Error::Malformed {
        format: "gguf",
        problem,
    }
}
