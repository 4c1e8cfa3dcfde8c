//! The GGUF writer: what it writes is read back, and what fails leaves nothing behind.

use std::fs;
use std::path::Path;

use tallow_formats::gguf::{Array, BlockType, Contents, File, Metadata, Value, Writer};
use tempfile::tempdir;

use crate::raw::complete_gguf;

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

fn one_tensor(shape: &[usize], type_id: u32) -> Contents {
    let mut contents = Contents::new(Metadata::new());
    contents.push_tensor("t", shape, type_id).unwrap();
    contents
}

#[test]
fn a_copy_has_the_same_metadata_and_tensors() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("copy.gguf");
    let original = File::from_bytes(complete_gguf(1)).unwrap();
    let mut contents = Contents::new(original.metadata().clone());
    for info in original.tensors() {
        let info = info.unwrap();
        contents
            .push_tensor(&info.name, &info.shape, info.type_id)
            .unwrap();
    }
    let mut writer = Writer::create(&path, contents).unwrap();
    for name in original.tensor_names() {
        for piece in original.bytes(name).unwrap().chunks(7) {
            writer.write(name, piece).unwrap();
        }
    }
    writer.finish().unwrap();

    let copy = File::open(&path).unwrap();
    assert_eq!(copy.version(), 3);
    assert_eq!(copy.metadata(), original.metadata());
    for (ours, theirs) in copy.tensors().zip(original.tensors()) {
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        assert_eq!((&ours.name, &ours.shape), (&theirs.name, &theirs.shape));
        assert_eq!(
            copy.bytes(&ours.name).unwrap(),
            original.bytes(&ours.name).unwrap()
        );
    }
    copy.validate().unwrap();
    // Version 3 written from this header by hand is the same, byte for byte, but for the padding
    // after the last tensor.
    let mut by_hand = complete_gguf(3);
    by_hand.resize(by_hand.len().next_multiple_of(32), 0);
    assert_eq!(fs::read(&path).unwrap(), by_hand);
    assert_eq!(names_in(folder.path()), ["copy.gguf"]);
}

#[test]
fn every_block_type_and_alignment_is_written() {
    let folder = tempdir().unwrap();
    for alignment in [1_u32, 16, 1024] {
        let path = folder.path().join(format!("{alignment}.gguf"));
        let mut metadata = Metadata::new();
        metadata.set("general.alignment", alignment);
        let mut contents = Contents::new(metadata);
        for entry in BlockType::all() {
            contents
                .push_tensor(entry.name, &[3, entry.block_len], entry.id)
                .unwrap();
        }
        let mut writer = Writer::create(&path, contents).unwrap();
        for entry in BlockType::all() {
            writer
                .write(entry.name, &vec![entry.id as u8; 3 * entry.block_bytes])
                .unwrap();
        }
        writer.finish().unwrap();
        let file = File::open(&path).unwrap();
        file.validate().unwrap();
        for entry in BlockType::all() {
            let bytes = file.bytes(entry.name).unwrap();
            assert_eq!(
                bytes,
                vec![entry.id as u8; 3 * entry.block_bytes],
                "{}",
                entry.name
            );
            let info = file.tensor(entry.name).unwrap();
            assert!(info.byte_offset.is_multiple_of(alignment as usize));
        }
    }
}

#[test]
fn progress_counts_the_bytes_of_data() {
    let folder = tempdir().unwrap();
    let mut contents = one_tensor(&[4], 0);
    contents.push_tensor("empty", &[0], 0).unwrap();
    contents.push_tensor("u", &[2], 1).unwrap();
    let mut seen = Vec::new();
    let mut writer = Writer::create(folder.path().join("p.gguf"), contents)
        .unwrap()
        .with_progress(|p| seen.push((p.tensor.to_string(), p.written_bytes, p.total_bytes)));
    writer.write("t", &[0; 12]).unwrap();
    writer.write("t", &[0; 4]).unwrap();
    writer.write("empty", &[]).unwrap();
    writer.write("u", &[0; 4]).unwrap();
    writer.finish().unwrap();
    let expected = [("t", 12, 20), ("t", 16, 20), ("u", 20, 20)];
    assert_eq!(
        seen,
        expected.map(|(name, written, total)| (name.to_string(), written, total))
    );
}

