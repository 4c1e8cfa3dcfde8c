//! `tokenizer.json` with its companions `tokenizer_config.json` and `generation_config.json`
//! (Hugging Face's files beside safetensors), run by the `tokenizers` crate as they stand.

use std::path::Path;
use std::sync::OnceLock;

use serde_json::Value;

use super::pieces::{PieceEncoding, Pieces};
use super::{EncodeOptions, Encoder, Tokenizer};
use crate::error::{Error, Result};
use tallow::quantized::tokenizer::{Roles, TokenKind};

/// A `tokenizer.json` as it stands.
#[derive(Debug)]
pub(super) struct JsonEncoder {
    /// Reads special tokens in the text.
    tokenizer: tokenizers::Tokenizer,
    /// The same, taking special tokens for plain text; made when first asked for.
    plain: OnceLock<tokenizers::Tokenizer>,
}

impl JsonEncoder {
    pub(super) fn encode(&self, text: &str, options: EncodeOptions) -> Result<Vec<u32>> {
        let tokenizer = if options.parse_special {
            &self.tokenizer
        } else {
            self.plain.get_or_init(|| {
                let mut plain = self.tokenizer.clone();
                plain.set_encode_special_tokens(true);
                plain
            })
        };
        let encoding = tokenizer
            .encode_fast(text, options.add_special)
            .map_err(|error| Error::Tokenizer(error.to_string()))?;
        let mut ids = encoding.get_ids().to_vec();
        // The file's own rule adds BOS even to a text that starts with it.
        if options.add_special && ids.len() > 1 && ids[0] == ids[1] {
            let bos_added = tokenizer.encode_fast("", true).ok();
            if bos_added.is_some_and(|empty| empty.get_ids().first() == Some(&ids[0])) {
                ids.remove(0);
            }
        }
        Ok(ids)
    }
}

impl Tokenizer {
    /// Reads the `tokenizer.json` in a folder, and what its companions say about special tokens.
    ///
    /// # Errors
    /// When the file is missing or broken, or decodes in a way that cannot be streamed.
    pub fn from_json_folder(folder: &Path) -> Result<Self> {
        let path = folder.join("tokenizer.json");
        let text = std::fs::read(&path).map_err(Error::io("read", &path))?;
        let bad = |error: &dyn std::fmt::Display| {
            Error::Tokenizer(format!("{}: {error}", path.display()))
        };
        let mut tokenizer =
            tokenizers::Tokenizer::from_bytes(&text).map_err(|error| bad(&error))?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| bad(&error))?;
        let json: Value = serde_json::from_slice(&text).map_err(|error| bad(&error))?;
        let (encoding, strip_space) = decoder_kind(&json["decoder"]).ok_or_else(|| {
            bad(&"the decoder is of an unknown kind; known: ByteLevel, Metaspace, ByteFallback")
        })?;
        let pieces = pieces(&tokenizer, encoding);
        let config = read_json(&folder.join("tokenizer_config.json"))?;
        let role = |key: &str| {
            let value = &config[key];
            pieces.id(value.as_str().or_else(|| value["content"].as_str())?)
        };
        let roles = Roles {
            bos: role("bos_token"),
            eos: role("eos_token"),
            unknown: role("unk_token"),
            ..Roles::default()
        };
        let generation = read_json(&folder.join("generation_config.json"))?;
        let mut named = Vec::new();
        match &generation["eos_token_id"] {
            Value::Array(ids) => named.extend(ids.iter().filter_map(Value::as_u64)),
            id => named.extend(id.as_u64()),
        }
        let named: Vec<u32> = named
            .into_iter()
            .filter_map(|id| u32::try_from(id).ok())
            .collect();
        let encoder = JsonEncoder {
            tokenizer,
            plain: OnceLock::new(),
        };
        let mut tokenizer = Self {
            encoder: Encoder::Json(Box::new(encoder)),
            pieces,
            roles,
            // The file's post-processor adds what is to be added.
            add_bos: false,
            add_eos: false,
            strip_space,
            end_of_turn: Vec::new(),
        };
        tokenizer.find_end_of_turn(&named);
        if let Some(bos) = tokenizer.roles.bos {
            tokenizer.add_bos =
                tokenizer.encode("", EncodeOptions::default())?.first() == Some(&bos);
        }
        Ok(tokenizer)
    }
}

/// An optional JSON file: null when it is missing.
fn read_json(path: &Path) -> Result<Value> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| Error::Tokenizer(format!("{}: {error}", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Value::Null),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// How tokens stand for bytes, and whether a leading space is left out, by the decoder's steps.
fn decoder_kind(decoder: &Value) -> Option<(PieceEncoding, bool)> {
    let steps = match decoder["type"].as_str()? {
        "Sequence" => decoder["decoders"].as_array()?.as_slice(),
        _ => std::slice::from_ref(decoder),
    };
    let find = |kind: &str| steps.iter().find(|step| step["type"] == kind);
    if find("ByteLevel").is_some() {
        return Some((PieceEncoding::ByteLevel, false));
    }
    if let Some(step) = find("Metaspace") {
        let strips = step["prepend_scheme"] != "never" && step["add_prefix_space"] != false;
        return Some((PieceEncoding::SentencePiece, strips));
    }
    find("ByteFallback")?;
    let strips = find("Strip").is_some_and(|step| step["start"].as_u64() == Some(1));
    Some((PieceEncoding::SentencePiece, strips))
}

fn pieces(tokenizer: &tokenizers::Tokenizer, encoding: PieceEncoding) -> Pieces {
    let vocabulary = tokenizer.get_vocab(true);
    let len = vocabulary.values().max().map_or(0, |&id| id as usize + 1);
    let mut tokens = vec![("", TokenKind::Unused); len];
    for (text, &id) in &vocabulary {
        let kind = match encoding {
            PieceEncoding::SentencePiece if super::pieces::byte_of(text).is_some() => {
                TokenKind::Byte
            }
            _ => TokenKind::Normal,
        };
        tokens[id as usize] = (text, kind);
    }
    for (id, added) in tokenizer.get_added_tokens_decoder() {
        if let Some(token) = tokens.get_mut(id as usize) {
            token.1 = if added.special {
                TokenKind::Control
            } else {
                TokenKind::UserDefined
            };
        }
    }
    Pieces::new(tokens.into_iter(), encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_decoder_tells_how_tokens_stand_for_bytes() {
        use PieceEncoding::{ByteLevel, SentencePiece};
        assert_eq!(
            decoder_kind(&json!({"type": "ByteLevel"})),
            Some((ByteLevel, false))
        );
        let llama = json!({"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0}]});
        assert_eq!(decoder_kind(&llama), Some((SentencePiece, true)));
        let metaspace = json!({"type": "Metaspace", "prepend_scheme": "never"});
        assert_eq!(decoder_kind(&metaspace), Some((SentencePiece, false)));
        assert_eq!(decoder_kind(&json!({"type": "WordPiece"})), None);
        assert_eq!(decoder_kind(&Value::Null), None);
    }
}
