//! Reads little-endian fields in order, never past the end.
//!
//! A count read here has been compared with the bytes that are left in the file: a caller may loop
//! over it, and reserve memory for it, without trusting the file. Of a file that is read from a
//! stream only the first bytes may be there; [`Cursor::is_short`] tells that from a broken file.

use std::fmt::Display;

use crate::error::{Error, Result};

/// What a field is, for messages: text, or `format_args!`.
pub(crate) type What<'a> = &'a dyn Display;

/// A position in the bytes of a file.
pub(crate) struct Cursor<'a> {
    /// Begins messages.
    format: &'static str,
    /// The first bytes of the file, or all.
    bytes: &'a [u8],
    at: usize,
    /// Bytes of the whole file.
    file_len: u64,
    /// True once a field was asked for that is in the file, but not in `bytes`.
    is_short: bool,
    /// True if counts, lengths and dims have 64 bits; version 1 gives them 32.
    wide_counts: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(format: &'static str, bytes: &'a [u8], file_len: u64) -> Self {
        Cursor {
            format,
            bytes,
            at: 0,
            file_len,
            is_short: false,
            wide_counts: true,
        }
    }

    pub(crate) fn set_wide_counts(&mut self, wide_counts: bool) {
        self.wide_counts = wide_counts;
    }

    /// The byte at which the next field stands.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// True if an error came of bytes that were not there yet.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    fn remaining(&self) -> u64 {
        self.file_len - self.at as u64
    }

    /// Bytes of a count, a length or a dim.
    pub(crate) fn count_bytes(&self) -> usize {
        if self.wide_counts { 8 } else { 4 }
    }

    pub(crate) fn take(&mut self, len: usize, what: What<'_>) -> Result<&'a [u8]> {
        match self.bytes[self.at..].split_at_checked(len) {
            Some((taken, _)) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(self.ends_early(len as u64, what)),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self, what: What<'_>) -> Result<[u8; N]> {
        match self.bytes[self.at..].first_chunk::<N>() {
            Some(chunk) => {
                self.at += N;
                Ok(*chunk)
            }
            None => Err(self.ends_early(N as u64, what)),
        }
    }

    pub(crate) fn u32(&mut self, what: What<'_>) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: What<'_>) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A number of as many bits as this version gives a count.
    pub(crate) fn size(&mut self, what: What<'_>) -> Result<u64> {
        if self.wide_counts {
            self.u64(what)
        } else {
            Ok(self.u32(what)?.into())
        }
    }

    /// The number of items to come, each of at least `item_bytes` bytes.
    pub(crate) fn count(&mut self, item_bytes: usize, what: What<'_>) -> Result<usize> {
        let at = self.at;
        let count = self.size(what)?;
        self.check_count(count, at, item_bytes, what)
    }

    /// As [`count`](Cursor::count), of a number that was read at byte `at`.
    pub(crate) fn check_count(
        &self,
        count: u64,
        at: usize,
        item_bytes: usize,
        what: What<'_>,
    ) -> Result<usize> {
        let needed = u128::from(count) * item_bytes as u128;
        if needed > u128::from(self.remaining()) {
            let problem = format!(
                "{what} is {count} at byte {at:#x}: this takes {needed} bytes or more; {} are left",
                self.remaining()
            );
            return Err(self.malformed(problem));
        }
        usize::try_from(count)
            .map_err(|_| self.malformed(format!("{what} is {count}: more than memory can hold")))
    }

    /// A string: its length in bytes, then UTF-8 text.
    pub(crate) fn string(&mut self, what: What<'_>) -> Result<&'a str> {
        let len = self.count(1, &format_args!("length of {what}"))?;
        let at = self.at;
        let bytes = self.take(len, what)?;
        std::str::from_utf8(bytes).map_err(|error| {
            let bad = at + error.valid_up_to();
            self.malformed(format!(
                "{what} at byte {at:#x} is not UTF-8: byte {bad:#x} is wrong"
            ))
        })
    }

    fn ends_early(&mut self, needed: u64, what: What<'_>) -> Error {
        self.is_short |= needed <= self.remaining();
        self.malformed(format!(
            "file ends early: {what} at byte {:#x} takes {needed} bytes; {} are left",
            self.at,
            self.remaining()
        ))
    }

    /// An error of this file.
    pub(crate) fn malformed(&self, problem: String) -> Error {
        Error::Malformed {
            format: self.format,
            problem,
        }
    }
}
