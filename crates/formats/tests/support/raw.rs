//! Builds GGUF and safetensors files byte by byte, right or wrong, without the crate's writer.
#![allow(
    dead_code,
    reason = "each test program that includes this file uses a part of it"
)]

/// Value type ids of GGUF.
pub(crate) const U8: u32 = 0;
pub(crate) const U32: u32 = 4;
pub(crate) const BOOL: u32 = 7;
pub(crate) const STRING: u32 = 8;
pub(crate) const ARRAY: u32 = 9;

/// A GGUF file under construction.
#[derive(Clone)]
pub(crate) struct Raw {
    pub(crate) bytes: Vec<u8>,
    version: u32,
}

impl Raw {
    /// Magic, version and the two counts.
    pub(crate) fn new(version: u32, tensors: u64, keys: u64) -> Self {
        let mut raw = Raw {
            bytes: b"GGUF".to_vec(),
            version,
        };
        raw.u32(version).count(tensors).count(keys);
        raw
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.push(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.push(&value.to_le_bytes())
    }

    /// A count, a length or a dim: 32 bits in version 1, 64 later.
    pub(crate) fn count(&mut self, value: u64) -> &mut Self {
        if self.version == 1 {
            self.u32(value as u32)
        } else {
            self.u64(value)
        }
    }

    pub(crate) fn string(&mut self, text: &[u8]) -> &mut Self {
        self.count(text.len() as u64).push(text)
    }

    /// A key and the type of its value; the value comes next.
    pub(crate) fn key(&mut self, name: &str, type_id: u32) -> &mut Self {
        self.string(name.as_bytes()).u32(type_id)
    }

    pub(crate) fn tensor(
        &mut self,
        name: &str,
        dims: &[u64],
        type_id: u32,
        offset: u64,
    ) -> &mut Self {
        self.string(name.as_bytes()).u32(dims.len() as u32);
        for &dim in dims {
            self.count(dim);
        }
        self.u32(type_id).u64(offset)
    }

    pub(crate) fn pad(&mut self, alignment: usize) -> &mut Self {
        self.bytes
            .resize(self.bytes.len().next_multiple_of(alignment), 0);
        self
    }

    pub(crate) fn build(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

/// A small file with a value of every type and three tensors: `norm`, f32 [4], bytes 0 to 15 of
/// the data; `weight`, Q4_0 [2, 32], bytes 32 to 67; `half`, f16 [3, 1, 2], bytes 96 to 107.
pub(crate) fn complete_gguf(version: u32) -> Vec<u8> {
    let mut raw = Raw::new(version, 3, 15);
    raw.key("general.architecture", STRING).string(b"llama");
    raw.key("u8", 0).push(&[200]);
    raw.key("i8", 1).push(&[0x80]);
    raw.key("u16", 2).push(&60_000_u16.to_le_bytes());
    raw.key("i16", 3).push(&(-2_i16).to_le_bytes());
    raw.key("u32", 4).u32(4_000_000_000);
    raw.key("i32", 5).push(&(-5_i32).to_le_bytes());
    raw.key("f32", 6).push(&1.5_f32.to_le_bytes());
    raw.key("bool", BOOL).push(&[1]);
    raw.key("u64", 10).u64(u64::MAX);
    raw.key("i64", 11).push(&i64::MIN.to_le_bytes());
    raw.key("f64", 12).push(&0.1_f64.to_le_bytes());
    raw.key("tokens", ARRAY)
        .u32(STRING)
        .count(3)
        .string(b"a")
        .string(b"")
        .string("çé".as_bytes());
    raw.key("scores", ARRAY).u32(6).count(2);
    raw.push(&0.25_f32.to_le_bytes())
        .push(&(-1_f32).to_le_bytes());
    raw.key("nested", ARRAY).u32(ARRAY).count(2);
    raw.u32(U8).count(2).push(&[1, 2]);
    raw.u32(BOOL).count(1).push(&[0]);
    raw.tensor("norm", &[4], 0, 0);
    raw.tensor("weight", &[32, 2], 2, 32);
    raw.tensor("half", &[2, 1, 3], 1, 96);
    raw.pad(32);
    let used = |byte| matches!(byte, 0..16 | 32..68 | 96..);
    let data: Vec<u8> = (0..108)
        .map(|byte| if used(byte) { byte } else { 0 })
        .collect();
    raw.push(&data).build()
}

/// A file with this header text and data.
pub(crate) fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// A small file with two texts and three tensors: `a` F32 [2, 2], `b` U8 [3], `c` BF16 [0].
pub(crate) fn complete_safetensors() -> Vec<u8> {
    let header = r#"{"__metadata__":{"format":"pt","note":"çé"},
        "b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]},
        "c":{"dtype":"BF16","shape":[0],"data_offsets":[19,19]},
        "a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#;
    safetensors(header, &(0..19).collect::<Vec<u8>>())
}
