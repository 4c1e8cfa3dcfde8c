//! A model's hyperparameters under one set of names, out of GGUF metadata or a `config.json`.
//!
//! The names are GGUF's, without the architecture before them (`attention.head_count`); a table
//! says what `config.json` calls each. A missing key is an error that names it as the file would.

use std::borrow::Cow;
use std::path::Path;

use serde_json::Value;
use tallow_formats::gguf::Metadata;

use crate::error::{Error, Result};

/// GGUF's name and `config.json`'s path of each setting that both have.
const JSON_NAMES: &[(&str, &str)] = &[
    ("context_length", "max_position_embeddings"),
    ("embedding_length", "hidden_size"),
    ("block_count", "num_hidden_layers"),
    ("feed_forward_length", "intermediate_size"),
    ("attention.head_count", "num_attention_heads"),
    ("attention.head_count_kv", "num_key_value_heads"),
    ("attention.key_length", "head_dim"),
    ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    ("attention.sliding_window", "sliding_window"),
    ("attention.sliding_window_pattern", "sliding_window_pattern"),
    ("attention.query_scale", "query_pre_attn_scalar"),
    ("rope.freq_base", "rope_theta"),
    ("rope.local_freq_base", "rope_local_base_freq"),
    ("rope.scaling.type", "rope_scaling.rope_type"),
    ("rope.scaling.factor", "rope_scaling.factor"),
    (
        "rope.scaling.original_context_length",
        "rope_scaling.original_max_position_embeddings",
    ),
    ("rope.scaling.attn_factor", "rope_scaling.attention_factor"),
    ("rope.scaling.yarn_beta_fast", "rope_scaling.beta_fast"),
    ("rope.scaling.yarn_beta_slow", "rope_scaling.beta_slow"),
    (
        "rope.scaling.low_freq_factor",
        "rope_scaling.low_freq_factor",
    ),
    (
        "rope.scaling.high_freq_factor",
        "rope_scaling.high_freq_factor",
    ),
    ("rope.scaling.short_factor", "rope_scaling.short_factor"),
    ("rope.scaling.long_factor", "rope_scaling.long_factor"),
];

/// Where the settings stand.
#[derive(Debug)]
pub(crate) enum Settings<'a> {
    /// A GGUF file's metadata.
    Gguf {
        architecture: &'a str,
        metadata: &'a Metadata,
    },
    /// A `config.json`.
    Json { architecture: String, config: Value },
}

impl<'a> Settings<'a> {
    /// The settings of a GGUF file.
    pub(crate) fn from_gguf(metadata: &'a Metadata) -> Result<Self> {
        Ok(Self::Gguf {
            architecture: metadata.get_str("general.architecture")?,
            metadata,
        })
    }
}

impl Settings<'static> {
    /// The settings of a `config.json`.
    pub(crate) fn from_json_file(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
        let mut config: Value = serde_json::from_slice(&bytes)
            .map_err(|error| Error::Model(format!("{}: {error}", path.display())))?;
        // A model that also sees keeps its language model's settings one level down.
        if config["text_config"].is_object() {
            config = config["text_config"].take();
        }
        lift_rope_parameters(&mut config);
        let architecture = config["model_type"]
            .as_str()
            .ok_or_else(|| Error::Model(format!("{}: no key \"model_type\"", path.display())))?;
        Ok(Self::Json {
            architecture: architecture.to_string(),
            config,
        })
    }
}

/// Newer files write `rope_parameters`, one for all layers or one for each kind of layer; this
/// puts them where older files have them.
fn lift_rope_parameters(config: &mut Value) {
    let parameters = config["rope_parameters"].take();
    if !parameters.is_object() {
        return;
    }
    let (global, local) = match parameters["full_attention"].is_object() {
        true => (
            &parameters["full_attention"],
            &parameters["sliding_attention"],
        ),
        false => (&parameters, &Value::Null),
    };
    for (key, value) in [
        ("rope_theta", &global["rope_theta"]),
        ("rope_local_base_freq", &local["rope_theta"]),
    ] {
        if !value.is_null() {
            config[key] = value.clone();
        }
    }
    if config["rope_scaling"].is_null() && global["rope_type"] != "default" {
        config["rope_scaling"] = global.clone();
    }
}

