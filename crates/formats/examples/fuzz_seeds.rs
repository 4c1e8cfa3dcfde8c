//! Writes small sound files for the fuzzers to start from.
//!
//! `cargo run -p tallow-formats --example fuzz_seeds -- fuzz/corpus`

#[path = "../tests/support/older.rs"]
mod older_raw;
#[path = "../tests/support/raw.rs"]
mod raw;

use std::error::Error;
use std::fs;
use std::path::Path;

use tallow_formats::gguf::BlockType;

/// Files of other programs, which the tests read as well.
const GOLDEN: &[(&str, &[u8])] = &[
    (
        "deflated.npz",
        include_bytes!("../tests/golden/deflated.npz"),
    ),
    ("stored.npz", include_bytes!("../tests/golden/stored.npz")),
    ("order.npz", include_bytes!("../tests/golden/order.npz")),
    ("state.pth", include_bytes!("../tests/golden/state.pth")),
    ("nested.pth", include_bytes!("../tests/golden/nested.pth")),
];

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = std::env::args_os()
        .nth(1)
        .ok_or("usage: fuzz_seeds FOLDER")?;
    let corpus = Path::new(&corpus);
    for (folder, files) in [
        ("gguf", gguf()),
        ("safetensors", safetensors()),
        ("archives", archives()),
    ] {
        let folder = corpus.join(folder);
        fs::create_dir_all(&folder)?;
        for (name, bytes) in files {
            fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

type Files = Vec<(String, Vec<u8>)>;

fn gguf() -> Files {
    let mut files: Files = (1..=3)
        .map(|version| (format!("version-{version}"), raw::complete_gguf(version)))
        .collect();
    files.push(("empty".to_owned(), raw::Raw::new(3, 0, 0).build()));
    // A tensor of one block for each type.
    for block_type in BlockType::all() {
        let mut file = raw::Raw::new(3, 1, 1);
        file.key("general.alignment", raw::U32).u32(8);
        file.tensor("w", &[block_type.block_len as u64], block_type.id, 0);
        file.pad(8).push(&vec![1; block_type.block_bytes]);
        files.push((format!("type-{}", block_type.name), file.build()));
    }
    files
}

fn safetensors() -> Files {
    let mut files = vec![
        ("complete".to_owned(), raw::complete_safetensors()),
        ("empty".to_owned(), raw::safetensors("{}", &[])),
    ];
    for dtype in [
        "BOOL", "F8_E4M3", "F8_E5M2", "I16", "F16", "I32", "I64", "F64",
    ] {
        let header = format!(r#"{{"w":{{"dtype":"{dtype}","shape":[8,0],"data_offsets":[0,0]}}}}"#);
        files.push((dtype.to_owned(), raw::safetensors(&header, &[])));
    }
    files
}

fn archives() -> Files {
    let named = |&(name, bytes): &(&str, &[u8])| (name.to_owned(), bytes.to_vec());
    let mut files: Files = GOLDEN.iter().map(named).collect();
    let header = "{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }\n";
    files.extend([
        ("array.npy".to_owned(), older_raw::npy(header, 12)),
        ("ggjt".to_owned(), older_raw::complete_ggml(3)),
        ("imatrix".to_owned(), older_raw::importance_matrix()),
        (
            "view.pth".to_owned(),
            older_raw::pth_view("2", "I2\nI2\n", "I2\nI1\n", "6"),
        ),
        (
            "pickle".to_owned(),
            b"}(S'a'\nI1\nX\x01\x00\x00\x00b]K\x02a.".to_vec(),
        ),
    ]);
    files
}
