//! Bars on standard error, where it is a terminal; lines for what takes long where it is not.

use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

const BYTES: &str = "{msg} [{bar:30}] {decimal_bytes} of {decimal_total_bytes}, {eta} left";
const BYTES_OF_UNKNOWN: &str = "{msg} {spinner} {decimal_bytes}";

/// A bar over bytes; invisible where nobody watches.
pub(crate) fn bytes_bar(message: &str, total_bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match (output::has_watcher(), total_bytes) {
        (false, _) => return ProgressBar::hidden(),
        (true, Some(total)) => (ProgressBar::new(total), BYTES),
        (true, None) => (ProgressBar::new_spinner(), BYTES_OF_UNKNOWN),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(message.to_string());
    bar
}

/// Draws what a fetch does.
#[derive(Debug)]
pub(crate) struct FetchProgress {
    bar: ProgressBar,
    cancel: Option<&'static AtomicBool>,
}

impl FetchProgress {
    /// Draws; Ctrl-C ends the program, and the next fetch cleans up.
    pub(crate) fn new() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            cancel: None,
        }
    }

    /// Draws, and stops the fetch when the flag is set.
    pub(crate) fn cancelled_by(cancel: &'static AtomicBool) -> Self {
        Self {
            cancel: Some(cancel),
            ..Self::new()
        }
    }
}

impl tallow_llm::store::Progress for FetchProgress {
    fn begin(&mut self, step: &str, total_bytes: Option<u64>) {
        self.bar.finish_and_clear();
        self.bar = bytes_bar(step, total_bytes);
        if !output::has_watcher() {
            output::note(&match total_bytes {
                Some(total) => format!("{step} ({})", output::bytes(total)),
                None => step.to_string(),
            });
        }
    }

    fn reached(&mut self, done_bytes: u64) {
        self.bar.set_position(done_bytes);
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Draws how far a model's weights are on their way to a GPU, where somebody watches.
#[derive(Debug)]
pub(crate) struct UploadProgress(ProgressBar);

impl UploadProgress {
    pub(crate) fn new() -> Self {
        Self(ProgressBar::hidden())
    }
}

impl tallow_llm::store::Progress for UploadProgress {
    fn begin(&mut self, step: &str, total_bytes: Option<u64>) {
        self.0 = bytes_bar(step, total_bytes);
    }

    fn reached(&mut self, done_bytes: u64) {
        self.0.set_position(done_bytes);
    }

    fn end(&mut self) {
        self.0.finish_and_clear();
    }
}
