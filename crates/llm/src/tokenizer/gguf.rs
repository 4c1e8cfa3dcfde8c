//! Reads a [`Vocabulary`] out of GGUF metadata.

use std::borrow::Cow;

use tallow_formats::gguf::{Metadata, Strings};

use super::Tokenizer;
use crate::error::Result;
use tallow::quantized::tokenizer::{Roles, TokenKind, Vocabulary};

impl Tokenizer {
    /// Builds the tokenizer that a GGUF file carries.
    ///
    /// # Errors
    /// A missing key, an unknown vocabulary type or pre-tokenizer, lists that do not fit.
    pub fn from_gguf(metadata: &Metadata) -> Result<Self> {
        Self::from_vocabulary(&vocabulary(metadata)?)
    }
}

fn vocabulary(metadata: &Metadata) -> Result<Vocabulary<'_>> {
    let strings = |key: &str| -> Result<Vec<&str>> {
        let found = metadata.find::<&Strings>(key)?;
        Ok(found
            .map(|strings| strings.iter().collect())
            .unwrap_or_default())
    };
    let kinds = match metadata.find::<Cow<'_, [i64]>>("tokenizer.ggml.token_type")? {
        Some(numbers) => numbers
            .iter()
            .map(|&number| Ok(TokenKind::from_gguf(number)?))
            .collect::<Result<_>>()?,
        None => Vec::new(),
    };
    let scores = metadata.find::<Cow<'_, [f32]>>("tokenizer.ggml.scores")?;
    let tokens: &Strings = metadata.get("tokenizer.ggml.tokens")?;
    Ok(Vocabulary {
        model: metadata.get_str("tokenizer.ggml.model")?,
        pre: metadata.find("tokenizer.ggml.pre")?,
        tokens: tokens.iter().collect(),
        kinds,
        scores: scores.map(Cow::into_owned).unwrap_or_default(),
        merges: strings("tokenizer.ggml.merges")?,
        roles: Roles {
            bos: metadata.find("tokenizer.ggml.bos_token_id")?,
            eos: metadata.find("tokenizer.ggml.eos_token_id")?,
            eot: metadata.find("tokenizer.ggml.eot_token_id")?,
            eom: metadata.find("tokenizer.ggml.eom_token_id")?,
            unknown: metadata.find("tokenizer.ggml.unknown_token_id")?,
        },
        add_bos: metadata.find("tokenizer.ggml.add_bos_token")?,
        add_eos: metadata.find("tokenizer.ggml.add_eos_token")?,
        add_space_prefix: metadata.find("tokenizer.ggml.add_space_prefix")?,
    })
}
