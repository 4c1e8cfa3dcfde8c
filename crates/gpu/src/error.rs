//! What can go wrong on a GPU.

use crate::Api;

/// An error of the GPU runtime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// A library of the system is not there.
    #[error("{api}: {library} not found; {hint}")]
    Missing {
        /// What it is needed for.
        api: Api,
        /// The library's name.
        library: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// There is no device of that number.
    #[error("{api}: no device {ordinal}; {count} found")]
    NoDevice {
        /// Which kind of device.
        api: Api,
        /// The number asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The device has not that much memory left.
    #[error("{api}: out of memory: {bytes} bytes asked for; {used} bytes in use by this process")]
    OutOfMemory {
        /// Which kind of device.
        api: Api,
        /// The size of the buffer.
        bytes: usize,
        /// What the runtime holds.
        used: usize,
    },
    /// A kernel's text does not compile.
    #[error("{api}: kernel {kernel} does not compile: {log}")]
    Compile {
        /// Which kind of device.
        api: Api,
        /// The kernel's name.
        kernel: String,
        /// The compiler's words.
        log: String,
    },
    /// A call of the driver failed.
    #[error("{api}: {call}: {what}")]
    Driver {
        /// Which kind of device.
        api: Api,
        /// The call.
        call: &'static str,
        /// The driver's words, or its number.
        what: String,
    },
    /// The device stopped answering; what was on it is gone, and so is every later call.
    #[error("{api}: the device is lost: {what}; open it again in a new process")]
    Lost {
        /// Which kind of device.
        api: Api,
        /// The driver's words.
        what: String,
    },
    /// A kernel met values that it cannot take.
    #[error("{kernel}: {what}")]
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A launch does not fit its kernel.
    #[error("{kernel}: {what}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// What is wrong.
        what: String,
    },
    /// An environment variable has a value that means nothing.
    #[error("{variable}: {value:?} is not {want}")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        want: &'static str,
    },
}

/// The result of a call of the GPU runtime.
pub type Result<T> = std::result::Result<T, GpuError>;
