//! A kernel of one's own, on whichever GPU there is: `y = a · x + y`, written in place.
//!
//! The text says what is read and what is written; the runtime orders it among all operations.
//!
//! `cargo run -p tallow --example 06_own_kernel`

#![allow(clippy::print_stdout)]

use tallow::gpu::{self, GpuKernel, KernelSource, Operand, Variant, params_text};
use tallow::{Device, Result, Tensor};

tallow::gpu::params! {
    /// What the kernel takes.
    struct AxpyParams {
        /// The factor.
        a: f32,
        /// Elements.
        count: u32,
    }
}

static AXPY: KernelSource = KernelSource::new(
    "example_axpy",
    "KERNEL(example_axpy, WG)(IN(f32, x), INOUT(f32, y), PARAMS(AxpyParams)) {
         AFTER_INPUTS();
         const uint i = GRP_X * WG + TID;
         if (i < p.count) y[i] = FMA(p.a, x[i], y[i]);
     }",
    &[],
    Some(params_text::<AxpyParams>),
    128,
);

/// One launch.
struct Axpy {
    a: f32,
    count: u32,
}

impl GpuKernel for Axpy {
    type Params = AxpyParams;

    fn variant(&self) -> Variant {
        Variant::new(&AXPY)
    }

    fn params(&self) -> AxpyParams {
        AxpyParams {
            a: self.a,
            count: self.count,
        }
    }

    fn groups(&self) -> [u32; 3] {
        [self.count.div_ceil(AXPY.group()), 1, 1]
    }
}

fn main() -> Result<()> {
    let open = [Device::new_cuda, Device::new_metal, Device::new_opencl];
    let Some(device) = open.iter().find_map(|open| open(0).ok()) else {
        println!("there is no GPU");
        return Ok(());
    };
    let x = Tensor::arange(0f32, 1000f32, &device)?;
    let y = Tensor::ones(1000, tallow::DType::F32, &device)?;
    let axpy = Axpy {
        a: 2.0,
        count: 1000,
    };
    gpu::run(&axpy, &[Operand::Tensor(&x), Operand::Tensor(&y)])?;
    let last = y.get(999)?.to_scalar::<f32>()?;
    assert_eq!(last, 1999.0);
    println!("{:?}: 2 · 999 + 1 = {last}", device.location());
    Ok(())
}
