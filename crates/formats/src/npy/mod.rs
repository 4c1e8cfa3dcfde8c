//! npy, NumPy's file of one array, and npz, a zip archive of them.
//!
//! ```text
//! "\x93NUMPY"   version (2 bytes)   header length (u16 in version 1, u32 in 2 and 3)
//! header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   padding, newline
//! data: elements, row-major, or column-major if fortran_order
//! ```
//!
//! Element types are read in either byte order: `b1`, `i1` to `i8`, `u1` to `u8`, `f2` to `f8`.
//! Complex numbers, texts, dates, records and `longdouble` (whose bits depend on the machine that
//! wrote it) are errors that name the type.
//!
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

mod archive;
mod literal;

use std::borrow::Cow;
use std::path::Path;

pub use archive::{Npz, NpzWriter};
use literal::{Literal, dictionary};

use crate::element::Element;
use crate::error::{Error, Quoted, Result, printable};
use crate::source::{SharedBytes, Source};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// NumPy's own limit.
const MAX_RANK: usize = 64;
/// Data begin at a multiple of this, so that a mapped file is aligned for any element.
const ALIGNMENT: usize = 64;

/// What the header of one array says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub element: Element,
    /// True if the highest byte of an element comes first.
    pub big_endian: bool,
    /// True if the first index runs fastest (column-major).
    pub fortran_order: bool,
    /// The shape.
    pub shape: Vec<usize>,
    /// Where the data begin.
    pub byte_offset: usize,
    /// Bytes of data.
    pub byte_len: usize,
}

/// One array: its header, and its data.
///
/// ```
/// use tallow_formats::{Element, npy};
/// let mut bytes = npy::header(Element::U8, &[3]);
/// bytes.extend([7, 8, 9]);
/// let array = npy::Array::from_bytes(bytes)?;
/// assert_eq!(array.header().shape, [3]);
/// assert_eq!(*array.data(), [7, 8, 9]);
/// # Ok::<(), tallow_formats::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Array {
    header: Header,
    data: SharedBytes,
}

impl Array {
    /// Maps the file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let source = Source::map("npy", path.as_ref())?;
        let len = source.as_slice().len();
        Self::from_shared(&SharedBytes::new(source.into(), 0..len))
    }

    /// Reads a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::from_shared(&SharedBytes::owned(bytes))
    }

    fn from_shared(bytes: &SharedBytes) -> Result<Self> {
        let header = Header::decode(bytes)?;
        let end = header.byte_offset.checked_add(header.byte_len);
        match end.filter(|&end| end <= bytes.len()) {
            Some(end) => {
                let data = bytes.part(header.byte_offset..end);
                Ok(Array { header, data })
            }
            None => Err(malformed(format!(
                "shape {:?} of {} takes {} bytes from byte {:#x} on; there are {} (is it cut \
                 short?)",
                header.shape,
                header.element,
                header.byte_len,
                header.byte_offset,
                bytes.len()
            ))),
        }
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The elements with the lowest byte first, in the file's order (see
    /// [`Header::fortran_order`]).
    pub fn data(&self) -> Cow<'_, [u8]> {
        let Header {
            element,
            big_endian,
            ..
        } = self.header;
        element.little_endian(&self.data, big_endian)
    }
}

impl Header {
    /// Parses the header at the beginning of `bytes`, which need not have all data.
    fn decode(bytes: &[u8]) -> Result<Self> {
        let (text, byte_offset) = header_text(bytes)?;
        let entries = dictionary(text).map_err(malformed)?;
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        for (key, value) in entries {
            match (key, value) {
                ("descr", Literal::Text(text)) => descr = Some(text),
                ("fortran_order", Literal::Bool(value)) => fortran_order = Some(value),
                ("shape", Literal::Tuple(dims)) => shape = Some(dims),
                (key, value) => {
                    let key = Quoted(key);
                    let value = printable(&format_args!("{value:?}"));
                    return Err(malformed(format!("header: {key} is {value}; unexpected")));
                }
            }
        }
        let (Some(descr), Some(fortran_order), Some(dims)) = (descr, fortran_order, shape) else {
            return Err(malformed(
                "header: one of descr, fortran_order and shape is missing".to_string(),
            ));
        };
        let (element, big_endian) = element(descr).ok_or_else(|| {
            let known = "bool, integers and floats of 16, 32 and 64 bits";
            malformed(format!(
                "dtype {} cannot be read; known: {known}",
                Quoted(descr)
            ))
        })?;
        if dims.len() > MAX_RANK {
            let rank = dims.len();
            return Err(malformed(format!("{rank} dims; {MAX_RANK} at most")));
        }
        let too_large = || malformed(format!("shape {dims:?} is larger than memory"));
        let shape: Vec<usize> = dims
            .iter()
            .map(|&dim| usize::try_from(dim).map_err(|_| too_large()))
            .collect::<Result<_>>()?;
        let byte_len = element.bytes_of(&shape).ok_or_else(too_large)?;
        Ok(Header {
            element,
            big_endian,
            fortran_order,
            shape,
            byte_offset,
            byte_len,
        })
    }
}

