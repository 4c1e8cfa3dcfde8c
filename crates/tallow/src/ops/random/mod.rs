//! Random numbers: uniform ([`Tensor::rand`]) and normal ([`Tensor::randn`]).
//!
//! A device has a stream: a seed, and the number of blocks that were drawn since it was set
//! ([`Device::set_seed`]). A block is four random words, a function of the seed and the block's
//! number alone (Philox4x32-10, see `philox.rs`), so the numbers do not depend on threads or
//! instruction sets, and every device can make the same ones. Without a seed the stream starts
//! somewhere new in each process.
//!
//! ```text
//! f32 and narrower   element i is word i mod 4 of block i / 4, 24 bits of it; rounded once
//! f64                element i is words 2i mod 4, 2i + 1 mod 4 of block i / 2, 53 bits of them
//! ```
//!
//! Normal numbers are made of a pair of uniform ones each pair (Box and Muller 1958):
//! `√(-2 ln u) · (cos 2πv, sin 2πv)`, u in (0, 1].

mod cases;
mod cpu;
mod gpu;
mod philox;
mod stream;

use super::{Family, OpInfo};
use crate::gpu::GpuStorage;
use crate::storage::Storage;
use crate::{CpuStorage, DType, Device, Error, FloatDType, Layout, Result, Shape, Tensor, bail};
pub(crate) use stream::Stream;

/// The family's entry in [`ALL`](super::ALL).
pub const FAMILY: Family = Family {
    name: "random",
    ops: &[
        OpInfo {
            name: "rand",
            dtypes: &DType::FLOATS,
        },
        OpInfo {
            name: "randn",
            dtypes: &DType::FLOATS,
        },
    ],
    cases: cases::cases,
    draw: cases::draw,
};

/// What the numbers are drawn from.
#[derive(Clone, Copy, Debug)]
enum Distribution {
    /// Uniform in `low..high`.
    Uniform { low: f64, high: f64 },
    /// Normal.
    Normal { mean: f64, deviation: f64 },
}

impl Distribution {
    fn uniform(low: f64, high: f64) -> Result<Self> {
        if low > high || !(high - low).is_finite() {
            bail!("rand: bounds {low} and {high}; wants finite ones, the lower first");
        }
        Ok(Self::Uniform { low, high })
    }

    fn normal(mean: f64, deviation: f64) -> Result<Self> {
        if !mean.is_finite() || deviation < 0.0 || !deviation.is_finite() {
            bail!("randn: mean {mean}, deviation {deviation}; wants finite ones, at least 0");
        }
        Ok(Self::Normal { mean, deviation })
    }

    /// The blocks that `count` elements use up.
    fn blocks(dtype: DType, count: usize) -> u64 {
        let per_block = if dtype == DType::F64 { 2 } else { 4 };
        count.div_ceil(per_block) as u64
    }

    /// A tensor of these blocks of a stream, from `first` on.
    fn draw(self, seed: u64, first: u64, shape: Shape, dtype: DType) -> Result<Tensor> {
        let count = shape.checked_elem_count()?;
        let mut out = CpuStorage::for_output(dtype, count, self.name())?;
        cpu::fill(self, seed, first, &mut out)?;
        Tensor::from_cpu_storage(out, shape, &Device::Cpu)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Uniform { .. } => "rand",
            Self::Normal { .. } => "randn",
        }
    }

    /// The next tensor of the device's stream.
    fn next(self, shape: Shape, dtype: DType, device: &Device) -> Result<Tensor> {
        if !DType::FLOATS.contains(&dtype) {
            return Err(Error::UnsupportedDTypeForOp(dtype, self.name()));
        }
        tallow_threads::configured_threads()?;
        tallow_simd::configured_level()?;
        match device {
            Device::Cpu => {
                let blocks = Self::blocks(dtype, shape.checked_elem_count()?);
                let (seed, first) = Stream::of_cpu().reserve(blocks);
                self.draw(seed, first, shape, dtype)
            }
            Device::Cuda(gpu) | Device::Metal(gpu) | Device::OpenCl(gpu) => {
                let count = shape.checked_elem_count()?;
                let out = GpuStorage::new(gpu, count, dtype)?;
                if count > 0 {
                    gpu::draw(self, &out)?;
                }
                let layout = Layout::contiguous(shape);
                Ok(Tensor::from_parts(Storage::from_gpu(out), layout))
            }
        }
    }
}

