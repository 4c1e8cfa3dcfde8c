//! Blocks on a device.

use std::borrow::Cow;

use crate::{Device, Result, bail};
use tallow_formats::SharedBytes;
use tallow_quant::GgmlDType;

/// Blocks of one format, on one of the devices.
#[derive(Debug)]
#[non_exhaustive]
pub enum QStorage {
    /// Main memory.
    Cpu(Blocks),
}

/// Blocks in main memory: memory of their own, or a range of a mapped file.
#[derive(Debug)]
pub struct Blocks {
    dtype: GgmlDType,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Shared(SharedBytes),
    Owned(Vec<u8>),
}

impl Blocks {
    pub(super) fn shared(dtype: GgmlDType, bytes: SharedBytes) -> Self {
        let bytes = Bytes::Shared(bytes);
        Self { dtype, bytes }
    }

    pub(super) fn owned(dtype: GgmlDType, bytes: Vec<u8>) -> Self {
        let bytes = Bytes::Owned(bytes);
        Self { dtype, bytes }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Shared(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
        }
    }

    /// Lets the system take the pages of a mapped file back.
    pub(super) fn advise_dont_need(&self) {
        if let Bytes::Shared(bytes) = &self.bytes {
            bytes.advise_dont_need();
        }
    }
}

impl QStorage {
    /// Takes blocks over, or copies them. Errors if they are no whole number of blocks.
    pub fn from_data(data: Cow<'_, [u8]>, device: &Device, dtype: GgmlDType) -> Result<Self> {
        let (len, block) = (data.len(), dtype.block_bytes());
        if !len.is_multiple_of(block) {
            bail!("qstorage: {len} bytes are no whole blocks of {dtype}, which take {block} bytes");
        }
        require_cpu(device)?;
        Ok(Self::Cpu(Blocks::owned(dtype, data.into_owned())))
    }

    /// The block format.
    pub fn dtype(&self) -> GgmlDType {
        match self {
            Self::Cpu(blocks) => blocks.dtype,
        }
    }

    /// The device that the blocks are on.
    pub fn device(&self) -> Device {
        match self {
            Self::Cpu(_) => Device::Cpu,
        }
    }

    /// How many bytes there are.
    pub fn size_in_bytes(&self) -> usize {
        match self {
            Self::Cpu(blocks) => blocks.bytes().len(),
        }
    }

    /// The bytes, if they are in main memory.
    pub fn data(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::Cpu(blocks) => Ok(Cow::Borrowed(blocks.bytes())),
        }
    }

    pub(super) fn as_cpu(&self) -> &Blocks {
        match self {
            Self::Cpu(blocks) => blocks,
        }
    }
}

/// Blocks live in main memory only.
pub(super) fn require_cpu(device: &Device) -> Result<()> {
    match device.is_cpu() {
        true => Ok(()),
        false => bail!(
            "qtensor: blocks on {:?} are not supported",
            device.location()
        ),
    }
}
