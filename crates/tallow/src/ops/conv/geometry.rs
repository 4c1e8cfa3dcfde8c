//! Sizes of a convolution: which windows there are, and which shapes go together.
//!
//! Along one dimension, output `o` and tap `t` of the kernel meet input `o · stride + t · dilation
//! − padding`; where that is outside the input it reads 0. The reach of a kernel of k taps is
//! `dilation · (k − 1) + 1`. Kernels compute along three dimensions; where a call has fewer, the
//! others have size 1, and are put in front.

use crate::{Error, Result, Tensor, bail};

/// How a window moves, the same along each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) stride: usize,
    pub(super) padding: usize,
    pub(super) dilation: usize,
}

/// How the kernel of a convolution moves, and in how many groups the channels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    pub(super) op: &'static str,
    /// The rank of the operands: 2 more than the kernel moves along.
    pub(super) rank: usize,
    pub(super) window: Window,
    pub(super) groups: usize,
}

/// Sizes along three dimensions.
pub(super) type Spatial = [usize; 3];

/// Every size of one convolution, in its forward sense: an image of `groups · in_channels`
/// channels gives a result of `groups · out_channels`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) groups: usize,
    /// Channels of a group.
    pub(super) in_channels: usize,
    /// Channels of a group.
    pub(super) out_channels: usize,
    pub(super) image: Spatial,
    pub(super) kernel: Spatial,
    pub(super) out: Spatial,
    /// Windows along each dimension; stride 1, padding 0, dilation 1 where the call has none.
    pub(super) windows: [Window; 3],
}

const NO_WINDOW: Window = Window {
    stride: 1,
    padding: 0,
    dilation: 1,
};

impl Window {
    /// Elements of the input between the first and the last tap, both included.
    fn reach(self, taps: usize) -> Option<usize> {
        taps.checked_sub(1)?
            .checked_mul(self.dilation)?
            .checked_add(1)
    }

    /// How many windows fit.
    fn out_len(self, input: usize, taps: usize) -> Option<usize> {
        let padded = self.padding.checked_mul(2)?.checked_add(input)?;
        let free = padded.checked_sub(self.reach(taps)?)?;
        Some(free / self.stride + 1)
    }

    /// The input that `out` windows cover together, without the padding.
    fn in_len(self, out: usize, taps: usize, added: usize) -> Option<usize> {
        let covered = out.checked_sub(1)?.checked_mul(self.stride)?;
        let covered = covered.checked_add(self.reach(taps)?)?.checked_add(added)?;
        let twice = self.padding.checked_mul(2)?;
        covered.checked_sub(twice)
    }

    /// The input position that an output and a tap meet at; negative and behind the end in the
    /// padding. Sizes were checked to be far below the range of isize.
    pub(super) fn offset(self, tap: usize) -> isize {
        (tap * self.dilation) as isize - self.padding as isize
    }
}

impl Geometry {
    pub(super) fn new(
        op: &'static str,
        rank: usize,
        window: Window,
        groups: usize,
    ) -> Result<Self> {
        let Window {
            stride,
            padding,
            dilation,
        } = window;
        if stride == 0 || dilation == 0 || groups == 0 {
            bail!(
                "{op}: stride {stride}, dilation {dilation}, groups {groups}; each has to be at \
                 least 1"
            );
        }
        // Positions are computed as isize: nothing that memory can hold reaches this far.
        let most = isize::MAX as usize / 8;
        if stride > most || padding > most || dilation > most {
            bail!(
                "{op}: stride {stride}, padding {padding}, dilation {dilation}; more than memory \
                 can address"
            );
        }
        Ok(Self {
            op,
            rank,
            window,
            groups,
        })
    }

    /// Checks ranks and dtypes: `[batch, channels, spatial…]` by a kernel of the same rank.
    pub(super) fn check_operands(&self, x: &Tensor, kernel: &Tensor) -> Result<()> {
        let (op, rank) = (self.op, self.rank);
        for tensor in [x, kernel] {
            if tensor.rank() != rank {
                return Err(Error::UnexpectedNumberOfDims {
                    expected: rank,
                    got: tensor.rank(),
                    shape: tensor.shape().clone(),
                }
                .context(op));
            }
        }
        if x.dtype() != kernel.dtype() {
            return Err(Error::DTypeMismatchBinaryOp {
                lhs: x.dtype(),
                rhs: kernel.dtype(),
                op,
            });
        }
        if kernel.dims()[2..].contains(&0) {
            bail!(
                "{op}: kernel {:?} has no taps; each of its last {} sizes has to be at least 1",
                kernel.shape(),
                rank - 2
            );
        }
        Ok(())
    }

