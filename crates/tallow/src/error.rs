//! The error type: candle's variants, the house's words.
//!
//! Text has the shape `op: what is wrong: the values; what would be right`, in lower case with no
//! final dot. User input and I/O give an [`Error`]; nothing here panics.

use crate::{DType, DeviceLocation, Shape};

/// A result whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in a tensor operation.
#[derive(thiserror::Error, Debug)]
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
    #[error("split: parts {size_splits:?} do not add up to dim {dim} of shape {shape:?}")]
    ShapeMismatchSplit {
        shape: Shape,
        dim: usize,
        size_splits: Vec<usize>,
    },

    /// The operation wants a single dimension.
    #[error("{op}: wants one dim only: shape {shape:?}")]
    OnlySingleDimension { op: &'static str, shape: Shape },

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

    /// An index that the dimension does not have.
    #[error("{op}: index {index} is out of range; the dim has {size}")]
    InvalidIndex {
        op: &'static str,
        index: usize,
        size: usize,
    },

    /// CUDA was asked for, and there is no GPU runtime yet.
    #[error("cuda: this version has no GPU runtime; use Device::Cpu")]
    NotCompiledWithCudaSupport,

    /// Metal was asked for, and there is no GPU runtime yet.
    #[error("metal: this version has no GPU runtime; use Device::Cpu")]
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

    /// An I/O error.
    #[error(transparent)]
    Io(#[from] std::io::Error),

    /// A number that does not parse.
    #[error(transparent)]
    ParseInt(#[from] std::num::ParseIntError),

    /// An error of another library.
    #[error("{0}")]
    Wrapped(Box<dyn std::error::Error + Send + Sync>),

    /// An error with the file that it is about.
    #[error("{}: {inner}", path.display())]
    WithPath {
        inner: Box<Self>,
        path: std::path::PathBuf,
    },

    /// An error with the words of a caller in front.
    #[error("{context}: {inner}")]
    Context { inner: Box<Self>, context: String },

    /// Any other message.
    #[error("{0}")]
    Msg(String),
}

impl Error {
    /// An error that wraps one of another library.
    pub fn wrap(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Wrapped(Box::new(error))
    }

    /// An error from words.
    pub fn msg(text: impl std::fmt::Display) -> Self {
        Self::Msg(text.to_string())
    }

    /// This error with the file that it is about.
    pub fn with_path(self, path: impl AsRef<std::path::Path>) -> Self {
        Self::WithPath {
            inner: Box::new(self),
            path: path.as_ref().to_path_buf(),
        }
    }

    /// This error with words in front.
    pub fn context(self, context: impl std::fmt::Display) -> Self {
        Self::Context {
            inner: Box::new(self),
            context: context.to_string(),
        }
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
);

/// Returns an [`Error::Msg`] made with `format!`.
#[macro_export]
macro_rules! bail {
    ($($arg:tt)*) => {
        return Err($crate::Error::Msg(format!($($arg)*)))
    };
}