/// Random numbers.
impl Tensor {
    /// Numbers spread evenly over `lo..up`, of the bounds' type. Equal bounds give that number.
    /// Errors if a bound is not finite or `lo` is above `up`.
    ///
    /// ```
    /// use tallow::{Device, Tensor};
    /// let x = Tensor::rand(-1f32, 1., (2, 3), &Device::Cpu)?;
    /// assert!(x.flatten_all()?.to_vec1::<f32>()?.iter().all(|x| (-1f32..1.).contains(x)));
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn rand<S: Into<Shape>, T: FloatDType>(
        lo: T,
        up: T,
        s: S,
        device: &Device,
    ) -> Result<Self> {
        Self::rand_f64(lo.to_f64(), up.to_f64(), s, T::DTYPE, device)
    }

    /// [`rand`](Self::rand) in a float dtype. Errors for the others.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::rand_f64(0.0, 1.0, 5, DType::BF16, &Device::Cpu)?;
    /// assert_eq!((x.dims(), x.dtype()), (&[5][..], DType::BF16));
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn rand_f64<S: Into<Shape>>(
        lo: f64,
        up: f64,
        s: S,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        Distribution::uniform(lo, up)?.next(s.into(), dtype, device)
    }

    /// [`rand`](Self::rand) in this tensor's shape and dtype, on its device. Errors for integers.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F16, &Device::Cpu)?.rand_like(0.0, 1.0)?;
    /// assert_eq!((x.dims(), x.dtype()), (&[2, 3][..], DType::F16));
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn rand_like(&self, lo: f64, up: f64) -> Result<Self> {
        Self::rand_f64(lo, up, self.shape(), self.dtype(), self.device())
    }

    /// Normal numbers of a mean and a standard deviation, of their type. Errors if one is not
    /// finite, and for a negative deviation.
    ///
    /// ```standalone_crate
    /// use tallow::{Device, Tensor};
    /// Device::Cpu.set_seed(42)?;
    /// let x = Tensor::randn(0f32, 1., 3, &Device::Cpu)?;
    /// Device::Cpu.set_seed(42)?;
    /// let same = Tensor::randn(0f32, 1., 3, &Device::Cpu)?;
    /// assert_eq!(x.to_vec1::<f32>()?, same.to_vec1::<f32>()?);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn randn<S: Into<Shape>, T: FloatDType>(
        mean: T,
        std: T,
        s: S,
        device: &Device,
    ) -> Result<Self> {
        Self::randn_f64(mean.to_f64(), std.to_f64(), s, T::DTYPE, device)
    }

    /// [`randn`](Self::randn) in a float dtype. Errors for the others.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::randn_f64(0.0, 1.0, 5, DType::F64, &Device::Cpu)?;
    /// assert_eq!((x.dims(), x.dtype()), (&[5][..], DType::F64));
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn randn_f64<S: Into<Shape>>(
        mean: f64,
        std: f64,
        s: S,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        Distribution::normal(mean, std)?.next(s.into(), dtype, device)
    }

    /// [`randn`](Self::randn) in this tensor's shape and dtype, on its device. Errors for integers.
    ///
    /// ```
    /// use tallow::{DType, Device, Tensor};
    /// let x = Tensor::zeros((2, 3), DType::F32, &Device::Cpu)?.randn_like(0.0, 1.0)?;
    /// assert_eq!(x.dims(), [2, 3]);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn randn_like(&self, mean: f64, stdev: f64) -> Result<Self> {
        Self::randn_f64(mean, stdev, self.shape(), self.dtype(), self.device())
    }
}

