//! Three layers learn to tell two spirals apart, and what they have learned is saved.
//!
//! `cargo run --release -p tallow-nn --example 01_train_mlp`

#![allow(clippy::print_stdout)]

use tallow::{D, DType, Device, Result, Tensor};
use tallow_nn::{AdamW, Linear, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear, loss};

/// Points of two spirals, `[2 · count, 2]`, and the spiral of each.
fn spirals(count: usize, device: &Device) -> Result<(Tensor, Tensor)> {
    let point = |at: usize, turn: f64| {
        let way = (at as f64 + 0.5) / count as f64;
        let angle = 1.5 * std::f64::consts::TAU * way.sqrt() + turn;
        [way.sqrt() * angle.cos(), way.sqrt() * angle.sin()].map(|x| x as f32)
    };
    let first = (0..count).flat_map(|at| point(at, 0.0));
    let second = (0..count).flat_map(|at| point(at, std::f64::consts::PI));
    let points = Tensor::from_vec(first.chain(second).collect(), (2 * count, 2), device)?;
    let labels = (0..2 * count).map(|at| u32::from(at >= count));
    Ok((points, Tensor::from_iter(labels, device)?))
}

struct Mlp {
    layers: [Linear; 3],
}

impl Mlp {
    fn new(vb: VarBuilder<'_>) -> Result<Self> {
        let layers = [
            linear(2, 64, vb.pp("first"))?,
            linear(64, 64, vb.pp("second"))?,
            linear(64, 2, vb.pp("third"))?,
        ];
        Ok(Self { layers })
    }
}

impl Module for Mlp {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let [first, second, third] = &self.layers;
        xs.apply(first)?.tanh()?.apply(second)?.tanh()?.apply(third)
    }
}

/// The share of the points whose spiral the model names.
fn accuracy(model: &Mlp, points: &Tensor, labels: &Tensor) -> Result<f32> {
    let named = model.forward(points)?.argmax(D::Minus1)?;
    named
        .eq(labels)?
        .to_dtype(DType::F32)?
        .mean_all()?
        .to_scalar()
}

fn main() -> Result<()> {
    let device = Device::Cpu;
    let (points, labels) = spirals(200, &device)?;
    let (unseen, unseen_labels) = spirals(77, &device)?;

    let variables = VarMap::new();
    let model = Mlp::new(VarBuilder::from_varmap(&variables, DType::F32, &device))?;
    let params = ParamsAdamW {
        lr: 0.01,
        ..Default::default()
    };
    let mut optimizer = AdamW::new(variables.all_vars(), params)?;
    for step in 0..=400 {
        let loss = loss::cross_entropy(&model.forward(&points)?, &labels)?;
        optimizer.backward_step(&loss)?;
        if step % 100 == 0 {
            println!("step {step}: loss {:.4}", loss.to_scalar::<f32>()?);
        }
    }
    let share = accuracy(&model, &unseen, &unseen_labels)?;
    println!("right on {:.1}% of points not trained on", 100.0 * share);

    let path = std::env::temp_dir().join("tallow-spirals.safetensors");
    variables.save(&path)?;
    println!("saved in {}", path.display());
    Ok(())
}