    /// The result's shape of a convolution: image `[batch, groups · in, …]`, kernel
    /// `[groups · out, in, …]`.
    pub(super) fn forward_dims(&self, image: &[usize], kernel: &[usize]) -> Result<Vec<usize>> {
        let (op, groups) = (self.op, self.groups);
        let divides = |channels: usize| channels.is_multiple_of(groups);
        let fits = divides(image[1]) && kernel[1] == image[1] / groups;
        if !fits || !divides(kernel[0]) {
            bail!(
                "{op}: channels do not fit: input {image:?} has {}, kernel {kernel:?} takes {} in \
                 each of {groups} groups and makes {}; the input needs groups times what the \
                 kernel takes, and groups has to divide what it makes",
                image[1],
                kernel[1],
                kernel[0]
            );
        }
        let mut dims = vec![image[0], kernel[0]];
        for (&size, &taps) in image[2..].iter().zip(&kernel[2..]) {
            match self.window.out_len(size, taps) {
                Some(len) => dims.push(len),
                None => bail!(
                    "{op}: kernel does not fit: input {image:?} with padding {}, kernel \
                     {kernel:?} with dilation {}",
                    self.window.padding,
                    self.window.dilation
                ),
            }
        }
        Ok(dims)
    }

    /// The result's shape of a transposed convolution: x `[batch, groups · in, …]`, kernel
    /// `[groups · in, out, …]`, `added` more elements at the end of each dimension.
    pub(super) fn transposed_dims(
        &self,
        x: &[usize],
        kernel: &[usize],
        added: usize,
    ) -> Result<Vec<usize>> {
        let (op, groups) = (self.op, self.groups);
        if x[1] != kernel[0] || !x[1].is_multiple_of(groups) {
            bail!(
                "{op}: channels do not fit: input {x:?} has {}, kernel {kernel:?} takes {}, in \
                 {groups} groups; the two have to be equal, and groups has to divide them",
                x[1],
                kernel[0]
            );
        }
        let Some(channels) = kernel[1].checked_mul(groups) else {
            bail!(
                "{op}: {groups} groups of {} channels pass what memory can address",
                kernel[1]
            );
        };
        let mut dims = vec![x[0], channels];
        for (&size, &taps) in x[2..].iter().zip(&kernel[2..]) {
            match self.window.in_len(size, taps, added) {
                Some(len) => dims.push(len),
                None => bail!(
                    "{op}: no output is left: input {x:?}, kernel {kernel:?}, stride {}, padding \
                     {}, output padding {added}, dilation {}",
                    self.window.stride,
                    self.window.padding,
                    self.window.dilation
                ),
            }
        }
        Ok(dims)
    }

    /// The sizes of a convolution whose image, kernel `[groups · out, in, …]` and result have
    /// these shapes.
    pub(super) fn sizes(&self, image: &[usize], kernel: &[usize], out: &[usize]) -> Sizes {
        let spatial = |dims: &[usize]| {
            let mut sizes = [1; 3];
            sizes[3 - (dims.len() - 2)..].copy_from_slice(&dims[2..]);
            sizes
        };
        let first = 3 - (image.len() - 2);
        let windows = std::array::from_fn(|dim| match dim < first {
            true => NO_WINDOW,
            false => self.window,
        });
        Sizes {
            batch: image[0],
            groups: self.groups,
            in_channels: kernel[1],
            out_channels: kernel[0] / self.groups,
            image: spatial(image),
            kernel: spatial(kernel),
            out: spatial(out),
            windows,
        }
    }
}

impl Sizes {
    /// Taps of the kernel.
    pub(super) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Elements of one channel of the result.
    pub(super) fn out_count(&self) -> usize {
        self.out.iter().product()
    }
}
