//! The folder of fetched models, and the rule by which a file gets into it.
//!
//! ```text
//! models/NAME             complete and checked
//! models/NAME.partial/    work of a fetch under way, or of one that was killed
//! models/NAME.lock        held by the process that fetches NAME
//! ```
//! Who holds the lock owns the partial folder, and so may empty it: one that is there when the
//! lock is taken is the rest of a process that died. The system drops the lock with its process.
//! The final name appears by a rename inside one folder, which either happens or does not.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;

use super::progress::Progress;
use crate::error::{Error, Result};

/// How long to sleep between two looks at a lock or a growing file: short enough for a smooth
/// bar, long enough to cost nothing.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The folder of fetched models.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The folder that `TALLOW_CACHE` names, else `tallow` in the user's cache folder.
    ///
    /// # Errors
    /// When there is no home folder to find it in.
    pub fn from_env() -> Result<Self> {
        if let Some(root) = std::env::var_os("TALLOW_CACHE").filter(|value| !value.is_empty()) {
            return Ok(Self::new(root));
        }
        let strategy = etcetera::choose_base_strategy().map_err(|error| {
            Error::Fetch(format!(
                "no cache folder: {error}; set TALLOW_CACHE to a folder"
            ))
        })?;
        Ok(Self::new(strategy.cache_dir().join("tallow")))
    }

    /// A cache in the given folder, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where the models of the catalogue lie.
    pub fn models(&self) -> PathBuf {
        self.root.join("models")
    }

    /// Where the hub's files lie, in the hub's own layout.
    pub fn hub(&self) -> PathBuf {
        self.root.join("hub")
    }

    /// The complete file of that name, if it is there.
    pub fn find(&self, file_name: &str) -> Option<PathBuf> {
        let path = self.models().join(file_name);
        path.is_file().then_some(path)
    }

    /// Runs `fill`, which makes the file under the path that it is handed inside an empty folder
    /// of its own, and then gives the file its final name. Waits while another process does the
    /// same, and takes its file.
    pub(super) fn insert(
        &self,
        file_name: &str,
        progress: &mut dyn Progress,
        fill: impl FnOnce(&Path, &mut dyn Progress) -> Result<PathBuf>,
    ) -> Result<PathBuf> {
        let models = self.models();
        std::fs::create_dir_all(&models).map_err(Error::io("create", &models))?;
        let _lock = lock(
            &models.join(format!("{file_name}.lock")),
            file_name,
            progress,
        )?;
        if let Some(path) = self.find(file_name) {
            return Ok(path);
        }
        let partial = Partial::new(models.join(format!("{file_name}.partial")))?;
        let filled = fill(&partial.0, progress)?;
        let path = models.join(file_name);
        std::fs::rename(&filled, &path).map_err(Error::io("write", &path))?;
        Ok(path)
    }
}

/// A work folder that goes away with its fetch.
struct Partial(PathBuf);

impl Partial {
    fn new(path: PathBuf) -> Result<Self> {
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path)(error));
            }
            _ => {}
        }
        std::fs::create_dir(&path).map_err(Error::io("create", &path))?;
        Ok(Self(path))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // The next fetch tries again, and reports it if it fails once more.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn lock(path: &Path, name: &str, progress: &mut dyn Progress) -> Result<File> {
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(path);
    let file = file.map_err(Error::io("open", path))?;
    let mut is_waiting = false;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {
                if progress.is_cancelled() {
                    return Err(Error::Cancelled);
                }
                if !is_waiting {
                    progress.begin(&format!("wait for another fetch of {name}"), None);
                    is_waiting = true;
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
        }
    }
    if is_waiting {
        progress.end();
    }
    Ok(file)
}
