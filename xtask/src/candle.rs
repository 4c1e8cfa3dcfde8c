//! candle as crates.io has it: what `compat-api` and `compat-tests` both need of it.

use crate::command::root;
use std::fs;
use std::path::{Path, PathBuf};

/// The release whose interface is ours.
const VERSION: &str = "0.11.1";

/// A temporary package below `target/` that depends on candle's packages; its manifest.
pub(crate) fn manifest() -> Result<PathBuf, String> {
    let folder = root().join("target/compat-api");
    let manifest = format!(
        "[package]\nname = \"theirs\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ncandle-core = \"={VERSION}\"\ncandle-nn = \"={VERSION}\"\n\n[workspace]\n"
    );
    let path = folder.join("Cargo.toml");
    let written = fs::create_dir_all(folder.join("src"))
        .and_then(|()| fs::write(folder.join("src/lib.rs"), ""))
        .and_then(|()| fs::write(&path, manifest));
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(path)
}

/// A table of names and of why each differs: `"candle-core: cuda" = "the reason"`.
pub(crate) fn reasons(path: &Path) -> Result<Vec<(String, String)>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| wrong(&error))?;
    let entry = |(name, reason): (String, toml::Value)| match reason {
        toml::Value::String(reason) if reason.len() > 10 => Ok((name, reason)),
        _ => Err(wrong(&format!("{name:?} wants a reason"))),
    };
    table.into_iter().map(entry).collect()
}
