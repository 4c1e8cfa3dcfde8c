//! Weights by name, out of GGUF or safetensors, on one path.
//!
//! The blocks ask for matrices, norms and the embedding by GGUF's names; what a file calls them is
//! in `names.rs`. A matrix is blocks over the mapped file, whatever its type: quantized, f16, bf16
//! or f32. Every shape is checked against the settings, so that a wrong file is an error at load.

mod names;
mod source;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use hashbrown::HashSet;
use tallow::quantized::{QMatMul, QTensor};
use tallow::{Device, GpuDevice, Tensor};

pub(crate) use names::Renames;
pub(crate) use source::Source;

use crate::error::{Error, Result};
use crate::store::Progress;
use crate::transformer::Config;

/// The weights of one model file.
#[derive(Debug)]
pub(crate) struct Weights<'a> {
    source: &'a Source,
    renames: Renames,
    norm_shift: f32,
    device: &'a Device,
    uploads: Uploads<'a>,
}

/// Tells how many bytes of the weights are in a GPU's memory.
struct Uploads<'a> {
    progress: RefCell<&'a mut dyn Progress>,
    done_bytes: Cell<u64>,
}

impl std::fmt::Debug for Uploads<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Uploads of {} bytes", self.done_bytes.get())
    }
}

impl Uploads<'_> {
    /// Moves a matrix to where it is to be, if that is a GPU.
    fn upload(&self, matrix: &QTensor) -> Result<()> {
        matrix.upload()?;
        let done = self.done_bytes.get() + matrix.storage_size_in_bytes() as u64;
        self.done_bytes.set(done);
        let mut progress = self.progress.borrow_mut();
        progress.reached(done);
        match progress.is_cancelled() {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }
}

impl<'a> Weights<'a> {
    /// The weights of `source`, for a device. `norm_shift` is added to norm weights. `progress`
    /// hears of matrices that are ready.
    pub(crate) fn new(
        source: &'a Source,
        renames: Renames,
        norm_shift: f32,
        device: &'a Device,
        progress: &'a mut dyn Progress,
    ) -> Self {
        Self {
            source,
            renames,
            norm_shift,
            device,
            uploads: Uploads {
                progress: RefCell::new(progress),
                done_bytes: Cell::new(0),
            },
        }
    }

    /// The layers that have to be loaded: all, but on a device on paper one of each kind, since
    /// equal ones ask for the same kernels.
    pub(crate) fn layers(&self, config: &Config) -> Vec<usize> {
        let all = 0..config.layer_count;
        if !self.device.gpu().is_some_and(GpuDevice::runs_nothing) {
            return all.collect();
        }
        let mut kinds = HashSet::new();
        let mut chosen = Vec::new();
        for layer in all {
            let prefix = match self.source {
                Source::Gguf(_) => format!("blk.{layer}."),
                Source::Safetensors(_) => names::safetensors_layer(layer),
            };
            let kind = (self.source.kinds_below(&prefix), config.is_global(layer));
            if kinds.insert(kind) {
                chosen.push(layer);
            }
        }
        chosen
    }

    /// Says that there are no more.
    pub(crate) fn finish(self) {
        self.uploads.progress.into_inner().end();
    }

    /// Where the weights go.
    pub(crate) fn device(&self) -> &Device {
        self.device
    }

    /// The tensor's name in the file.
    fn name(&self, name: &str, part: &str) -> String {
        match self.source {
            Source::Gguf(_) => format!("{name}.{part}"),
            Source::Safetensors(_) => {
                format!("{}.{part}", names::safetensors_name(name, self.renames))
            }
        }
    }

