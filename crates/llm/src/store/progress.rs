//! How a fetch tells its caller what it is doing.

/// Receives the progress of a fetch; the caller draws it. All methods may do nothing.
pub trait Progress: Send {
    /// A step begins (`download smollm2`, `verify smollm2`) over `total_bytes`, if known.
    fn begin(&mut self, step: &str, total_bytes: Option<u64>) {
        let _ = (step, total_bytes);
    }

    /// So many bytes of the step are done, counted from its start.
    fn reached(&mut self, done_bytes: u64) {
        let _ = done_bytes;
    }

    /// The step is over, with success or without.
    fn end(&mut self) {}

    /// Asked many times a second; `true` stops the fetch with [`Error::Cancelled`].
    ///
    /// [`Error::Cancelled`]: crate::Error::Cancelled
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}
