//! `tallow quantize`: a GGUF file with weights of another type.
//!
//! Matrices get the type asked for; vectors (norms, biases) stay f32, because they cost nothing
//! and every token passes through them. Rows that do not divide into blocks get F16. What has the
//! wanted type already is copied, and so is what is no weight (a table of integers). Data stream
//! through a buffer of a few rows, so that no model has to fit into memory.

use std::path::PathBuf;

use tallow_formats::gguf::{Contents, File, TensorInfo, Writer};
use tallow_quant::{GgmlDType, dequantize, quantize};

use crate::error::{Error, Result};
use crate::{output, progress};

/// Values unpacked at once: 16 MB of f32, enough for every thread and little beside a model.
const CHUNK_VALUES: usize = 4 * 1024 * 1024;

/// The types that can be asked for, and what `general.file_type` calls a file of each.
const TYPES: &[(GgmlDType, u32)] = &[
    (GgmlDType::F32, 0),
    (GgmlDType::F16, 1),
    (GgmlDType::BF16, 32),
    (GgmlDType::Q4_0, 2),
    (GgmlDType::Q4_1, 3),
    (GgmlDType::Q5_0, 8),
    (GgmlDType::Q5_1, 9),
    (GgmlDType::Q8_0, 7),
    (GgmlDType::Q2K, 10),
    (GgmlDType::Q3K, 11),
    (GgmlDType::Q4K, 14),
    (GgmlDType::Q5K, 16),
    (GgmlDType::Q6K, 18),
];

/// Write a GGUF file with weights of another type.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow quantize model-f16.gguf model-q8_0.gguf Q8_0")]
pub(crate) struct Arguments {
    /// The file to read.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write; one that is there is replaced when the new one is complete.
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K or Q6_K.
    #[arg(value_name = "TYPE", value_parser = parse_type)]
    dtype: GgmlDType,
}

/// A tensor, and what it becomes.
struct Step<'a> {
    info: &'a TensorInfo,
    /// `None` copies the bytes.
    conversion: Option<Conversion>,
}

#[derive(Clone, Copy)]
struct Conversion {
    from: GgmlDType,
    to: GgmlDType,
}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        super::refuse_special_file(&self.output)?;
        let input = File::open(&self.input)?;
        let steps = self.plan(&input)?;
        let mut metadata = input.metadata().clone();
        if let Some((_, file_type)) = TYPES.iter().find(|(dtype, _)| *dtype == self.dtype) {
            metadata.set("general.file_type", *file_type);
            metadata.set("general.quantization_version", 2_u32);
        }
        let mut contents = Contents::new(metadata);
        for step in &steps {
            contents.push_tensor(&step.info.name, &step.info.shape, step.type_id())?;
        }
        self.say_fallbacks(&steps);
        let total: usize = steps.iter().map(|step| step.info.byte_len).sum();
        let bar = progress::bytes_bar("quantize", Some(total as u64));
        let mut writer = Writer::create(&self.output, contents)?;
        let done: Result<()> = steps.iter().try_for_each(|step| {
            step.run(&input, &mut writer)?;
            bar.inc(step.info.byte_len as u64);
            Ok(())
        });
        bar.finish_and_clear();
        done?;
        writer.finish()?;
        let len = std::fs::metadata(&self.output).map_or(0, |metadata| metadata.len());
        output::line(format!(
            "{}: {} tensors, {} (from {})",
            self.output.display(),
            steps.len(),
            output::bytes(len),
            output::bytes(input.len_bytes() as u64),
        ))
    }

    fn plan<'a>(&self, input: &'a File) -> Result<Vec<Step<'a>>> {
        let steps = input.tensors().map(|info| {
            let info = info?;
            let Some(from) = GgmlDType::from_u32(info.type_id) else {
                let name = info.type_name();
                if name.starts_with('I') && !name.starts_with("IQ") {
                    return Ok(Step { info, conversion: None });
                }
                return Err(Error::Text(format!(
                    "quantize: tensor {:?} is of type {name}, which cannot be unpacked; start from \
                     a file of another type",
                    info.name
                )));
            };
            let to = self.target(info);
            let conversion = (from != to).then_some(Conversion { from, to });
            Ok(Step { info, conversion })
        });
        steps.collect()
    }

    /// The type that a tensor gets.
    fn target(&self, info: &TensorInfo) -> GgmlDType {
        match info.shape[..] {
            [] | [_] => GgmlDType::F32,
            [.., row_len] if row_len.is_multiple_of(self.dtype.block_len()) => self.dtype,
            _ => GgmlDType::F16,
        }
    }

    fn say_fallbacks(&self, steps: &[Step<'_>]) {
        let is_other = |step: &&Step<'_>| {
            let row_len = step.info.shape.last().copied().unwrap_or(0);
            step.info.shape.len() > 1 && !row_len.is_multiple_of(self.dtype.block_len())
        };
        let others: Vec<_> = steps.iter().filter(is_other).collect();
        if let [first, ..] = others[..] {
            output::note(&format!(
                "{} of {} tensors become F16: their rows do not divide into {} blocks of {} (the \
                 first is {:?}, {:?})",
                others.len(),
                steps.len(),
                self.dtype,
                self.dtype.block_len(),
                first.info.name,
                first.info.shape,
            ));
        }
    }
}

impl Step<'_> {
    fn type_id(&self) -> u32 {
        let converted = self.conversion.map(|conversion| conversion.to.to_u32());
        converted.unwrap_or(self.info.type_id)
    }

    fn run(&self, input: &File, writer: &mut Writer<'_>) -> Result<()> {
        let name = &self.info.name;
        let source = input.shared(name)?;
        match self.conversion {
            None => writer.write(name, &source)?,
            Some(conversion) => {
                // Whole blocks of both types: 256 is a multiple of every block's length, and a
                // shorter tensor is whole blocks anyway.
                let source_chunk = CHUNK_VALUES / conversion.from.block_len();
                let source_chunk = source_chunk * conversion.from.block_bytes();
                for blocks in source.chunks(source_chunk) {
                    writer.write(name, &self.convert(conversion, blocks)?)?;
                }
            }
        }
        source.advise_dont_need();
        Ok(())
    }

    fn convert(&self, Conversion { from, to }: Conversion, blocks: &[u8]) -> Result<Vec<u8>> {
        let len = blocks.len() / from.block_bytes() * from.block_len();
        let mut values = vec![0.0; len];
        dequantize(from, blocks, &mut values)?;
        if to.block_len() > 1
            && let Some(value) = values.iter().find(|value| !value.is_finite())
        {
            return Err(Error::Text(format!(
                "quantize: tensor {:?} holds {value}, which {to} cannot; the file is broken",
                self.info.name
            )));
        }
        let mut packed = vec![0; len / to.block_len() * to.block_bytes()];
        quantize(to, &values, &mut packed)?;
        Ok(packed)
    }
}

fn parse_type(text: &str) -> Result<GgmlDType, String> {
    let mut dtypes = TYPES.iter().map(|(dtype, _)| *dtype);
    dtypes
        .find(|dtype| dtype.name().eq_ignore_ascii_case(text))
        .ok_or_else(|| {
            let names: Vec<_> = TYPES.iter().map(|(dtype, _)| dtype.name()).collect();
            format!("want one of {}", names.join(", "))
        })
}
