//! The architectures: one file each, saying what the model differs in, and one line in [`ALL`].
//!
//! No file here has kernels or knows a weight format; the blocks that they all share are in
//! `transformer/`.

mod gemma3;
mod llama;
mod mistral;
mod qwen;

use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::transformer::Config;
use crate::weights::Renames;

/// An architecture.
#[derive(Debug)]
pub(crate) struct Architecture {
    /// What `general.architecture` or `model_type` may be.
    names: &'static [&'static str],
    /// Reads the settings.
    pub(crate) config: fn(&Settings<'_>) -> Result<Config>,
    /// Tensors whose safetensors name is not the family's.
    pub(crate) renames: Renames,
}

/// Every architecture, a line each.
const ALL: &[&Architecture] = &[
    &llama::ARCHITECTURE,
    &mistral::ARCHITECTURE,
    &qwen::ARCHITECTURE,
    &gemma3::ARCHITECTURE,
];

/// The architecture that the settings name.
pub(crate) fn find(settings: &Settings<'_>) -> Result<&'static Architecture> {
    let name = settings.architecture();
    let found = ALL
        .iter()
        .find(|architecture| architecture.names.contains(&name));
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = ALL
            .iter()
            .flat_map(|architecture| architecture.names)
            .copied()
            .collect();
        Error::Model(format!(
            "unknown architecture {name:?}; known: {}",
            known.join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tallow_formats::gguf::Metadata;

    #[test]
    fn an_unknown_architecture_is_an_error_that_lists_the_known() {
        let mut metadata = Metadata::new();
        metadata.set("general.architecture", "mamba");
        let settings = Settings::from_gguf(&metadata).unwrap();
        let error = find(&settings).unwrap_err().to_string();
        assert!(
            error.contains("\"mamba\"") && error.contains("llama, mistral"),
            "{error}"
        );
    }

    #[test]
    fn every_architecture_names_a_missing_key() {
        for name in ALL.iter().flat_map(|architecture| architecture.names) {
            let mut metadata = Metadata::new();
            metadata.set("general.architecture", *name);
            let settings = Settings::from_gguf(&metadata).unwrap();
            let error = (find(&settings).unwrap().config)(&settings)
                .unwrap_err()
                .to_string();
            assert!(error.contains(&format!("\"{name}.")), "{error}");
        }
    }
}