/// The device's random numbers. The stream is one a process, so the examples that set the seed run
/// each in a process of its own.
impl Device {
    /// Starts the device's random numbers anew: equal seeds give equal numbers.
    ///
    /// ```standalone_crate
    /// use tallow::Device;
    /// Device::Cpu.set_seed(299792458)?;
    /// assert_eq!(Device::Cpu.get_current_seed()?, 299792458);
    /// # Ok::<(), tallow::Error>(())
    /// ```
    pub fn set_seed(&self, seed: u64) -> Result<()> {
        match self.gpu() {
            Some(gpu) => gpu::restart(gpu, seed),
            None => {
                Stream::of_cpu().restart(seed);
                Ok(())
            }
        }
    }

    /// The seed that the device's random numbers started from: the one that was set, or the one
    /// that the process chose.
    pub fn get_current_seed(&self) -> Result<u64> {
        Ok(match self.gpu() {
            Some(gpu) => stream::gpu_seed(gpu.id()),
            None => Stream::of_cpu().seed(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_numbers_is_an_error() -> Result<()> {
        let cpu = &Device::Cpu;
        assert!(Tensor::rand(1f32, 0., 2, cpu).is_err());
        assert!(Tensor::rand(f32::NAN, 0., 2, cpu).is_err());
        assert!(Tensor::rand(f64::MIN, f64::MAX, 2, cpu).is_err());
        assert!(Tensor::randn(0f32, -1., 2, cpu).is_err());
        assert!(Tensor::randn(0f32, f32::NAN, 2, cpu).is_err());
        assert!(Tensor::rand_f64(0., 1., 2, DType::U8, cpu).is_err());
        assert!(Tensor::rand(0f32, 1., (usize::MAX, 2), cpu).is_err());
        assert_eq!(Tensor::rand(2f32, 2., 2, cpu)?.to_vec1::<f32>()?, [2., 2.]);
        assert_eq!(Tensor::randn(0f32, 1., (0, 3), cpu)?.dims(), [0, 3]);
        Ok(())
    }

    #[test]
    fn uniform_numbers_stay_below_the_upper_bound() -> Result<()> {
        let draw = |low, high, dtype| -> Result<Vec<f64>> {
            let shape = Shape::from(100_000);
            let x = Distribution::uniform(low, high)?.draw(1, 0, shape, dtype)?;
            x.to_dtype(DType::F64)?.to_vec1()
        };
        for dtype in DType::FLOATS {
            for (low, high) in [(0.0, 1.0), (-1.0, 0.0), (1.0, 1.5), (-2.0, -1.0)] {
                let values = draw(low, high, dtype)?;
                let inside = values.iter().all(|&x| low <= x && x < high);
                assert!(inside, "{dtype} in {low}..{high}");
            }
        }
        Ok(())
    }

    #[test]
    fn moments_are_those_of_the_distribution() -> Result<()> {
        for dtype in [DType::F32, DType::F64] {
            let normal = Distribution::normal(3.0, 2.0)?;
            let x = normal
                .draw(7, 0, Shape::from(1_000_000), dtype)?
                .to_dtype(DType::F64)?;
            let mean = x.mean_all()?.to_scalar::<f64>()?;
            let spread = x.affine(1.0, -3.0)?.sqr()?.mean_all()?.to_scalar::<f64>()?;
            let skew = x
                .affine(0.5, -1.5)?
                .powf(3.0)?
                .mean_all()?
                .to_scalar::<f64>()?;
            // Five deviations of each estimate.
            assert!((mean - 3.0).abs() < 0.01, "mean {mean}");
            assert!((spread - 4.0).abs() < 0.03, "variance {spread}");
            assert!(skew.abs() < 0.02, "skewness {skew}");
        }
        Ok(())
    }
}
