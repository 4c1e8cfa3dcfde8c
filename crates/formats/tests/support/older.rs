//! Builds npy, zip, pth and ggml files and importance matrices byte by byte, right or wrong.
#![allow(
    dead_code,
    reason = "each program that includes this file uses a part of it"
)]

/// Little-endian words.
pub(crate) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The magic of ggjt.
pub(crate) const GGJT: u32 = 0x6767_6a74;

/// A file with two tokens, an f32 tensor `norm` [3] and a Q4_0 tensor `w` [2, 32].
pub(crate) fn complete_ggml(version: u32) -> Vec<u8> {
    let mut file = words(&[GGJT, version, 2, 32, 1, 1, 1, 1, 0]);
    for token in ["a", "çé"] {
        file.extend(words(&[token.len() as u32]));
        file.extend(token.as_bytes());
        file.extend(0.5_f32.to_le_bytes());
    }
    for (name, dims, type_id, len) in [("norm", &[3][..], 0, 12), ("w", &[32, 2], 2, 36)] {
        file.extend(words(&[dims.len() as u32, name.len() as u32, type_id]));
        file.extend(words(dims));
        file.extend(name.as_bytes());
        file.resize(file.len().next_multiple_of(32), 0);
        file.extend((0..len).map(|byte| byte as u8));
    }
    file
}

/// Sums of two tensors: `a`, of 2 calls, and one of none.
pub(crate) fn importance_matrix() -> Vec<u8> {
    let mut file = words(&[2]);
    for (name, calls, sums) in [("a", 2, &[1_f32, 3.][..]), ("çé", 0, &[5.])] {
        file.extend(words(&[name.len() as u32]));
        file.extend(name.as_bytes());
        file.extend(words(&[calls, sums.len() as u32]));
        file.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
    }
    file
}

/// An npy file with this header, then `data` bytes of 0.
pub(crate) fn npy(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// An archive of one stored entry for each name; checksums are not looked at.
pub(crate) fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let len = (data.len() as u32).to_le_bytes();
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0];
        fields.extend(len);
        fields.extend(len);
        fields.extend((name.len() as u16).to_le_bytes());
        fields.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&fields);
        bytes.extend(name.as_bytes());
        bytes.extend(*data);
    }
    let (start, len) = (bytes.len() as u32, directory.len() as u32);
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\x00\x00\x00\x00");
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend(len.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

/// A pth file with a tensor `w`: shape and strides as pickled integers.
pub(crate) fn pth_view(offset: &str, shape: &str, strides: &str, len: &str) -> Vec<u8> {
    let pickle = format!(
        "}}S'w'\nctorch._utils\n_rebuild_tensor_v2\n((S'storage'\nctorch\nFloatStorage\nS'0'\n\
         S'cpu'\nI{len}\ntQI{offset}\n({shape}t({strides}ttRs."
    );
    archive(&[("a/data.pkl", pickle.as_bytes()), ("a/data/0", &[0; 24])])
}