    /// Whether the file has a weight of that name.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.source.contains(&self.name(name, "weight"))
    }

    /// The matrix of that name with its bias, if it has one.
    pub(crate) fn linear(&self, name: &str, rows: usize, columns: usize) -> Result<Linear> {
        let weight = self.matrix(name, Some(rows), columns)?;
        self.uploads.upload(&weight)?;
        let bias_name = self.name(name, "bias");
        let bias = match self.source.contains(&bias_name) {
            true => Some(self.vector(&bias_name, rows)?.to_device(self.device)?),
            false => None,
        };
        Ok(Linear {
            weight: QMatMul::from_arc(weight)?,
            bias,
        })
    }

    /// The norm weights of that name.
    pub(crate) fn norm(&self, name: &str, len: usize) -> Result<Tensor> {
        let mut weight = self.vector(&self.name(name, "weight"), len)?;
        if self.norm_shift != 0.0 {
            weight = weight.affine(1.0, f64::from(self.norm_shift))?;
        }
        Ok(weight.to_device(self.device)?)
    }

    /// The embedding of that name; its rows are the vocabulary.
    pub(crate) fn embedding(&self, name: &str, columns: usize) -> Result<Embedding> {
        let table = self.matrix(name, None, columns)?;
        Ok(Embedding {
            vocabulary_len: table.shape().dims()[0],
            table,
        })
    }

    /// The embedding as the output's matrix.
    pub(crate) fn tied_output(&self, embedding: &Embedding) -> Result<Linear> {
        self.uploads.upload(&embedding.table)?;
        Ok(Linear {
            weight: QMatMul::from_arc(Arc::clone(&embedding.table))?,
            bias: None,
        })
    }

    /// The divisors of the rope frequencies, where a GGUF file has them as a tensor: one for all
    /// contexts, or one for short and one for long contexts.
    pub(crate) fn find_rope_factors(&self) -> Result<Option<Vec<f32>>> {
        for name in ["rope_freqs", "rope_factors_long"] {
            let name = self.name(name, "weight");
            if self.source.contains(&name) {
                let tensor = self.source.tensor(&name)?;
                return Ok(Some(
                    tensor.dequantize(&Device::Cpu)?.flatten_all()?.to_vec1()?,
                ));
            }
        }
        Ok(None)
    }

    fn matrix(&self, name: &str, rows: Option<usize>, columns: usize) -> Result<Arc<QTensor>> {
        let name = self.name(name, "weight");
        let tensor = self.source.tensor(&name)?;
        let dims = tensor.shape().dims();
        let fits = match *dims {
            [found_rows, found_columns] => {
                found_columns == columns && rows.unwrap_or(found_rows) == found_rows
            }
            _ => false,
        };
        if !fits || dims[0] == 0 {
            let rows = rows.map_or("any".to_string(), |rows| rows.to_string());
            return Err(Error::Model(format!(
                "tensor {name:?} is {dims:?}; its settings want [{rows}, {columns}]"
            )));
        }
        Ok(Arc::new(tensor.to_device(self.device)))
    }

    /// A vector in main memory: what is done to it while a model is loaded asks for no kernel.
    fn vector(&self, name: &str, len: usize) -> Result<Tensor> {
        let tensor = self.source.tensor(name)?;
        let dims = tensor.shape().dims();
        if dims != [len] {
            return Err(Error::Model(format!(
                "tensor {name:?} is {dims:?}; its settings want [{len}]"
            )));
        }
        Ok(tensor.dequantize(&Device::Cpu)?)
    }
}

/// A matrix of weights: y = x · Wᵀ + b.
#[derive(Debug)]
pub(crate) struct Linear {
    weight: QMatMul,
    bias: Option<Tensor>,
}

impl Linear {
    /// The matrix of blocks, and what is added.
    pub(crate) fn parts(&self) -> Option<(&QTensor, Option<&Tensor>)> {
        match &self.weight {
            QMatMul::QTensor(weight) => Some((weight, self.bias.as_ref())),
            QMatMul::Tensor(_) | QMatMul::TensorF16(_) => None,
        }
    }

    /// `[len, columns]` to `[len, rows]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.weight.forward(x)?;
        match &self.bias {
            Some(bias) => Ok(y.broadcast_add(bias)?),
            None => Ok(y),
        }
    }
}

/// The products of several matrices with the same x.
pub(crate) fn forward_joined<const N: usize>(
    matrices: [&Linear; N],
    x: &Tensor,
) -> Result<[Tensor; N]> {
    let products = QMatMul::forward_joined(&matrices.map(|matrix| &matrix.weight), x)?;
    let biased = products
        .into_iter()
        .zip(matrices)
        .map(|(y, matrix)| match &matrix.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        });
    let products: Vec<Tensor> = biased.collect::<tallow::Result<_>>()?;
    Ok(products.try_into().expect("a product for each matrix"))
}

/// The rows that ids stand for.
#[derive(Debug)]
pub(crate) struct Embedding {
    table: Arc<QTensor>,
    vocabulary_len: usize,
}

impl Embedding {
    pub(crate) fn vocabulary_len(&self) -> usize {
        self.vocabulary_len
    }

    /// `[len, columns]`: the rows of the ids, which are in the vocabulary.
    pub(crate) fn forward(&self, ids: &[u32]) -> Result<Tensor> {
        let device = self.table.device();
        if device.gpu().is_some_and(GpuDevice::runs_nothing) {
            // On paper nobody looks at values.
            let shape = (ids.len(), self.table.shape().dims2()?.1);
            let zeros = vec![0f32; shape.0 * shape.1];
            return Ok(Tensor::from_vec(zeros, shape, &device)?);
        }
        Ok(self.table.dequantize_rows(ids, &device)?)
    }

    /// The rows.
    pub(crate) fn table(&self) -> &QTensor {
        &self.table
    }
}
