//! Training: a multilayer perceptron on handwritten digits, by candle-nn's layers and AdamW.

use crate::Outputs;
use crate::weights::values;
use anyhow::{Context, Result};
use candle_core::{D, DType, Device, Tensor};
use candle_nn::{AdamW, Linear, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss};

/// Of the 1,797 images, those that are trained on: the first, as they come.
const TRAINED: usize = 1437;
const BATCH: usize = 64;
const EPOCHS: usize = 30;

struct Perceptron(Linear, Linear);

impl Perceptron {
    fn forward(&self, images: &Tensor) -> candle_core::Result<Tensor> {
        self.1.forward(&self.0.forward(images)?.relu()?)
    }
}

/// The mean loss of each epoch, and the share of the other images that are then told right.
pub(crate) fn train(path: &str) -> Result<Outputs> {
    let cpu = &Device::Cpu;
    let data = candle_core::safetensors::load(path, cpu)?;
    let (images, labels) = (
        data.get("images").context("no images")?,
        data.get("labels").context("no labels")?,
    );
    let variables = VarMap::new();
    let vb = VarBuilder::from_varmap(&variables, DType::F32, cpu);
    let model = Perceptron(
        linear(64, 100, vb.pp("first"))?,
        linear(100, 10, vb.pp("second"))?,
    );
    // The same start in both builds.
    for (name, variable) in variables.data().lock().expect("one thread").iter() {
        variable.set(&values(name, variable.shape(), 0.0, 0.125)?)?;
    }
    let mut optimizer = AdamW::new(
        variables.all_vars(),
        ParamsAdamW {
            lr: 2e-3,
            ..Default::default()
        },
    )?;
    let mut losses = Vec::new();
    for _ in 0..EPOCHS {
        let (mut sum, mut batches) = (0.0, 0.0);
        for start in (0..TRAINED).step_by(BATCH) {
            let len = BATCH.min(TRAINED - start);
            let logits = model.forward(&images.narrow(0, start, len)?)?;
            let loss = loss::cross_entropy(&logits, &labels.narrow(0, start, len)?)?;
            optimizer.backward_step(&loss)?;
            sum += loss.to_scalar::<f32>()?;
            batches += 1.0;
        }
        losses.push(sum / batches);
    }
    let rest = images.dim(0)? - TRAINED;
    let told = model
        .forward(&images.narrow(0, TRAINED, rest)?)?
        .argmax(D::Minus1)?;
    let right = told
        .eq(&labels.narrow(0, TRAINED, rest)?)?
        .to_dtype(DType::F32)?;
    let accuracy = right.mean_all()?;
    println!(
        "digits: loss {:?}, right {}",
        losses.last(),
        accuracy.to_scalar::<f32>()?
    );
    Ok(vec![
        ("losses", Tensor::new(losses, cpu)?),
        ("accuracy", accuracy),
    ])
}
