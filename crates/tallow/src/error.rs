//! The error type: candle's variants, the house's words.
//!
//! Text has the shape `op: what is wrong: the values; what would be right`, in lower case with no
//! final dot. User input and I/O give an [`Error`]; nothing here panics.

use crate::{DType, DeviceLocation, Layout, Shape};
use std::backtrace::{Backtrace, BacktraceStatus};
use std::convert::Infallible;
use std::fmt::{Debug, Display};
use std::path::Path;

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in a tensor operation.
#[derive(thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are named after what they hold
pub enum Error {
    /// One operand has a dtype that the operation does not expect.
    #[error("{msg}: unexpected dtype: {got}; expected {expected}")]
    UnexpectedDType {
        msg: &'static str,
        expected: DType,
        got: DType,
    },

    /// Two operands have to have one dtype.
    #[error("{op}: dtypes differ: lhs {lhs}, rhs {rhs}; cast one with to_dtype")]
    DTypeMismatchBinaryOp {
        lhs: DType,
        rhs: DType,
        op: &'static str,
    },

    /// The operation has no kernel for the dtype.
    #[error("{1}: dtype {0} is not supported; cast with to_dtype")]
    UnsupportedDTypeForOp(DType, &'static str),

    /// A dimension index that the shape does not have.
    #[error("{op}: dim {dim} is out of range for shape {shape:?}; it has rank {}", shape.rank())]
    DimOutOfRange {
        shape: Shape,
        dim: i32,
        op: &'static str,
    },

    /// The same dimension was named twice.
    #[error("{op}: a dim is named twice: {dims:?} for shape {shape:?}")]
    DuplicateDimIndex {
        shape: Shape,
        dims: Vec<usize>,
        op: &'static str,
    },

    /// The rank is not the one asked for.
    #[error("unexpected rank: {got} of shape {shape:?}; expected rank {expected}")]
    UnexpectedNumberOfDims {
        expected: usize,
        got: usize,
        shape: Shape,
    },

    /// The shape is not the one asked for.
    #[error("{msg}: unexpected shape: {got:?}; expected {expected:?}")]
    UnexpectedShape {
        msg: String,
        expected: Shape,
        got: Shape,
    },

    /// A buffer does not hold as many elements as the shape has.
    #[error(
        "shape {shape:?} has {} elements, the buffer {buffer_size}; the counts must agree",
        shape.elem_count()
    )]
    ShapeMismatch { buffer_size: usize, shape: Shape },

    /// Two operands have shapes that do not go together.
    #[error("{op}: shapes do not fit: lhs {lhs:?}, rhs {rhs:?}")]
    ShapeMismatchBinaryOp {
        lhs: Shape,
        rhs: Shape,
        op: &'static str,
    },

    /// Operands of a concatenation differ outside the joined dimension.
    #[error("cat: shapes differ outside dim {dim}: first {first_shape:?}, at {n} {nth_shape:?}")]
    ShapeMismatchCat {
        dim: usize,
        first_shape: Shape,
        n: usize,
        nth_shape: Shape,
    },

    /// A split that the dimension does not allow.
    #[error("split: dim {dim} of shape {shape:?} does not part into {n_parts} of one size")]
    ShapeMismatchSplit {
        shape: Shape,
        dim: usize,
        n_parts: usize,
    },

    /// The operation wants a single dimension.
    #[error("{op}: wants one dim only: dims {dims:?}")]
    OnlySingleDimension { op: &'static str, dims: Vec<usize> },

    /// The operation has no value for zero elements.
    #[error("{op}: the tensor or the reduced dim is empty; no value exists")]
    EmptyTensor { op: &'static str },

    /// The operation wants at least one operand.
    #[error("{op}: no tensors; wants at least one")]
    OpRequiresAtLeastOneTensor { op: &'static str },

    /// The operation wants at least two operands.
    #[error("{op}: fewer than two tensors; wants at least two")]
    OpRequiresAtLeastTwoTensors { op: &'static str },

    /// Two operands live on different devices.
    #[error("{op}: devices differ: lhs {lhs:?}, rhs {rhs:?}; move one with to_device")]
    DeviceMismatchBinaryOp {
        lhs: DeviceLocation,
        rhs: DeviceLocation,
        op: &'static str,
    },

    /// A range that the dimension does not have.
    #[error("narrow: {msg}: dim {dim}, start {start}, len {len}, shape {shape:?}")]
    NarrowInvalidArgs {
        shape: Shape,
        dim: usize,
        start: usize,
        len: usize,
        msg: &'static str,
    },

    /// A convolution over one dimension that its operands do not allow.
    #[error(
        "conv1d: {msg}: input {inp_shape:?}, kernel {k_shape:?}, padding {padding}, stride {stride}"
    )]
    Conv1dInvalidArgs {
        inp_shape: Shape,
        k_shape: Shape,
        padding: usize,
        stride: usize,
        msg: &'static str,
    },

    /// A variable cannot take the value.
    #[error("set: {msg}")]
    CannotSetVar { msg: &'static str },

    /// A matrix product whose operands' strides are not taken. Tallow takes all.
    #[error("matmul: {}: lhs {}, rhs {}", .0.msg, .0.lhs_l.describe(), .0.rhs_l.describe())]
    MatMulUnexpectedStriding(Box<MatMulUnexpectedStriding>),

    /// No tensor of this name.
    #[error("no tensor {path:?}")]
    CannotFindTensor { path: String },

    /// An error of the CUDA driver.
    #[error("cuda: {0}")]
    Cuda(Box<dyn std::error::Error + Send + Sync>),

    /// An error of Metal.
    #[error("metal: {0}")]
    Metal(#[from] MetalError),

    /// A number that its type does not hold.
    #[error(transparent)]
    TryFromIntError(#[from] std::num::TryFromIntError),

    /// A file of numpy's that is not sound.
    #[error("npy: {0}")]
    Npy(String),

    /// Text that is not UTF-8.
    #[error(transparent)]
    FromUtf8(#[from] std::string::FromUtf8Error),

    /// An index that the dimension does not have.
    #[error("{op}: index {index} is out of range; the dim has {size}")]
    InvalidIndex {
        op: &'static str,
        index: usize,
        size: usize,
    },

    /// An error of the GPU runtime.
    #[error(transparent)]
    Gpu(Box<tallow_gpu::GpuError>),

    /// CUDA was asked for, and the program was built without it. Tallow finds it at run time.
    #[error("cuda: this program was built without it")]
    NotCompiledWithCudaSupport,

    /// Metal was asked for, and the program was built without it. Tallow finds it at run time.
    #[error("metal: this program was built without it")]
    NotCompiledWithMetalSupport,

    /// The operation has no gradient.
    #[error("backward: {op} has no gradient; detach its operands")]
    BackwardNotSupported { op: &'static str },

    /// A shape that cannot be broadcast to another.
    #[error("broadcast: shape {src_shape:?} does not broadcast to {dst_shape:?}")]
    BroadcastIncompatibleShapes { src_shape: Shape, dst_shape: Shape },

    /// A view has to be contiguous here.
    #[error("{op}: wants a contiguous tensor; call contiguous() first")]
    RequiresContiguous { op: &'static str },

    /// What the `safetensors` crate refused.
    #[error(transparent)]
    SafeTensor(#[from] ::safetensors::SafeTensorError),

    /// A safetensors dtype that no tensor can hold.
    #[error("safetensors: dtype {0} cannot be read")]
    UnsupportedSafeTensorDtype(::safetensors::Dtype),

    /// An I/O error.
    #[error(transparent)]
    Io(#[from] std::io::Error),

    /// A number that does not parse.
    #[error(transparent)]
    ParseInt(#[from] std::num::ParseIntError),

    /// An error of another library.
    #[error("{0}")]
    Wrapped(Box<dyn Display + Send + Sync>),

    /// An error of another library with the words of a caller in front.
    #[error("{context}: {wrapped}")]
    WrappedContext {
        wrapped: Box<dyn std::error::Error + Send + Sync>,
        context: String,
    },

    /// An error with the words of a caller in front.
    #[error("{context}: {inner}")]
    Context {
        inner: Box<Self>,
        context: Box<dyn Display + Send + Sync>,
    },

    /// An error with the file that it is about.
    #[error("{}: {inner}", path.display())]
    WithPath {
        inner: Box<Self>,
        path: std::path::PathBuf,
    },

    /// An error with where it came from.
    #[error("{inner}\n{backtrace}")]
    WithBacktrace {
        inner: Box<Self>,
        backtrace: Box<Backtrace>,
    },

    /// Any other message.
    #[error("{0}")]
    Msg(String),

    /// A value that is not there.
    #[error("a value is missing")]
    UnwrapNone,
}

/// An error of Metal.
#[derive(thiserror::Error, Debug)]
pub enum MetalError {
    /// In words.
    #[error("{0}")]
    Message(String),
}

impl From<String> for MetalError {
    fn from(text: String) -> Self {
        Self::Message(text)
    }
}

/// The operands of a matrix product.
#[derive(Clone, Debug)]
pub struct MatMulUnexpectedStriding {
    /// The left one.
    pub lhs_l: Layout,
    /// The right one.
    pub rhs_l: Layout,
    /// Batch, rows, columns and the size that is summed over.
    pub bmnk: (usize, usize, usize, usize),
    /// What is wrong.
    pub msg: &'static str,
}

impl Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Display::fmt(self, f)
    }
}

impl Error {
    /// An error that wraps one of another library.
    pub fn wrap(error: impl Display + Send + Sync + 'static) -> Self {
        Self::Wrapped(Box::new(error))
    }

    /// An error from words.
    pub fn msg(text: impl Display) -> Self {
        Self::Msg(text.to_string())
    }

    /// An error from a value's debug form.
    pub fn debug(value: impl Debug) -> Self {
        Self::Msg(format!("{value:?}"))
    }

    /// This error with the file that it is about.
    pub fn with_path<P: AsRef<Path>>(self, path: P) -> Self {
        Self::WithPath {
            inner: Box::new(self),
            path: path.as_ref().to_path_buf(),
        }
    }

    /// This error with words in front.
    pub fn context(self, context: impl Display + Send + Sync + 'static) -> Self {
        Self::Context {
            inner: Box::new(self),
            context: Box::new(context),
        }
    }

    /// This error with the stack of calls, where `RUST_BACKTRACE` asks for it.
    pub fn bt(self) -> Self {
        let backtrace = Backtrace::capture();
        match backtrace.status() {
            BacktraceStatus::Captured => Self::WithBacktrace {
                inner: Box::new(self),
                backtrace: Box::new(backtrace),
            },
            _ => self,
        }
    }
}

/// Adds words to what went wrong.
///
/// ```
/// use tallow::{Context, Result};
/// let count: Result<usize> = "many".parse::<usize>().context("heads");
/// assert_eq!(count.unwrap_err().to_string(), "heads: invalid digit found in string");
/// ```
pub trait Context<T, E>: sealed::Sealed {
    /// The error with these words in front.
    fn context<C: Display + Send + Sync + 'static>(self, context: C) -> Result<T>;
    /// The error with words in front that are made only for an error.
    fn with_context<C, F>(self, f: F) -> Result<T>
    where
        C: Display + Send + Sync + 'static,
        F: FnOnce() -> C;
}

mod sealed {
    pub trait Sealed {}
    impl<T, E> Sealed for std::result::Result<T, E> {}
    impl<T> Sealed for Option<T> {}
}

impl<T, E: std::error::Error + Send + Sync + 'static> Context<T, E> for std::result::Result<T, E> {
    fn context<C: Display + Send + Sync + 'static>(self, context: C) -> Result<T> {
        self.with_context(|| context)
    }

    fn with_context<C, F>(self, f: F) -> Result<T>
    where
        C: Display + Send + Sync + 'static,
        F: FnOnce() -> C,
    {
        self.map_err(|error| Error::WrappedContext {
            wrapped: Box::new(error),
            context: f().to_string(),
        })
    }
}

impl<T> Context<T, Infallible> for Option<T> {
    fn context<C: Display + Send + Sync + 'static>(self, context: C) -> Result<T> {
        self.with_context(|| context)
    }

    fn with_context<C, F>(self, f: F) -> Result<T>
    where
        C: Display + Send + Sync + 'static,
        F: FnOnce() -> C,
    {
        self.ok_or_else(|| Error::UnwrapNone.context(f()))
    }
}

macro_rules! from_leaf {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::wrap(error)
            }
        })+
    };
}
from_leaf!(
    tallow_threads::ThreadCountError,
    tallow_simd::LevelError,
    tallow_gemm::MatError,
    tallow_quant::QuantError,
    tallow_formats::Error,
);

/// Returns an [`Error::Msg`] made with `format!`.
#[macro_export]
macro_rules! bail {
    ($($arg:tt)*) => {
        return Err($crate::Error::Msg(format!($($arg)*)))
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_front() {
        let missing = None::<u8>.with_context(|| "head count");
        assert_eq!(
            missing.unwrap_err().to_string(),
            "head count: a value is missing"
        );
        let error = Error::msg("short")
            .context("block 3")
            .with_path("model.gguf");
        assert_eq!(error.to_string(), "model.gguf: block 3: short");
        assert_eq!(format!("{:?}", Error::debug([1, 2])), "[1, 2]");
        assert_eq!(
            Error::wrap("theirs").bt().to_string().lines().next(),
            Some("theirs")
        );
    }
}
