//! Fetches a file of a Hugging Face repository through the `hf-hub` crate, which resumes a
//! download that was cut off and keeps its own layout of blobs and snapshots.

use std::path::{Path, PathBuf};

use hf_hub::api::sync::{Api, ApiBuilder, ApiError};

use super::cache::Cache;
use super::progress::Progress;
use super::verify::sha256_of;
use crate::error::{Error, Result};

/// The variable that names another hub.
const ENDPOINT_VARIABLE: &str = "HF_ENDPOINT";
/// The hub that everybody means.
const ENDPOINT: &str = "https://huggingface.co";

/// A model hub.
#[derive(Clone, Debug)]
pub struct Hub {
    endpoint: String,
    token: Option<String>,
}

impl Hub {
    /// The hub that `HF_ENDPOINT` names, else huggingface.co; `HF_TOKEN` is the access token.
    pub fn from_env() -> Self {
        let read = |name| {
            std::env::var(name)
                .ok()
                .filter(|value| !value.trim().is_empty())
        };
        let endpoint = read(ENDPOINT_VARIABLE).unwrap_or_else(|| ENDPOINT.to_string());
        Self {
            token: read("HF_TOKEN"),
            ..Self::new(endpoint)
        }
    }

    /// The hub at the given address, without an access token.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into().trim_end_matches('/').to_string(),
            token: None,
        }
    }

    /// The file that `hf:` names, as `org/repo/path/to/file`: from the cache, or fetched.
    ///
    /// # Errors
    /// A name of another form, a repository or file that is not there, no connection.
    pub fn fetch(&self, name: &str, cache: &Cache, progress: &mut dyn Progress) -> Result<PathBuf> {
        let (repository, file) = split(name)?;
        let folder = cache.hub();
        let cached = hf_hub::Cache::new(folder.clone())
            .model(repository.clone())
            .get(&file);
        if let Some(path) = cached {
            return Ok(path);
        }
        std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        let api = self
            .api(folder)
            .map_err(|error| self.explain(name, &error))?;
        let download = Download {
            progress,
            done_bytes: 0,
        };
        let model = api.model(repository);
        let result = model.download_with_progress(&file, download);
        let path = result.map_err(|error| self.explain(name, &error))?;
        verify(name, &path, progress)?;
        Ok(path)
    }

    fn api(&self, folder: PathBuf) -> std::result::Result<Api, ApiError> {
        ApiBuilder::new()
            .with_endpoint(self.endpoint.clone())
            .with_cache_dir(folder)
            .with_token(self.token.clone())
            .with_progress(false)
            .with_user_agent("tallow", env!("CARGO_PKG_VERSION"))
            .build()
    }

    fn explain(&self, name: &str, error: &ApiError) -> Error {
        let endpoint = &self.endpoint;
        if let ApiError::IoError(error) = error
            && matches!(
                error.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            )
        {
            return Error::Fetch(format!(
                "hf:{name}: the disk is full: free some space, or set TALLOW_CACHE to a folder on \
                 another disk"
            ));
        }
        let text = error.to_string();
        let what_to_do = if text.contains("404") {
            "there is no such repository or file: check the spelling"
        } else if text.contains("401") || text.contains("403") {
            "the repository needs permission: accept its terms there and set HF_TOKEN"
        } else if matches!(error, ApiError::LockAcquisition(_)) {
            "another process is fetching it: wait for that one"
        } else {
            "check the network connection, or set HF_ENDPOINT to a mirror; what was fetched is kept"
        };
        Error::Fetch(format!("hf:{name} from {endpoint}: {text}; {what_to_do}"))
    }
}

/// Checks a fetched file against its checksum. The hub names a blob of a large file by its
/// SHA-256 (64 digits), and a small one by its Git hash, which is left alone.
fn verify(name: &str, path: &Path, progress: &mut dyn Progress) -> Result<()> {
    let blob = path.canonicalize().map_err(Error::io("read", path))?;
    let expected = blob
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    if expected.len() != 64 || !expected.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Ok(());
    }
    let size_bytes = std::fs::metadata(&blob)
        .map_err(Error::io("read", &blob))?
        .len();
    progress.begin(&format!("verify {name}"), Some(size_bytes));
    let found = sha256_of(&blob, progress);
    progress.end();
    let found = found?;
    if found == expected.to_ascii_lowercase() {
        return Ok(());
    }
    for wrong in [path, &blob] {
        std::fs::remove_file(wrong).map_err(Error::io("remove", wrong))?;
    }
    Err(Error::Fetch(format!(
        "wrong checksum for hf:{name}: got {size_bytes} bytes with sha256 {found}, expected sha256 \
         {expected}; nothing was kept: try again"
    )))
}

/// `org/repo/path/to/file` into `org/repo` and `path/to/file`.
fn split(name: &str) -> Result<(String, String)> {
    let mut parts = name.splitn(3, '/');
    let (owner, repository, file) = (parts.next(), parts.next(), parts.next());
    let is_sound = |part: &str| {
        part.split('/')
            .all(|step| !step.is_empty() && step != "." && step != "..")
            && !part.contains(['\\', '?', '#', '%'])
    };
    match (owner, repository, file) {
        (Some(owner), Some(repository), Some(file)) if is_sound(name) => {
            Ok((format!("{owner}/{repository}"), file.to_string()))
        }
        _ => Err(Error::Fetch(format!(
            "hf:{name} does not name a file; write hf:owner/repository/file.gguf"
        ))),
    }
}

/// Hands the crate's progress on.
struct Download<'p> {
    progress: &'p mut dyn Progress,
    done_bytes: u64,
}

impl hf_hub::api::Progress for Download<'_> {
    fn init(&mut self, size: usize, filename: &str) {
        self.done_bytes = 0;
        self.progress
            .begin(&format!("download {filename}"), Some(size as u64));
    }

    fn update(&mut self, size: usize) {
        self.done_bytes += size as u64;
        self.progress.reached(self.done_bytes);
    }

    fn finish(&mut self) {
        self.progress.end();
    }
}
