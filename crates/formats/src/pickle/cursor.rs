//! Reads the operands of a pickle's codes, never past the end.

use super::malformed;
use crate::error::Result;

/// A position in a pickle.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, at: 0 }
    }

    /// The byte that comes next.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = usize::try_from(len).ok().and_then(|len| rest.get(..len));
        match taken {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => Err(malformed(format!(
                "file ends early: byte {:#x} takes {len} bytes; {} are left",
                self.at,
                rest.len()
            ))),
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N as u64)?;
        Ok(*taken.first_chunk().expect("N bytes were taken"))
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Text up to a newline, which is passed.
    pub(super) fn line(&mut self) -> Result<&'a str> {
        let rest = &self.bytes[self.at..];
        let Some(len) = rest.iter().position(|&byte| byte == b'\n') else {
            return Err(malformed(format!(
                "file ends early: in the line at byte {:#x}",
                self.at
            )));
        };
        let line = self.text(len as u64)?;
        self.at += 1;
        Ok(line.trim_end_matches('\r'))
    }

    /// UTF-8 text of this many bytes.
    pub(super) fn text(&mut self, len: u64) -> Result<&'a str> {
        let at = self.at;
        std::str::from_utf8(self.take(len)?)
            .map_err(|_| malformed(format!("text of {len} bytes at byte {at:#x} is not UTF-8")))
    }

    /// A number in a line of decimal digits.
    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        let at = self.at;
        let line = self.line()?;
        line.trim()
            .parse()
            .map_err(|_| malformed(format!("the line at byte {at:#x} is no number that fits")))
    }
}
