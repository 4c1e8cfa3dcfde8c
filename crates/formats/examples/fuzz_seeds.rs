//! Writes small sound files for the fuzzers to start from.
//!
//! `cargo run -p tallow-formats --example fuzz_seeds -- fuzz/corpus`

#[path = "../tests/support/raw.rs"]
mod raw;

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = std::env::args_os()
        .nth(1)
        .ok_or("usage: fuzz_seeds FOLDER")?;
    let corpus = Path::new(&corpus);
    for folder in ["gguf", "safetensors"] {
        fs::create_dir_all(corpus.join(folder))?;
    }
    for version in 1..=3 {
        let name = format!("gguf/version-{version}");
        fs::write(corpus.join(name), raw::complete_gguf(version))?;
    }
    fs::write(corpus.join("gguf/empty"), raw::Raw::new(3, 0, 0).build())?;
    fs::write(
        corpus.join("safetensors/complete"),
        raw::complete_safetensors(),
    )?;
    fs::write(
        corpus.join("safetensors/empty"),
        raw::safetensors("{}", &[]),
    )?;
    Ok(())
}