impl Settings<'_> {
    /// The architecture's name as the file writes it.
    pub(crate) fn architecture(&self) -> &str {
        match self {
            Self::Gguf { architecture, .. } => architecture,
            Self::Json { architecture, .. } => architecture,
        }
    }

    /// Whether the settings come from a `config.json`, which goes with safetensors.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self, Self::Json { .. })
    }

    /// A count that must be there.
    pub(crate) fn count(&self, name: &str) -> Result<usize> {
        self.find_count(name)?.ok_or_else(|| self.missing(name))
    }

    /// A count, if it is there.
    pub(crate) fn find_count(&self, name: &str) -> Result<Option<usize>> {
        match self {
            Self::Gguf { metadata, .. } => {
                let found = metadata.find::<u64>(&self.key(name))?;
                found
                    .map(|value| usize::try_from(value).map_err(|_| self.wrong(name)))
                    .transpose()
            }
            Self::Json { config, .. } => match self.json(config, name) {
                None => Ok(None),
                Some(value) => {
                    let count = value.as_u64().and_then(|value| usize::try_from(value).ok());
                    count.map(Some).ok_or_else(|| self.wrong(name))
                }
            },
        }
    }

    /// A number that must be there.
    pub(crate) fn number(&self, name: &str) -> Result<f64> {
        self.find_number(name)?.ok_or_else(|| self.missing(name))
    }

    /// A number, if it is there.
    pub(crate) fn find_number(&self, name: &str) -> Result<Option<f64>> {
        let found = match self {
            Self::Gguf { metadata, .. } => metadata.find::<f64>(&self.key(name))?,
            Self::Json { config, .. } => match self.json(config, name) {
                None => None,
                Some(value) => Some(value.as_f64().ok_or_else(|| self.wrong(name))?),
            },
        };
        match found {
            Some(value) if !value.is_finite() => Err(self.wrong(name)),
            _ => Ok(found),
        }
    }

    /// A text, if it is there.
    pub(crate) fn find_text(&self, name: &str) -> Result<Option<&str>> {
        match self {
            Self::Gguf { metadata, .. } => Ok(metadata.find::<&str>(&self.key(name))?),
            Self::Json { config, .. } => match self.json(config, name) {
                None => Ok(None),
                Some(value) => value.as_str().map(Some).ok_or_else(|| self.wrong(name)),
            },
        }
    }

    /// A list of numbers, if it is there.
    pub(crate) fn find_numbers(&self, name: &str) -> Result<Option<Vec<f32>>> {
        match self {
            Self::Gguf { metadata, .. } => {
                let found = metadata.find::<Cow<'_, [f32]>>(&self.key(name))?;
                Ok(found.map(Cow::into_owned))
            }
            Self::Json { config, .. } => {
                let Some(value) = self.json(config, name) else {
                    return Ok(None);
                };
                let items = value.as_array().ok_or_else(|| self.wrong(name))?;
                let numbers = items
                    .iter()
                    .map(|item| item.as_f64().map(|item| item as f32));
                numbers
                    .collect::<Option<Vec<f32>>>()
                    .map(Some)
                    .ok_or_else(|| self.wrong(name))
            }
        }
    }

    /// The key as the file writes it.
    fn key(&self, name: &str) -> String {
        match self {
            Self::Gguf { architecture, .. } => format!("{architecture}.{name}"),
            Self::Json { .. } => {
                let found = JSON_NAMES.iter().find(|(gguf, _)| *gguf == name);
                found.map_or(name, |(_, json)| json).to_string()
            }
        }
    }

    fn json<'v>(&self, config: &'v Value, name: &str) -> Option<&'v Value> {
        let key = self.key(name);
        let found = key.split('.').fold(config, |value, step| &value[step]);
        // Before it was called rope_type it was called type.
        let found = match key.as_str() {
            "rope_scaling.rope_type" if found.is_null() => &config["rope_scaling"]["type"],
            _ => found,
        };
        (!found.is_null()).then_some(found)
    }

    fn missing(&self, name: &str) -> Error {
        Error::Model(format!(
            "the file has no {:?}, which its architecture needs",
            self.key(name)
        ))
    }

    fn wrong(&self, name: &str) -> Error {
        Error::Model(format!(
            "{:?} is of the wrong type or out of range",
            self.key(name)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Settings<'static> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, text).unwrap();
        Settings::from_json_file(&path).unwrap()
    }

    #[test]
    fn both_files_answer_to_one_name() {
        let mut metadata = Metadata::new();
        metadata.set("general.architecture", "llama");
        metadata.set("llama.attention.head_count", 9_u32);
        metadata.set("llama.attention.layer_norm_rms_epsilon", 1e-5_f32);
        let gguf = Settings::from_gguf(&metadata).unwrap();
        let json = json(
            r#"{"model_type": "llama", "num_attention_heads": 9, "rms_norm_eps": 1e-05,
                "rope_scaling": {"type": "linear", "factor": 2}, "head_dim": null}"#,
        );
        for settings in [&gguf, &json] {
            assert_eq!(settings.architecture(), "llama");
            assert_eq!(settings.count("attention.head_count").unwrap(), 9);
            let eps = settings.number("attention.layer_norm_rms_epsilon").unwrap();
            assert_eq!(eps as f32, 1e-5);
            assert_eq!(settings.find_count("attention.key_length").unwrap(), None);
        }
        assert_eq!(json.find_text("rope.scaling.type").unwrap(), Some("linear"));
        let error = gguf.count("block_count").unwrap_err().to_string();
        assert!(error.contains("\"llama.block_count\""), "{error}");
        let error = json.count("block_count").unwrap_err().to_string();
        assert!(error.contains("\"num_hidden_layers\""), "{error}");
    }

    #[test]
    fn rope_parameters_are_found_where_newer_files_have_them() {
        let flat = json(
            r#"{"model_type": "llama",
                "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000, "factor": 8}}"#,
        );
        assert_eq!(flat.number("rope.freq_base").unwrap(), 500000.0);
        assert_eq!(flat.find_text("rope.scaling.type").unwrap(), Some("llama3"));
        assert_eq!(flat.number("rope.scaling.factor").unwrap(), 8.0);
        let two = json(
            r#"{"model_type": "gemma3_text", "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 1000000},
                "sliding_attention": {"rope_type": "default", "rope_theta": 10000}}}"#,
        );
        assert_eq!(two.number("rope.freq_base").unwrap(), 1e6);
        assert_eq!(two.number("rope.local_freq_base").unwrap(), 1e4);
        assert_eq!(two.find_text("rope.scaling.type").unwrap(), None);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named() {
        let json = json(r#"{"model_type": "llama", "hidden_size": -1, "rope_theta": "x"}"#);
        assert!(
            json.count("embedding_length")
                .unwrap_err()
                .to_string()
                .contains("hidden_size")
        );
        assert!(
            json.number("rope.freq_base")
                .unwrap_err()
                .to_string()
                .contains("rope_theta")
        );
    }
}
