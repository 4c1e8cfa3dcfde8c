//! Hostile safetensors files and indexes.

use tallow_formats::Error;
use tallow_formats::safetensors::File;

use crate::raw::{complete_safetensors, safetensors};
use crate::{MUTATIONS, assert_says, bounded, mutations, turn};

/// Reads all there is to read.
fn read(bytes: &[u8]) -> Result<(), Error> {
    let len = bytes.len();
    let bytes = bytes.to_vec();
    bounded(len, || {
        let file = File::from_bytes(bytes)?;
        for tensor in file.tensors() {
            assert_eq!(file.bytes(&tensor.name)?.len(), tensor.byte_len);
        }
        Ok(())
    })
}

/// A header with one tensor `t`.
fn with_tensor(dtype: &str, shape: &str, offsets: &str, data_len: usize) -> Vec<u8> {
    let header =
        format!(r#"{{"t":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#);
    safetensors(&header, &vec![0; data_len])
}

#[test]
fn a_file_cut_at_any_byte_is_refused() {
    let _turn = turn();
    let file = complete_safetensors();
    read(&file).unwrap();
    for len in 0..file.len() {
        let words = if len < file.len() - 19 {
            "file ends early"
        } else {
            "outside the file"
        };
        assert_says(&format!("cut at {len}"), read(&file[..len]), words);
    }
}

#[test]
fn a_larger_file_cut_at_every_4_kib_is_refused() {
    let _turn = turn();
    let tensors = if cfg!(miri) { 40 } else { 800 };
    let header: Vec<String> = (0..tensors)
        .map(|i| {
            let offsets = format!("[{},{}]", i * 64, i * 64 + 64);
            format!(r#""layer.{i}":{{"dtype":"F32","shape":[16],"data_offsets":{offsets}}}"#)
        })
        .collect();
    let file = safetensors(&format!("{{{}}}", header.join(",")), &vec![1; tensors * 64]);
    read(&file).unwrap();
    for len in (0..file.len()).step_by(4096) {
        assert!(read(&file[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn header_lengths_near_2_to_the_64_are_refused() {
    let _turn = turn();
    for huge in [u64::MAX, u64::MAX - 8, 1 << 63, 1 << 32, 100_000_001] {
        let mut file = huge.to_le_bytes().to_vec();
        file.extend([b'{'; 100]);
        let words = format!("safetensors: header of {huge} bytes; 100000000 at most");
        assert_says("header", read(&file), &words);
    }
    let mut file = 100_000_000_u64.to_le_bytes().to_vec();
    file.extend([b'{'; 100]);
    assert_says(
        "header",
        read(&file),
        "a header of 100000000 bytes; 100 are left",
    );
}

#[test]
fn sizes_that_overflow_are_refused() {
    let _turn = turn();
    let words = "has more elements than fit in memory";
    for shape in [
        "[18446744073709551615]",
        "[4294967296,4294967296]",
        "[9223372036854775808,2]",
        "[9223372036854775808,4,0]",
        "[0,9223372036854775808,4]",
    ] {
        assert_says(shape, read(&with_tensor("F32", shape, "[0,4]", 4)), words);
    }
    let too_large = with_tensor("U8", "[18446744073709551616]", "[0,4]", 4);
    assert_says(
        "dim",
        read(&too_large),
        "safetensors: header: \"t\": invalid type: floating point",
    );
    assert_says(
        "dim",
        read(&with_tensor("U8", "[-1]", "[0,4]", 4)),
        "invalid value: integer `-1`",
    );

    // Nine sizes that are in range each, and wrap around 2^64 to the length of the file together.
    let step = (1_u64 << 61) - 1;
    let entries: Vec<String> = (0..9_u64)
        .map(|i| {
            let begin = i.wrapping_mul(step);
            let end = begin.wrapping_add(step);
            format!(r#""t{i}":{{"dtype":"U8","shape":[{step}],"data_offsets":[{begin},{end}]}}"#)
        })
        .collect();
    let wrapping = safetensors(&format!("{{{}}}", entries.join(",")), &[0; 64]);
    assert!(
        read(&wrapping).unwrap_err().to_string().contains("t0"),
        "the first is outside"
    );
}

#[test]
fn offsets_must_tile_the_data() {
    let _turn = turn();
    for (offsets, data_len, words) in [
        ("[4,0]", 4, "data_offsets [4, 0] run backwards"),
        (
            "[0,4]",
            3,
            "data_offsets [0, 4] outside the file: it has 3 bytes of data",
        ),
        ("[0,4]", 5, "1 bytes from byte 0x42 on belong to no tensor"),
        (
            "[1,5]",
            5,
            "data_offsets [1, 5] leave a hole: the tensor before ends at 0",
        ),
        ("[0,8]", 8, "are 8 bytes; shape [1] of F32 takes 4"),
        ("[0,18446744073709551615]", 4, "outside the file"),
        (
            "[18446744073709551615,18446744073709551615]",
            4,
            "outside the file",
        ),
        ("[0]", 4, "invalid length 1"),
        ("[0,4,8]", 4, "safetensors: header: "),
        ("[0.0,4.0]", 4, "invalid type: floating point"),
    ] {
        assert_says(
            offsets,
            read(&with_tensor("F32", "[1]", offsets, data_len)),
            words,
        );
    }
    let overlapping = r#"{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
        "b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}}"#;
    let words = "tensor \"b\": data_offsets [3, 7] overlap the tensor before, which ends at 4";
    assert_says("overlap", read(&safetensors(overlapping, &[0; 7])), words);
}

#[test]
fn names_come_once() {
    let _turn = turn();
    let entry = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let twins = format!(r#"{{"x":{entry},"y":{entry},"x":{entry}}}"#);
    assert_says(
        "twins",
        read(&safetensors(&twins, &[])),
        "tensor \"x\" is there twice",
    );
    let metadata = r#"{"__metadata__":{"k":"1","k":"2"}}"#;
    assert_says(
        "metadata",
        read(&safetensors(metadata, &[])),
        "\"k\" is there twice",
    );
    let two = r#"{"__metadata__":{},"__metadata__":{}}"#;
    assert_says(
        "two",
        read(&safetensors(two, &[])),
        "__metadata__ is there twice",
    );
    let field = r#"{"x":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#;
    assert_says(
        "field",
        read(&safetensors(field, &[])),
        "\"x\": duplicate field `dtype`",
    );
}

#[test]
fn what_is_not_a_header_is_refused() {
    let _turn = turn();
    for (header, words) in [
        ("", "EOF while parsing"),
        (
            "[]",
            "invalid type: sequence, expected an object of tensors",
        ),
        ("{", "EOF while parsing"),
        ("{}x", "trailing characters"),
        ("null", "invalid type: null"),
        (r#"{"x":1}"#, "\"x\": invalid type: integer `1`"),
        (r#"{"x":{}}"#, "\"x\": missing field `dtype`"),
        (r#"{"x":{"dtype":"F32"}}"#, "\"x\": missing field `shape`"),
        (r#"{"x":{"dtype":5}}"#, "\"x\": invalid type: integer `5`"),
        (
            r#"{"__metadata__":{"k":1}}"#,
            "\"__metadata__\": invalid type: integer `1`",
        ),
    ] {
        assert_says(header, read(&safetensors(header, &[])), words);
    }
    assert_says(
        "dtype",
        read(&with_tensor("Q8", "[1]", "[0,1]", 1)),
        "\"t\": unknown dtype \"Q8\"",
    );
    assert_says(
        "gguf",
        read(b"GGUF\x03\0\0\0\0\0\0\0"),
        "(is this a safetensors file?)",
    );
    assert_says(
        "F4",
        read(&with_tensor("F4", "[3]", "[0,1]", 1)),
        "does not fill whole bytes",
    );
    let mut not_utf8 = safetensors(r#"{"?":0}"#, &[]);
    not_utf8[10] = 0xff;
    assert_says("utf8", read(&not_utf8), "invalid unicode code point");
    let deep = format!(
        "{{\"x\":{}",
        "[".repeat(if cfg!(miri) { 200 } else { 100_000 })
    );
    assert_says(
        "deep",
        read(&safetensors(&deep, &[])),
        "safetensors: header: \"x\": ",
    );
    let ignored = format!(r#"{{"x":{{"extra":{}"#, "[".repeat(100_000));
    assert_says(
        "deep",
        read(&safetensors(&ignored, &[])),
        "EOF while parsing a list",
    );
    let name = "n\\n".repeat(10_000);
    let long = format!(r#"{{"{name}":{{"dtype":"{name}"}}}}"#);
    assert_says(
        "long",
        read(&safetensors(&long, &[])),
        "unknown dtype \"n\\n",
    );
}

#[test]
fn mutated_files_never_panic() {
    let _turn = turn();
    let file = complete_safetensors();
    let refused = mutations(&file, MUTATIONS)
        .filter(|bytes| read(bytes).is_err())
        .count() as u64;
    assert!(
        refused > MUTATIONS / 4 && refused < MUTATIONS,
        "{refused} of {MUTATIONS} refused"
    );
}
