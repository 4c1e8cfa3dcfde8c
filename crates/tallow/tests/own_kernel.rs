//! Kernels of one's own, if the machine has a GPU (`TALLOW_TEST_DEVICE` is as in `devices.rs`):
//! what they compute, their place in the order of operations, and what is refused.

mod device;

use device::device;
use tallow::gpu::{self, GpuKernel, KernelSource, Operand, Variant, WEIGHTS_HEADER, params_text};
use tallow::quantized::{GgmlDType, QTensor};
use tallow::{DType, Device, Result, Tensor};

tallow::gpu::params! {
    /// What `test_axpy` takes.
    struct AxpyParams {
        /// The factor.
        a: f32,
        /// Elements.
        count: u32,
        /// Where x starts.
        x_at: u32,
        /// Where y starts.
        y_at: u32,
    }
    /// What `test_row` takes.
    struct RowParams {
        /// Where the scales start.
        scales_at: u64,
        /// Units of the matrix.
        units: u32,
        /// Nothing.
        unused: u32,
    }
}

static AXPY: KernelSource = KernelSource::new(
    "test_axpy",
    "KERNEL(test_axpy, WG)(IN(f32, x), INOUT(f32, y), PARAMS(AxpyParams)) {
         AFTER_INPUTS();
         const uint i = GRP_X * WG + TID;
         if (i < p.count) y[p.y_at + i] = FMA(p.a, x[p.x_at + i], y[p.y_at + i]);
     }",
    &[],
    Some(params_text::<AxpyParams>),
    64,
);

/// Weights as values.
static VALUES: KernelSource = KernelSource::new(
    "test_values",
    "KERNEL(test_values, WG)(IN(u8, w), OUT(f32, out), PARAMS(RowParams)) {
         AFTER_INPUTS();
         const uint at = GRP_X * WG + TID;
         if (at >= p.units) return;
         unit_t u;
         unit_load(&u, w, p.scales_at, at);
         for (uint j = 0u; j < UNIT; j++) out[at * UNIT + j] = unit_value(&u, j);
     }",
    &["#define X_SPACE GLOBAL\n", WEIGHTS_HEADER],
    Some(params_text::<RowParams>),
    64,
);

struct Axpy<'a>(f32, &'a Tensor, &'a Tensor);

impl GpuKernel for Axpy<'_> {
    type Params = AxpyParams;

    fn variant(&self) -> Variant {
        Variant::new(&AXPY)
    }

    fn params(&self) -> AxpyParams {
        AxpyParams {
            a: self.0,
            count: self.1.elem_count() as u32,
            x_at: self.1.layout().start_offset() as u32,
            y_at: self.2.layout().start_offset() as u32,
        }
    }

    fn groups(&self) -> [u32; 3] {
        [(self.1.elem_count() as u32).div_ceil(AXPY.group()), 1, 1]
    }
}

struct Values<'a>(&'a QTensor);

impl GpuKernel for Values<'_> {
    type Params = RowParams;

    fn variant(&self) -> Variant {
        let weights = self.0.gpu_weights().expect("it is on a gpu");
        weights.define(Variant::new(&VALUES))
    }

    fn params(&self) -> RowParams {
        let weights = self.0.gpu_weights().expect("it is on a gpu");
        RowParams {
            scales_at: weights.scales_at(),
            units: self.0.shape().elem_count() as u32 / 16,
            unused: 0,
        }
    }

    fn groups(&self) -> [u32; 3] {
        [self.params().units.div_ceil(VALUES.group()), 1, 1]
    }
}

fn axpy(a: f32, x: &Tensor, y: &Tensor) -> Result<()> {
    gpu::run(&Axpy(a, x, y), &[Operand::Tensor(x), Operand::Tensor(y)])
}

#[test]
fn a_kernel_of_ones_own_takes_its_place_among_operations() -> Result<()> {
    let Some(device) = device()? else {
        return Ok(());
    };
    // Views: the second half of x onto the first of y, between operations on both.
    let x = Tensor::arange(0f32, 1000f32, &device)?.affine(2.0, 0.0)?;
    let y = Tensor::ones(1000, DType::F32, &device)?;
    axpy(0.5, &x.narrow(0, 500, 500)?, &y.narrow(0, 0, 500)?)?;
    axpy(1.0, &y.narrow(0, 0, 10)?, &y.narrow(0, 500, 10)?)?;
    let got = y.affine(1.0, 1.0)?.to_vec1::<f32>()?;
    for (at, got) in got.iter().enumerate() {
        let want = match at {
            0..500 => 502.0 + at as f32,
            500..510 => 503.0 + (at - 500) as f32,
            _ => 2.0,
        };
        assert_eq!(*got, want, "element {at}");
    }
    let read = gpu::start_read(&y.narrow(0, 1, 2)?)?;
    axpy(1.0, &x, &y)?;
    let mut bytes = [0; 8];
    read.finish(&mut bytes)?;
    let words = [0, 4].map(|at| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    assert_eq!(words, [502.0, 503.0], "what comes later was read");
    Ok(())
}

#[test]
fn the_header_reads_matrices_of_every_format() -> Result<()> {
    let Some(device) = device()? else {
        return Ok(());
    };
    let wave = Tensor::arange(0f32, 3.0 * 512.0, &Device::Cpu)?.sin()?;
    let wave = wave.reshape((3, 512))?;
    for &dtype in GgmlDType::ALL {
        let Ok(matrix) = QTensor::quantize(&wave, dtype) else {
            continue; // a format that is only read
        };
        let want = matrix
            .dequantize(&Device::Cpu)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let matrix = matrix.to_device(&device);
        let out = Tensor::zeros(3 * 512, DType::F32, &device)?;
        let operands = [Operand::Blocks(&matrix), Operand::Tensor(&out)];
        gpu::run(&Values(&matrix), &operands)?;
        for (at, (got, want)) in out.to_vec1::<f32>()?.iter().zip(&want).enumerate() {
            // Scale and offset are apart: an offset that is no multiple of the scale rounds.
            let error = (got - want).abs();
            assert!(
                error <= 4e-6,
                "{dtype:?} element {at}: {got}, wanted {want}"
            );
        }
    }
    Ok(())
}

#[test]
fn what_a_kernel_cannot_take_is_refused() -> Result<()> {
    let Some(device) = device()? else {
        return Ok(());
    };
    let x = Tensor::zeros(8, DType::F32, &device)?;
    let on_cpu = Tensor::zeros(8, DType::F32, &Device::Cpu)?;
    let strided = Tensor::zeros((4, 4), DType::F32, &device)?.t()?;
    let matrix = QTensor::quantize(&on_cpu.reshape((1, 8))?, GgmlDType::F32)?.to_device(&device);
    let [x_, cpu_, strided_] = [&x, &on_cpu, &strided].map(Operand::Tensor);
    let cases: [(&str, &[Operand<'_>]); 5] = [
        ("takes 2", &[x_]),
        ("on a gpu is wanted", &[x_, cpu_]),
        ("not contiguous", &[x_, strided_]),
        ("cannot be", &[x_, Operand::Blocks(&matrix)]),
        ("takes 2", &[]),
    ];
    for (words, operands) in cases {
        let error = gpu::run(&Axpy(1.0, &x, &x), operands)
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error:?} does not say {words:?}");
    }
    assert!(gpu::start_read(&strided).is_err());
    assert!(gpu::start_read(&on_cpu).is_err());
    Ok(())
}
