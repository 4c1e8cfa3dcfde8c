//! A tensor library with candle's interface.
//!
//! A [`Tensor`] is a shared buffer ([`Storage`]) and a [`Layout`] into it. Operations are values:
//! an [`op::Op`] checks its operands, says what its result looks like and computes it;
//! [`op::apply`] runs it. The operations stand in [`ops`], one folder a family, each with its naive
//! reference and its table of cases; [`testing`] runs the cases over every dtype, layout and
//! instruction set. The CPU's machinery (strided walk, parallel drivers, recycled buffers) is in
//! [`cpu`]; kernels are safe code over `tallow-simd`, `tallow-gemm` and `tallow-quant`.
//!
//! Read `tensor.rs`, `op.rs`, then `ops/unary` as the exemplar that all other operations imitate.
#![forbid(unsafe_code)]

mod convert;
mod custom_op;
mod device;
mod device_name;
mod dtype;
pub mod dummy_dtype;
mod elements;
pub mod error;
mod float8;
mod index_op;
mod inplace_op;
mod layout;
mod module;
mod read;
mod rounding;
mod shape;
mod storage;
mod strided;
mod tensor;
mod variable;
mod views;

pub mod backprop;
pub mod cpu;
pub mod display;
pub mod gpu;
pub mod npy;
pub mod op;
pub mod ops;
pub mod pickle;
pub mod quantized;
pub mod safetensors;
pub mod scalar;
pub mod streaming;
pub mod testing;

pub use custom_op::{CustomOp1, CustomOp2, CustomOp3};
pub use device::{CudaDevice, Device, DeviceLocation, GpuDevice, MetalDevice, NdArray};
pub use device_name::DeviceName;
pub use dtype::{DType, DTypeParseError, F8E4M3, FloatDType, IntDType, WithDType, bf16, f16};
pub use dummy_dtype::{F4, F6E2M3, F6E3M2, F8E8M0};
pub use error::{Context, Error, MetalError, Result};
pub use index_op::{IndexOp, TensorIndexer};
pub use inplace_op::{InplaceOp1, InplaceOp2, InplaceOp3};
pub use layout::{Layout, LayoutRelation};
pub use module::{Module, ModuleT};
pub use ops::conv::params as conv;
pub use ops::pool::ToUsize2;
pub use scalar::{Scalar, TensorOrScalar, TensorScalar};
pub use shape::{D, Dim, Dims, SCALAR, Shape, ShapeWithOneHole};
pub use storage::{
    CpuStorage, CpuStorageRef, CudaStorage, GpuStorage, MetalStorage, Storage, StorageMutRef,
    StorageRef,
};
pub use streaming::{StreamTensor, StreamingBinOp, StreamingModule};
pub use strided::{NdIter, StridedBlocks, StridedIndex};
pub use tensor::{Tensor, TensorId};
pub use variable::Var;

/// The examples of the project's README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
