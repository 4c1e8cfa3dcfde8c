//! Sound GGUF files in memory.

use std::borrow::Cow;

use tallow_formats::gguf::{Array, File, Strings, Value};

use crate::raw::{Raw, complete_gguf};

#[test]
fn every_version_and_type_is_read_as_written() {
    for version in 1..=3 {
        let file = File::from_bytes(complete_gguf(version)).unwrap();
        assert_eq!((file.version(), file.alignment()), (version, 32));
        let expected = [
            ("general.architecture", Value::from("llama")),
            ("u8", Value::U8(200)),
            ("i8", Value::I8(-128)),
            ("u16", Value::U16(60_000)),
            ("i16", Value::I16(-2)),
            ("u32", Value::U32(4_000_000_000)),
            ("i32", Value::I32(-5)),
            ("f32", Value::F32(1.5)),
            ("bool", Value::Bool(true)),
            ("u64", Value::U64(u64::MAX)),
            ("i64", Value::I64(i64::MIN)),
            ("f64", Value::F64(0.1)),
            (
                "tokens",
                Value::from(["a", "", "çé"].into_iter().collect::<Strings>()),
            ),
            ("scores", Value::from(vec![0.25_f32, -1.0])),
            (
                "nested",
                Value::from(Array::Nested(vec![
                    Array::U8(vec![1, 2]),
                    Array::Bool(vec![false]),
                ])),
            ),
        ];
        assert_eq!(file.metadata().len(), expected.len());
        for ((key, value), (expected_key, expected_value)) in file.metadata().iter().zip(&expected)
        {
            assert_eq!((key, value), (*expected_key, expected_value));
            assert_eq!(file.metadata().value(key), Some(expected_value));
        }
    }
}

#[test]
fn getters_borrow_and_convert() {
    let file = File::from_bytes(complete_gguf(3)).unwrap();
    let metadata = file.metadata();
    assert_eq!(metadata.get_str("general.architecture").unwrap(), "llama");
    assert_eq!(metadata.get_u32("u8").unwrap(), 200);
    assert_eq!(metadata.get::<i64>("i8").unwrap(), -128);
    assert_eq!(metadata.get_u64("u64").unwrap(), u64::MAX);
    assert_eq!(metadata.get_f32("f32").unwrap(), 1.5);
    assert!(metadata.get_bool("bool").unwrap());
    let scores = metadata.get::<Cow<'_, [f32]>>("scores").unwrap();
    assert!(matches!(scores, Cow::Borrowed(&[0.25, -1.0])));
    let tokens = metadata.get::<&Strings>("tokens").unwrap();
    assert_eq!(tokens.iter().collect::<Vec<_>>(), ["a", "", "çé"]);
    assert_eq!(
        metadata.get_u32("u64").unwrap_err().to_string(),
        "gguf: key \"u64\": found u64 18446744073709551615; want an integer that fits u32"
    );
    assert_eq!(
        metadata.get_u32("tokens").unwrap_err().to_string(),
        "gguf: key \"tokens\": found array [string; 3] \"a\", \"\", \"çé\"; want an integer that \
         fits u32"
    );
}

#[test]
fn tensors_are_where_the_header_says() {
    for version in 1..=3 {
        let file = File::from_bytes(complete_gguf(version)).unwrap();
        file.validate().unwrap();
        assert_eq!(
            file.tensor_names().collect::<Vec<_>>(),
            ["norm", "weight", "half"]
        );
        let infos: Vec<_> = file.tensors().map(Result::unwrap).collect();
        let shapes: Vec<_> = infos.iter().map(|info| info.shape.as_slice()).collect();
        assert_eq!(shapes, [&[4][..], &[2, 32], &[3, 1, 2]]);
        let types: Vec<_> = infos.iter().map(|info| info.type_name()).collect();
        assert_eq!(types, ["F32", "Q4_0", "F16"]);
        let data = file.data_offset() as usize;
        assert_eq!(infos[1].byte_offset, data + 32);
        assert_eq!(file.bytes("weight").unwrap(), (32..68).collect::<Vec<u8>>());
        let shared = file.shared("half").unwrap();
        drop(file);
        assert_eq!(*shared, (96..108).collect::<Vec<u8>>());
    }
}

#[test]
fn the_alignment_key_moves_the_data() {
    let mut raw = Raw::new(3, 2, 1);
    raw.key("general.alignment", 0).push(&[128]);
    raw.tensor("a", &[1], 24, 0)
        .tensor("b", &[2], 24, 128)
        .pad(128);
    raw.push(&[9]).pad(128).push(&[8, 7]);
    let file = File::from_bytes(raw.build()).unwrap();
    assert_eq!(file.alignment(), 128);
    assert_eq!(file.bytes("a").unwrap(), [9]);
    assert_eq!(file.bytes("b").unwrap(), [8, 7]);
    assert!(file.tensor("b").unwrap().byte_offset.is_multiple_of(128));
}

#[test]
fn a_file_without_keys_or_tensors_is_sound() {
    for version in 1..=3 {
        let file = File::from_bytes(Raw::new(version, 0, 0).build()).unwrap();
        assert!(file.metadata().is_empty() && file.tensors().len() == 0);
        assert!(!file.contains("x"));
        file.validate().unwrap();
    }
}

/// A reader that counts the bytes which it gave.
struct Counted<'a> {
    inner: std::io::Cursor<&'a [u8]>,
    given: usize,
}

impl std::io::Read for Counted<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = self.inner.read(out)?;
        self.given += len;
        Ok(len)
    }
}

impl std::io::Seek for Counted<'_> {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(to)
    }
}

#[test]
fn a_header_is_read_from_a_stream_without_the_data() {
    use tallow_formats::gguf::{Contents, Header, Metadata};
    let words = if cfg!(miri) { 10 } else { 400_000 };
    let mut metadata = Metadata::new();
    let strings: Strings = (0..words).map(|i| format!("token {i}")).collect();
    metadata.set("tokens", Value::Array(Array::String(strings)));
    let mut contents = Contents::new(metadata);
    contents.push_tensor("w", &[64 << 20], 24).unwrap();
    let (header, _) = contents.encode().unwrap();
    let mut file = header.clone();
    file.resize(header.len() + (64 << 20), 0);
    let start = 5;
    let shifted = [&[9; 5][..], &file].concat();
    let mut reader = Counted {
        inner: std::io::Cursor::new(&shifted),
        given: 0,
    };
    reader.inner.set_position(start);
    let read = Header::read(&mut reader).unwrap();
    let whole = File::from_bytes(file.clone()).unwrap();
    assert_eq!(read.metadata(), whole.metadata());
    assert_eq!(read.tensor("w").unwrap(), whole.tensor("w").unwrap());
    assert_eq!(read.data_offset(), whole.data_offset());
    assert!(
        reader.given <= 4 * header.len() + (4 << 20),
        "{}",
        reader.given
    );
    // Cut in the header, and cut in the data.
    let half = &file[..header.len() / 2];
    assert!(Header::read(&mut std::io::Cursor::new(half)).is_err());
    let most = &file[..file.len() - 1];
    let read = Header::read(&mut std::io::Cursor::new(most)).unwrap();
    assert!(read.tensor("w").is_err());
}