/// The header's text, and where the data begin.
fn header_text(bytes: &[u8]) -> Result<(&str, usize)> {
    let early = || {
        malformed(format!(
            "file ends early: in the header; it has {} bytes",
            bytes.len()
        ))
    };
    if !bytes.starts_with(MAGIC) {
        let shown = bytes[..bytes.len().min(MAGIC.len())].escape_ascii();
        return Err(malformed(format!(
            "wrong magic \"{shown}\": an npy file begins with \"{}\"",
            MAGIC.escape_ascii()
        )));
    }
    let rest = &bytes[MAGIC.len()..];
    let [major, _minor, rest @ ..] = rest else {
        return Err(early());
    };
    let (len, rest) = match major {
        1 => {
            let (len, rest) = rest.split_first_chunk::<2>().ok_or_else(early)?;
            (u16::from_le_bytes(*len) as usize, rest)
        }
        2 | 3 => {
            let (len, rest) = rest.split_first_chunk::<4>().ok_or_else(early)?;
            (u32::from_le_bytes(*len) as usize, rest)
        }
        _ => {
            return Err(malformed(format!(
                "unknown version {major}; 1, 2 and 3 can be read"
            )));
        }
    };
    let (text, data) = rest.split_at_checked(len).ok_or_else(early)?;
    let text = std::str::from_utf8(text)
        .map_err(|error| malformed(format!("header: byte {} is not UTF-8", error.valid_up_to())))?;
    Ok((text, bytes.len() - data.len()))
}

/// The element of a `descr`, and whether it is big-endian.
fn element(descr: &str) -> Option<(Element, bool)> {
    let (big_endian, kind) = match descr.chars().next()? {
        '>' => (true, &descr[1..]),
        '<' | '|' | '=' => (false, &descr[1..]),
        _ => (false, descr),
    };
    let element = match kind {
        "b1" | "?" => Element::Bool,
        "u1" => Element::U8,
        "i1" => Element::I8,
        "u2" => Element::U16,
        "i2" => Element::I16,
        "u4" => Element::U32,
        "i4" => Element::I32,
        "u8" => Element::U64,
        "i8" => Element::I64,
        "f2" => Element::F16,
        "f4" => Element::F32,
        "f8" => Element::F64,
        _ => return None,
    };
    Some((element, big_endian))
}

/// The bytes of a file before its row-major, little-endian data. What NumPy does not have (`bf16`
/// and the 8-bit floats) is declared as raw bytes.
pub fn header(element: Element, shape: &[usize]) -> Vec<u8> {
    let descr = match element {
        Element::Bool => "|b1",
        Element::U8 => "|u1",
        Element::I8 => "|i1",
        Element::U16 => "<u2",
        Element::I16 => "<i2",
        Element::U32 => "<u4",
        Element::I32 => "<i4",
        Element::U64 => "<u8",
        Element::I64 => "<i8",
        Element::F16 => "<f2",
        Element::F32 => "<f4",
        Element::F64 => "<f8",
        // NumPy keeps what it does not know as raw bytes.
        Element::BF16 => "<V2",
        Element::F8E4M3 | Element::F8E5M2 => "|V1",
    };
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let dims = dims.join(", ");
    let mut text =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}{comma}), }}");
    // Version 2 counts the header in 4 bytes, which only a rank of thousands needs.
    let wide = text.len() > usize::from(u16::MAX) - 2 * ALIGNMENT;
    let prefix = MAGIC.len() + 2 + if wide { 4 } else { 2 };
    let len = (prefix + text.len() + 1).next_multiple_of(ALIGNMENT) - prefix;
    text.extend(std::iter::repeat_n(' ', len - 1 - text.len()));
    text.push('\n');
    let mut bytes = MAGIC.to_vec();
    if wide {
        bytes.extend([2, 0]);
        bytes.extend((len as u32).to_le_bytes());
    } else {
        bytes.extend([1, 0]);
        bytes.extend((len as u16).to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes
}

fn malformed(problem: String) -> Error {
    Error::Malformed {
        format: "npy",
        problem,
    }
}
