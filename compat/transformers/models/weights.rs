//! Weights made from their names, and inputs made from numbers: the same in every build.

use candle_core::{DType, Device, Result, Shape, Tensor};
use candle_nn::VarBuilder;
use candle_nn::var_builder::SimpleBackend;

/// Spread over [-1, 1) by a seed and an index (splitmix64, Steele, Lea and Flood 2014).
fn unit(seed: u64, index: u64) -> f32 {
    let mut mixed = seed.wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// FNV-1a of a name (Fowler, Noll and Vo 1991).
fn seed(name: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    name.bytes().fold(0xCBF2_9CE4_8422_2325, step)
}

/// Values of a shape: `shift + scale · u`.
pub(crate) fn values(name: &str, shape: &Shape, shift: f32, scale: f32) -> Result<Tensor> {
    let seed = seed(name);
    let value = |index: usize| shift + scale * unit(seed, index as u64);
    let data: Vec<f32> = (0..shape.elem_count()).map(value).collect();
    Tensor::from_vec(data, shape.clone(), &Device::Cpu)
}

/// An input of a shape, in [-1, 1).
pub(crate) fn input<S: Into<Shape>>(shape: S) -> Result<Tensor> {
    values("input", &shape.into(), 0.0, 1.0)
}

/// Token ids below `vocabulary`, as `[1, len]`.
pub(crate) fn ids(len: u32, vocabulary: u32) -> Result<Tensor> {
    let ids: Vec<u32> = (0..len).map(|at| (7 + at * 31) % vocabulary).collect();
    Tensor::from_vec(ids, (1, len as usize), &Device::Cpu)
}

struct Made;

impl Made {
    fn tensor(&self, name: &str, shape: &Shape) -> Result<Tensor> {
        let last = name.rsplit('.').next().unwrap_or_default();
        let layer = name.rsplit('.').nth(1).unwrap_or_default();
        let is_norm = layer.contains("norm") || layer.contains("ln") || layer.contains("bn");
        match last {
            "running_var" => values(name, shape, 1.0, 0.25),
            "weight" | "gamma" if is_norm => values(name, shape, 1.0, 0.1),
            "weight_g" => values(name, shape, 1.0, 0.25),
            "A_log" => values(name, shape, 0.5, 0.5),
            _ => {
                // Outputs neither die out nor grow from layer to layer.
                let fan_in: usize = shape.dims().iter().skip(1).product();
                values(name, shape, 0.0, (1.5 / fan_in.max(4) as f32).sqrt())
            }
        }
    }
}

impl SimpleBackend for Made {
    fn get(
        &self,
        s: Shape,
        name: &str,
        _: candle_nn::Init,
        dtype: DType,
        dev: &Device,
    ) -> Result<Tensor> {
        self.tensor(name, &s)?.to_dtype(dtype)?.to_device(dev)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("{name}: made weights need a shape")
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// A builder of made weights.
pub(crate) fn made() -> VarBuilder<'static> {
    VarBuilder::from_backend(Box::new(Made), DType::F32, Device::Cpu)
}
