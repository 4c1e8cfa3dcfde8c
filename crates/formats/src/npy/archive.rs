//! npz: a zip archive with an npy file for each array, `weight.npy` for the name `weight`.

use std::io::Write;
use std::path::Path;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::{Array, Header, malformed};
use crate::archive::Archive;
use crate::atomic_file::AtomicFile;
use crate::error::{Error, Result};

const SUFFIX: &str = ".npy";
/// A header of version 1 and what comes before it.
const FIRST_BYTES: u64 = 10 + u16::MAX as u64;

/// An open npz file; arrays are read one by one.
#[derive(Debug, Clone)]
pub struct Npz {
    archive: Archive,
}

impl Npz {
    /// Maps the file at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let archive = Archive::open("npz", path.as_ref())?;
        Ok(Npz { archive })
    }

    /// Reads a file that is in memory already.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        let archive = Archive::from_bytes("npz", bytes)?;
        Ok(Npz { archive })
    }

    /// The names of the arrays, in the order of the archive.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.archive
            .names()
            .filter_map(|name| name.strip_suffix(SUFFIX))
    }

    /// True if there is an array of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.archive.contains(&entry(name))
    }

    /// What the header of an array says.
    pub fn header(&self, name: &str) -> Result<Header> {
        let first = self.archive.first_bytes(&entry(name), FIRST_BYTES)?;
        match Header::decode(&first) {
            // A longer header has come in part only.
            Err(_) if first.len() as u64 == FIRST_BYTES => {
                Header::decode(&self.archive.bytes(&entry(name))?)
            }
            decoded => decoded,
        }
    }

    /// One array.
    pub fn array(&self, name: &str) -> Result<Array> {
        Array::from_shared(&self.archive.bytes(&entry(name))?)
    }
}

fn entry(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// Writes an npz file; it appears at its path, whole, when [`NpzWriter::finish`] returns. Arrays
/// are stored as they are, so that they can be mapped.
#[derive(Debug)]
pub struct NpzWriter {
    zip: ZipWriter<AtomicFile>,
}

impl NpzWriter {
    /// Begins a file that will stand at `path`.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file =
            AtomicFile::create(path).map_err(|source| Error::io("npz", "create", path, source))?;
        let zip = ZipWriter::new(file);
        Ok(NpzWriter { zip })
    }

    /// Adds an array: the bytes of [`header`](super::header), then its data.
    pub fn add(&mut self, name: &str, header: &[u8], data: &[u8]) -> Result<()> {
        let large = header.len() as u64 + data.len() as u64 >= u64::from(u32::MAX);
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .large_file(large);
        let fail = |error: &dyn std::fmt::Display| {
            malformed(format!("array {}: {error}", crate::error::Quoted(name)))
        };
        self.zip
            .start_file(entry(name), options)
            .map_err(|error| fail(&error))?;
        self.zip
            .write_all(header)
            .and_then(|()| self.zip.write_all(data))
            .map_err(|error| fail(&error))
    }

    /// Brings the file to the disk and puts it in its place.
    pub fn finish(self) -> Result<()> {
        let file = self
            .zip
            .finish()
            .map_err(|error| malformed(error.to_string()))?;
        let path = file.target().to_path_buf();
        file.finish()
            .map_err(|source| Error::io("npz", "finish", &path, source))
    }
}
