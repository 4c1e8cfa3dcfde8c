//! The GPU runtime: devices, buffers, command stream, hazards, pool and kernel cache.
//!
//! Everything that decides something is written once, in plain Rust, and runs on any machine: what
//! must wait for what (`hazards`), which buffer is reused (`pool`), when a batch goes out
//! (`stream`), which kernel is compiled, loaded or found (`cache`). A driver does the little
//! that is left ([`Driver`]): CUDA and OpenCL libraries are opened at run time, so one binary runs
//! everywhere. This crate knows no tensor and no operation.

#[doc(hidden)]
pub use bytemuck;

mod cache;
mod command;
mod device;
mod device_lib;
mod driver;
pub mod drivers;
mod error;
mod hazards;
mod params;
mod pool;
mod product;
mod settings;
mod source;
mod stream;
pub mod strided;
mod turn;

pub use cache::{
    KeptKernel, KernelCounts, PackedKernel, clear_kept, compile_for_pack, kept, write_pack,
};
pub use command::{Access, Command, Kernel, Launch, Step, Use};
pub use device::{Buffer, GpuDevice, ReadBack, Recording, Statistics};
pub use driver::{Api, DeviceInfo, Driver, Handle, Memory, MemoryKind, Program, Ticket};
pub use error::{GpuError, Result};
#[doc(hidden)]
pub use params::scope as params_scope;
pub use params::{Field, Params};
pub use product::{MatrixLayout, MatrixPlace, Number, Product, ProductPlan};
pub use settings::{Settings, default_pack};
pub use source::{Define, KernelSource, Signature, Variant, params_text};
