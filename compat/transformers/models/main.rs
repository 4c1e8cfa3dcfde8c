//! Runs models of candle-transformers and writes what they give, so that two builds of this program
//! (one on candle, one on Tallow) can be compared.
//!
//! ```text
//! write FOLDER [GGUF] [BERT]    every model's outputs, as FOLDER/NAME.safetensors
//! train FOLDER DIGITS           the losses and the accuracy of a small training
//! compare FOLDER FOLDER         the greatest difference of each output; exit code 1 beyond 1e-4
//! ```
//!
//! Weights are made from their names (`weights.rs`), the same in both builds. GGUF is a
//! quantized llama; BERT a folder with `config.json` and `model.safetensors`.

mod audio;
mod digits;
mod image;
mod real;
mod text;
mod weights;

use anyhow::{Result, bail};
use candle_core::{DType, Device, Tensor};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What a model gives, by name.
type Outputs = Vec<(&'static str, Tensor)>;
/// A model: its name, and how to run it.
type Model = (&'static str, fn() -> Result<Outputs>);

/// How far outputs may lie apart, as a share of the greatest element.
const TOLERANCE: f64 = 1e-4;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["write", folder, files @ ..] => write(Path::new(folder), files),
        ["train", folder, digits] => {
            std::fs::create_dir_all(folder)?;
            save(Path::new(folder), "digits", digits::train(digits))
        }
        ["compare", ours, theirs] => compare(Path::new(ours), Path::new(theirs)),
        _ => {
            bail!("usage: write FOLDER [GGUF] [BERT] | train FOLDER DIGITS | compare FOLDER FOLDER")
        }
    }
}

fn write(folder: &Path, files: &[&str]) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, run) in text::MODELS
        .iter()
        .chain(image::MODELS)
        .chain(audio::MODELS)
    {
        save(folder, name, run())?;
    }
    if let Some(gguf) = files.first() {
        save(folder, "quantized_llama", real::quantized_llama(gguf))?;
    }
    if let Some(bert) = files.get(1) {
        save(folder, "bert_real", real::bert(Path::new(bert)))?;
    }
    Ok(())
}

fn save(folder: &Path, name: &str, outputs: Result<Outputs>) -> Result<()> {
    let outputs = match outputs {
        Ok(outputs) => outputs,
        Err(error) => {
            println!("{name}: {error:#}");
            return Ok(());
        }
    };
    let tensors: HashMap<&str, Tensor> = outputs.into_iter().collect();
    candle_core::safetensors::save(&tensors, folder.join(format!("{name}.safetensors")))?;
    println!("{name}: written");
    Ok(())
}

fn compare(ours: &Path, theirs: &Path) -> Result<()> {
    let mut wrong = 0;
    for entry in sorted(theirs)? {
        let (name, their_path) = entry;
        let own_path = ours.join(&name);
        if !own_path.exists() {
            println!("{name}: missing in {}", ours.display());
            wrong += 1;
            continue;
        }
        let own = candle_core::safetensors::load(own_path, &Device::Cpu)?;
        let other = candle_core::safetensors::load(their_path, &Device::Cpu)?;
        for (key, other) in other.into_iter().collect::<BTreeMap<_, _>>() {
            let apart = match own.get(&key) {
                Some(own) => distance(own, &other)?,
                None => f64::INFINITY,
            };
            let verdict = if apart <= TOLERANCE { "" } else { "  TOO FAR" };
            wrong += usize::from(!verdict.is_empty());
            println!("{name} {key} {:?}: {apart:.1e}{verdict}", other.shape());
        }
    }
    match wrong {
        0 => Ok(()),
        _ => bail!("{wrong} outputs differ"),
    }
}

fn sorted(folder: &Path) -> Result<BTreeMap<String, std::path::PathBuf>> {
    let entry = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok((name, path))
    };
    std::fs::read_dir(folder)?.map(entry).collect()
}

/// The greatest difference, as a share of the greatest element.
fn distance(own: &Tensor, other: &Tensor) -> Result<f64> {
    if own.shape() != other.shape() {
        return Ok(f64::INFINITY);
    }
    let values =
        |x: &Tensor| -> Result<Vec<f64>> { Ok(x.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?) };
    let (own, other) = (values(own)?, values(other)?);
    let greatest = other
        .iter()
        .fold(0.0f64, |most, value| most.max(value.abs()));
    let mut apart = 0.0f64;
    for (own, other) in own.iter().zip(&other) {
        let same = own == other || (own.is_nan() && other.is_nan());
        let difference = if same { 0.0 } else { (own - other).abs() };
        apart = if difference.is_nan() {
            f64::INFINITY
        } else {
            apart.max(difference)
        };
    }
    Ok(apart / greatest.max(f64::MIN_POSITIVE))
}
