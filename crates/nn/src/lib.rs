//! Neural networks on Tallow tensors, with candle-nn's interface.
//!
//! ```
//! use tallow::{DType, Device, Tensor};
//! use tallow_nn::{AdamW, Module, Optimizer, VarBuilder, VarMap, linear, loss};
//!
//! let variables = VarMap::new();
//! let builder = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
//! let layer = linear(2, 1, builder.pp("layer"))?;
//! // From random numbers, unless they are set.
//! variables.all_vars().iter().try_for_each(|weight| weight.set(&weight.zeros_like()?))?;
//! let mut optimizer = AdamW::new_lr(variables.all_vars(), 0.1)?;
//! let x = Tensor::new(&[[1f32, 2.], [3., 4.]], &Device::Cpu)?;
//! let target = Tensor::new(&[[1f32], [2.]], &Device::Cpu)?;
//! let before = loss::mse(&layer.forward(&x)?, &target)?;
//! optimizer.backward_step(&before)?;
//! let after = loss::mse(&layer.forward(&x)?, &target)?;
//! assert!(after.to_scalar::<f32>()? < before.to_scalar::<f32>()?);
//! # Ok::<(), tallow::Error>(())
//! ```
//!
//! A layer holds tensors and says what it makes of an input; it gets them from a [`VarBuilder`],
//! which reads a checkpoint or makes variables of a [`VarMap`]. Everything is made of Tallow's
//! operations: it runs on every device that they run on and has gradients where they have. There
//! are no kernels here. f16, bf16 and f8 are computed in f32 and rounded once.
//!
//! Read `linear.rs`, then `var_builder/mod.rs`.
#![forbid(unsafe_code)]

pub mod activation;
pub mod attention;
pub mod batch_norm;
pub mod conv;
pub mod cpu_flash_attention;
pub mod embedding;
pub mod encoding;
pub mod func;
pub mod group_norm;
pub mod init;
pub mod kv_cache;
pub mod layer_norm;
pub mod linear;
pub mod loss;
pub mod moe;
pub mod ops;
pub mod optim;
pub mod rnn;
pub mod rotary_emb;
pub mod sampling;
pub mod sequential;
pub mod var_builder;
pub mod var_map;
pub mod varlen_attention;

#[cfg(test)]
mod differences;
mod wide;

pub use activation::{Activation, PReLU, prelu};
pub use batch_norm::{BatchNorm, BatchNormConfig, batch_norm};
pub use conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose1d, ConvTranspose1dConfig,
    ConvTranspose2d, ConvTranspose2dConfig, conv_transpose1d, conv_transpose1d_no_bias,
    conv_transpose2d, conv_transpose2d_no_bias, conv1d, conv1d_no_bias, conv2d, conv2d_no_bias,
};
pub use embedding::{Embedding, embedding};
pub use func::{Func, FuncT, func, func_t};
pub use group_norm::{GroupNorm, group_norm};
pub use init::Init;
pub use layer_norm::{
    LayerNorm, LayerNormConfig, RmsNorm, layer_norm, layer_norm_no_bias, rms_norm,
};
pub use linear::{Linear, linear, linear_b, linear_no_bias};
pub use ops::Dropout;
pub use optim::{AdamW, Optimizer, ParamsAdamW, SGD};
pub use rnn::{GRU, GRUConfig, LSTM, LSTMConfig, RNN, gru, lstm};
pub use sequential::{Sequential, seq};
pub use tallow::{Module, ModuleT};
pub use var_builder::VarBuilder;
pub use var_map::VarMap;
