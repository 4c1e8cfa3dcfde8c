//! Files on the disk: what can be mapped, advice, and models in several files.

use std::fs;
use std::ops::Range;
use std::path::Path;

use tallow_formats::{gguf, safetensors};
use tempfile::tempdir;

use crate::raw::{complete_gguf, complete_safetensors, safetensors as raw_safetensors};

#[test]
fn what_is_not_a_file_of_bytes_is_refused_with_its_path() {
    let folder = tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, []).unwrap();
    let missing = folder.path().join("missing");
    for (path, words) in [
        (empty.as_path(), "the file is empty"),
        (missing.as_path(), ""),
        (folder.path(), "this is a directory; a file is needed"),
        #[cfg(unix)]
        (Path::new("/dev/zero"), "this is a pipe or a device"),
    ] {
        for (format, error) in [
            ("gguf", gguf::File::open(path).unwrap_err()),
            ("safetensors", safetensors::File::open(path).unwrap_err()),
        ] {
            let message = error.to_string();
            let start = format!("{format}: open {}: ", path.display());
            assert!(
                message.starts_with(&start) && message.contains(words),
                "{message}"
            );
        }
    }
}

#[test]
fn advice_changes_no_byte() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    fs::write(&path, complete_gguf(3)).unwrap();
    let file = gguf::File::open(&path).unwrap();
    let all = 0..file.len_bytes();
    let shared = file.shared("weight").unwrap();
    file.advise_will_need(all.clone());
    shared.advise_will_need();
    assert_eq!(*shared, (32..68).collect::<Vec<u8>>());
    for range in [
        all,
        0..usize::MAX,
        Range { start: 5, end: 2 },
        usize::MAX..usize::MAX,
        3..4,
    ] {
        file.advise_dont_need(range);
        shared.advise_dont_need();
        assert_eq!(*shared, (32..68).collect::<Vec<u8>>());
    }
    let in_memory = gguf::File::from_bytes(complete_gguf(3)).unwrap();
    in_memory.advise_dont_need(0..in_memory.len_bytes());
    assert_eq!(in_memory.bytes("weight").unwrap(), &*shared);
}

/// Pages that were given back are no longer counted as this program's.
#[test]
#[cfg(target_os = "linux")]
fn advise_dont_need_gives_pages_back() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let mut contents = gguf::Contents::new(gguf::Metadata::new());
    contents.push_tensor("t", &[8 << 20], 24).unwrap();
    let mut writer = gguf::Writer::create(&path, contents).unwrap();
    writer.write("t", &vec![3; 8 << 20]).unwrap();
    writer.finish().unwrap();
    let file = gguf::File::open(&path).unwrap();
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let read = sum(file.bytes("t").unwrap());
    assert!(resident_kib(&path) >= 8 << 10);
    file.shared("t").unwrap().advise_dont_need();
    assert!(resident_kib(&path) < 1 << 10);
    assert_eq!(sum(file.bytes("t").unwrap()), read);
}

/// KiB of this file that this program has in memory, by the system's account.
#[cfg(target_os = "linux")]
fn resident_kib(path: &Path) -> u64 {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let name = path.to_str().unwrap();
    let mut lines = maps.lines().skip_while(|line| !line.ends_with(name));
    let line = lines.find(|line| line.starts_with("Rss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn one_tensor(name: &str, byte: u8) -> Vec<u8> {
    let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}}}"#);
    raw_safetensors(&header, &[byte; 2])
}

fn open_index(folder: &Path, index: &str) -> Result<safetensors::File, tallow_formats::Error> {
    let path = folder.join("model.safetensors.index.json");
    fs::write(&path, index).unwrap();
    safetensors::File::open(path)
}

#[test]
fn a_model_in_several_files_is_one() {
    let folder = tempdir().unwrap();
    fs::write(
        folder.path().join("model-1.safetensors"),
        complete_safetensors(),
    )
    .unwrap();
    fs::write(
        folder.path().join("model-2.safetensors"),
        one_tensor("z", 9),
    )
    .unwrap();
    let index = r#"{"metadata": {"total_size": 21}, "weight_map": {
        "z": "model-2.safetensors", "a": "model-1.safetensors", "b": "model-1.safetensors"}}"#;
    let file = open_index(folder.path(), index).unwrap();
    let names: Vec<_> = file
        .tensors()
        .map(|info| (info.name.as_str(), info.shard))
        .collect();
    assert_eq!(names, [("a", 0), ("b", 0), ("z", 1)]);
    assert_eq!(file.shard_count(), 2);
    assert_eq!(file.bytes("z").unwrap(), [9, 9]);
    assert_eq!(file.bytes("b").unwrap(), [16, 17, 18]);
    assert!(!file.contains("c"), "the index does not list it");
    assert_eq!(file.metadata()["format"], "pt");
}

#[test]
fn an_index_that_lies_is_refused() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("s.safetensors"), one_tensor("z", 1)).unwrap();
    fs::write(folder.path().join("bad.safetensors"), [1, 2, 3]).unwrap();
    for (index, words) in [
        ("", "the file is empty"),
        ("{}", "safetensors: index: missing field `weight_map`"),
        ("[", "safetensors: index: EOF while parsing"),
        (r#"{"weight_map":{"z":1}}"#, "invalid type: integer `1`"),
        (
            r#"{"weight_map":{"z":"s.safetensors","z":"s.safetensors"}}"#,
            "index: \"z\" is there twice",
        ),
        (
            r#"{"weight_map":{"y":"s.safetensors"}}"#,
            "tensor \"y\": not in \"s.safetensors\"",
        ),
        (
            r#"{"weight_map":{"z":"gone.safetensors"}}"#,
            "gone.safetensors: ",
        ),
        (
            r#"{"weight_map":{"z":"bad.safetensors"}}"#,
            "\"bad.safetensors\": file ends early",
        ),
        (
            r#"{"weight_map":{"z":"../s.safetensors"}}"#,
            "is not the name of a file beside it",
        ),
        (
            r#"{"weight_map":{"z":"/etc/passwd"}}"#,
            "is not the name of a file beside it",
        ),
        (
            r#"{"weight_map":{"z":"C:\\s"}}"#,
            "is not the name of a file beside it",
        ),
        (
            r#"{"weight_map":{"z":".."}}"#,
            "is not the name of a file beside it",
        ),
        (
            r#"{"weight_map":{"z":""}}"#,
            "is not the name of a file beside it",
        ),
    ] {
        let message = open_index(folder.path(), index).unwrap_err().to_string();
        assert!(message.contains(words), "{index}: {message}");
    }
}
