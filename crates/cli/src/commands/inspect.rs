//! `tallow inspect`: what a model file holds.

use std::io::Read;
use std::path::{Path, PathBuf};

use tallow_formats::{gguf, safetensors};

use crate::error::{Error, Result};
use crate::output;

/// Print the metadata and the tensors of a GGUF or safetensors file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow inspect model.gguf")]
pub(crate) struct Arguments {
    /// A GGUF file, a safetensors file, or the index of several.
    file: PathBuf,
    /// Leave the tensors out.
    #[arg(long)]
    no_tensors: bool,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        match is_gguf(&self.file)? {
            true => self.show_gguf(&gguf::File::open(&self.file)?),
            false => self.show_safetensors(&safetensors::File::open(&self.file)?),
        }
    }

    fn show_gguf(&self, file: &gguf::File) -> Result<()> {
        let elements: usize = file.tensors().flatten().map(gguf::TensorInfo::len).sum();
        output::line(format!(
            "gguf version {}, {}, {} tensors, {elements} elements, alignment {}",
            file.version(),
            output::bytes(file.len_bytes() as u64),
            file.tensor_names().len(),
            file.alignment(),
        ))?;
        output::line("\nMETADATA")?;
        for (key, value) in file.metadata().iter() {
            output::line(format!("{} = {value}", key.escape_debug()))?;
        }
        if self.no_tensors {
            return Ok(());
        }
        let mut rows = vec![titles()];
        let mut broken = Vec::new();
        for tensor in file.tensors() {
            match tensor {
                Ok(info) => {
                    let type_name = info.type_name();
                    rows.push(row(&info.name, type_name, &info.shape, info.byte_len));
                }
                Err(error) => broken.push(error.to_string()),
            }
        }
        show_table(&rows)?;
        if broken.is_empty() {
            return Ok(());
        }
        output::line("\nUNUSABLE")?;
        broken.iter().try_for_each(output::line)?;
        Err(Error::Text(format!(
            "{}: {} of its tensors cannot be used; fetch or convert the file again",
            self.file.display(),
            broken.len()
        )))
    }

    fn show_safetensors(&self, file: &safetensors::File) -> Result<()> {
        let elements: usize = file
            .tensors()
            .map(|tensor| tensor.shape.iter().product::<usize>())
            .sum();
        output::line(format!(
            "safetensors, {} files, {} tensors, {elements} elements",
            file.shard_count(),
            file.tensors().len(),
        ))?;
        if !file.metadata().is_empty() {
            output::line("\nMETADATA")?;
        }
        for (key, value) in file.metadata() {
            output::line(format!("{} = {value:?}", key.escape_debug()))?;
        }
        if self.no_tensors {
            return Ok(());
        }
        let mut rows = vec![titles()];
        rows.extend(file.tensors().map(|info| {
            let dtype = format!("{:?}", info.dtype);
            row(&info.name, &dtype, &info.shape, info.byte_len)
        }));
        show_table(&rows)
    }
}

fn titles() -> Vec<String> {
    ["TENSOR", "TYPE", "SHAPE", "BYTES"].map(String::from).to_vec()
}

fn row(name: &str, type_name: &str, shape: &[usize], byte_len: usize) -> Vec<String> {
    vec![
        name.escape_debug().to_string(),
        type_name.to_string(),
        format!("{shape:?}"),
        byte_len.to_string(),
    ]
}

fn show_table(rows: &[Vec<String>]) -> Result<()> {
    output::line("")?;
    output::table(rows, 3)
}

/// Whether the file begins as GGUF files do. What a user names by mistake gets a word of its own.
fn is_gguf(path: &Path) -> Result<bool> {
    let fail = |error: std::io::Error| Error::file("read", path, &error);
    let metadata = std::fs::metadata(path).map_err(fail)?;
    if metadata.is_dir() {
        return Err(Error::Text(format!(
            "{} is a directory; name a file in it",
            path.display()
        )));
    }
    if metadata.len() == 0 {
        return Err(Error::Text(format!("{} is empty; fetch it again", path.display())));
    }
    if path.extension().is_some_and(|extension| extension == "gguf") {
        return Ok(true);
    }
    let mut magic = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    file.take(4).read_to_end(&mut magic).map_err(fail)?;
    Ok(magic == b"GGUF")
}
