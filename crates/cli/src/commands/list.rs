//! `tallow list`: the models that have a name, and what is on this machine.

use std::path::Path;

use tallow_llm::store::{CATALOGUE, Store};

use crate::error::{Error, Result};
use crate::output;

/// Show the catalogue, and which of its models are on this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow list")]
pub(crate) struct Arguments {}

impl Arguments {
    pub(crate) fn run(&self) -> Result<()> {
        let store = Store::from_env()?;
        let titles = ["NAME", "SIZE", "HERE", "LICENCE", "DESCRIPTION"];
        let mut rows = vec![titles.map(String::from).to_vec()];
        for entry in CATALOGUE {
            let here = if store.find(entry).is_some() { "yes" } else { "no" };
            rows.push(vec![
                entry.name.to_string(),
                output::bytes(entry.size_bytes),
                here.to_string(),
                entry.licence.to_string(),
                entry.description.to_string(),
            ]);
        }
        output::table(&rows, titles.len())?;
        let others = files_of_others(&store.cache().models(), &store.cache().hub())?;
        if !others.is_empty() {
            output::line("\nALSO HERE")?;
            output::table(&others, 1)?;
        }
        output::line(format!(
            "\ncache: {}",
            store.cache().models().parent().unwrap_or(Path::new("")).display()
        ))
    }
}

/// GGUF files in the cache that no entry of the catalogue names, with their sizes.
fn files_of_others(models: &Path, hub: &Path) -> Result<Vec<Vec<String>>> {
    let mut found = Vec::new();
    let mut folders = vec![models.to_path_buf(), hub.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::file("read", &folder, &error)),
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_known = CATALOGUE.iter().any(|entry| entry.file_name == name);
            if path.is_dir() && !path.is_symlink() && !name.ends_with(".partial") {
                folders.push(path);
            } else if name.ends_with(".gguf") && !is_known {
                let len = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
                found.push(vec![path.display().to_string(), output::bytes(len)]);
            }
        }
    }
    found.sort();
    Ok(found)
}