#[test]
fn misuse_is_refused_and_leaves_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let mut contents = one_tensor(&[4], 0);
    contents.push_tensor("u", &[1], 0).unwrap();
    for (result, words) in [
        (
            contents.push_tensor("t", &[1], 0).map(|_| ()),
            "tensor \"t\": is there already",
        ),
        (
            contents.push_tensor("a", &[1], 42).map(|_| ()),
            "unknown block type 42",
        ),
        (
            contents.push_tensor("a", &[33], 2).map(|_| ()),
            "rows of 33 elements do not divide",
        ),
        (
            contents.push_tensor("a", &[1; 9], 0).map(|_| ()),
            "has more than 8 dims",
        ),
        (
            contents.push_tensor("a", &[usize::MAX, 2], 0).map(|_| ()),
            "overflows",
        ),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    let mut writer = Writer::create(&path, contents).unwrap();
    for (name, bytes, words) in [
        (
            "u",
            &[0; 4][..],
            "tensor \"u\": out of order: data of \"t\" come next",
        ),
        (
            "t",
            &[0; 17],
            "tensor \"t\": 17 bytes are too many: 16 of its 16 are left",
        ),
    ] {
        let message = writer.write(name, bytes).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
    writer.write("t", &[0; 16]).unwrap();
    writer.write("u", &[0; 3]).unwrap();
    let message = writer.finish().unwrap_err().to_string();
    assert_eq!(
        message,
        "gguf: tensor \"u\": incomplete: 3 of its 4 bytes were written"
    );
    assert!(names_in(folder.path()).is_empty());

    let mut writer = Writer::create(&path, one_tensor(&[1], 0)).unwrap();
    writer.write("t", &[0; 4]).unwrap();
    assert!(
        writer
            .write("t", &[0])
            .unwrap_err()
            .to_string()
            .contains("after the last tensor")
    );
    drop(writer);
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn metadata_that_no_reader_takes_is_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("m.gguf");
    let mut deep = Array::U8(vec![1]);
    for _ in 0..8 {
        deep = Array::Nested(vec![deep]);
    }
    for (key, value, words) in [
        (
            "general.alignment",
            Value::U32(3),
            "general.alignment is 3; a power of two is needed",
        ),
        (
            "general.alignment",
            Value::Bool(true),
            "found bool true; want an integer",
        ),
        (
            "deep",
            Value::from(deep),
            "value of key \"deep\": arrays nested deeper than 8",
        ),
    ] {
        let mut metadata = Metadata::new();
        metadata.set(key, value);
        let message = Writer::create(&path, Contents::new(metadata))
            .unwrap_err()
            .to_string();
        assert!(message.contains(words), "{message}");
    }
    assert!(names_in(folder.path()).is_empty());
}

#[test]
fn a_file_in_place_stays_until_the_new_one_is_whole() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, complete_gguf(3)).unwrap();
    let old = File::open(&path).unwrap();
    let mut writer = Writer::create(&path, one_tensor(&[4], 0)).unwrap();
    writer.write("t", &[5; 16]).unwrap();
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), complete_gguf(3));
    let mut writer = Writer::create(&path, one_tensor(&[4], 0)).unwrap();
    writer.write("t", &[5; 16]).unwrap();
    writer.finish().unwrap();
    assert_eq!(File::open(&path).unwrap().bytes("t").unwrap(), [5; 16]);
    // Whoever has the old file open keeps it.
    assert_eq!(old.bytes("norm").unwrap(), (0..16).collect::<Vec<u8>>());
    assert_eq!(names_in(folder.path()), ["model.gguf"]);
}

#[test]
fn paths_that_cannot_be_written_are_named() {
    let folder = tempdir().unwrap();
    let nowhere = folder.path().join("missing/model.gguf");
    let message = Writer::create(&nowhere, one_tensor(&[1], 0))
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with(&format!("gguf: create {}: ", nowhere.display())),
        "{message}"
    );
    let message = Writer::create(folder.path(), one_tensor(&[1], 0))
        .unwrap_err()
        .to_string();
    assert!(message.contains("this is a directory"), "{message}");
    assert!(names_in(folder.path()).is_empty());
}

#[cfg(unix)]
const CHILD_FOLDER: &str = "TALLOW_TEST_FULL_FOLDER";

/// A limit on file sizes stands in for a full disk: the system refuses a write halfway. The child
/// is this same test under `ulimit -f`, in a shell that ignores the signal which comes with it.
#[test]
#[cfg(unix)]
fn a_write_that_the_system_refuses_is_told_and_leaves_no_file() {
    if let Some(folder) = std::env::var_os(CHILD_FOLDER) {
        return write_past_the_limit(Path::new(&folder));
    }
    let folder = tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let test = "gguf_write::a_write_that_the_system_refuses_is_told_and_leaves_no_file";
    let status = std::process::Command::new("sh")
        .args([
            "-c",
            "trap '' XFSZ; ulimit -f 256; exec \"$0\" --exact \"$1\"",
        ])
        .arg(program)
        .arg(test)
        .env(CHILD_FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(
        status.status.success(),
        "{}",
        String::from_utf8_lossy(&status.stdout)
    );
    assert_eq!(names_in(folder.path()), ["seen.txt"]);
    let message = fs::read_to_string(folder.path().join("seen.txt")).unwrap();
    let path = folder.path().join("model.gguf");
    assert!(
        message.starts_with(&format!("gguf: write {}: ", path.display())),
        "{message}"
    );
    assert!(message.contains("File too large"), "{message}");
}

#[cfg(unix)]
fn write_past_the_limit(folder: &Path) {
    let path = folder.join("model.gguf");
    let mut writer = Writer::create(&path, one_tensor(&[1 << 20], 0)).unwrap();
    let refused = (0..64).find_map(|_| writer.write("t", &[0; 64 * 1024]).err());
    // Removed at once, not only when the writer goes.
    assert!(names_in(folder).is_empty());
    let again = writer.write("t", &[0; 512 * 1024]).unwrap_err().to_string();
    assert!(again.contains("an earlier write failed"), "{again}");
    fs::write(folder.join("seen.txt"), refused.unwrap().to_string()).unwrap();
}
