//! The tokenizer that a GGUF file carries, as one of the `tokenizers` crate.
//!
//! Two kinds of vocabulary are known: byte-level pairs (`gpt2`: `byte_level.rs`, cut by the rules
//! in `pretokenizers.rs`) and SentencePiece's pairs by score (`llama`: `sentence_piece.rs`).
//! [`Vocabulary`] is what a file says under `tokenizer.ggml.*`, as typed values.

pub mod byte_level;
mod pretokenizers;
mod sentence_piece;
mod vocabulary;

use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::processors::template::{SpecialToken, TemplateProcessing};
use tokenizers::{AddedToken, Tokenizer};

pub use vocabulary::{Roles, TokenKind, Vocabulary};

use super::gguf_file::{Content, Value};
use crate::{Error, Result, bail};

/// Building a tokenizer from the metadata of a GGUF file.
pub trait TokenizerFromGguf: Sized {
    /// The tokenizer that a file carries.
    ///
    /// # Errors
    /// A missing key, an unknown vocabulary type or pre-tokenizer, lists that do not fit.
    fn from_gguf(ct: &Content) -> Result<Self>;
}

impl TokenizerFromGguf for Tokenizer {
    fn from_gguf(ct: &Content) -> Result<Self> {
        let vocabulary = vocabulary(ct)?;
        vocabulary.check()?;
        let (mut tokenizer, adds_bos) = match vocabulary.model {
            "gpt2" => {
                let mut tokenizer = byte_level::tokenizer(&vocabulary)?;
                tokenizer.with_decoder(Some(ByteLevel::default()));
                (tokenizer, byte_level::adds_bos(&vocabulary)?)
            }
            "llama" => (sentence_piece::tokenizer(&vocabulary)?, true),
            other => bail!("tokenizer: unknown vocabulary type {other:?}; known: gpt2, llama"),
        };
        add_special_tokens(&mut tokenizer, &vocabulary)?;
        let begin = vocabulary.add_bos.unwrap_or(adds_bos);
        let begin = vocabulary.roles.bos.filter(|_| begin);
        let end = vocabulary.add_eos.unwrap_or(false);
        let end = vocabulary.roles.eos.filter(|_| end);
        if let Some(template) = template(&vocabulary, begin, end)? {
            tokenizer.with_post_processor(Some(template));
        }
        Ok(tokenizer)
    }
}

/// Control tokens are cut out of the text first, and have no text of their own when decoded; those
/// that a file calls user-defined are cut out too, and keep theirs.
fn add_special_tokens(tokenizer: &mut Tokenizer, vocabulary: &Vocabulary<'_>) -> Result<()> {
    let tokens = |kind: TokenKind, special: bool| -> Vec<AddedToken> {
        let of_kind = vocabulary
            .tokens
            .iter()
            .enumerate()
            .filter(|&(id, token)| vocabulary.kind(id) == kind && !token.is_empty());
        of_kind
            .map(|(_, token)| AddedToken::from(*token, special).normalized(false))
            .collect()
    };
    for (kind, special) in [
        (TokenKind::Control, true),
        (TokenKind::Unknown, true),
        (TokenKind::UserDefined, false),
    ] {
        let tokens = tokens(kind, special);
        if tokens.is_empty() {
            continue;
        }
        match special {
            true => tokenizer.add_special_tokens(tokens),
            false => tokenizer.add_tokens(tokens),
        }
        .map_err(failed)?;
    }
    Ok(())
}

/// `BOS text EOS`, of those that the vocabulary asks for.
fn template(
    vocabulary: &Vocabulary<'_>,
    begin: Option<u32>,
    end: Option<u32>,
) -> Result<Option<TemplateProcessing>> {
    if begin.is_none() && end.is_none() {
        return Ok(None);
    }
    // The names are the template's own, so that no text of a token can be taken for its syntax.
    let named = [("<begin>", begin), ("<end>", end)];
    let mut specials = Vec::new();
    for (name, id) in named {
        if let Some(id) = id {
            let token = vocabulary.tokens[id as usize].to_string();
            let special = SpecialToken::new(name.to_string(), vec![id], vec![token]);
            specials.push(special.map_err(failed)?);
        }
    }
    let around = |sequence: &str| {
        let mut pieces: Vec<&str> = vec![sequence];
        if begin.is_some() {
            pieces.insert(0, "<begin>");
        }
        if end.is_some() {
            pieces.push("<end>");
        }
        pieces.join(" ")
    };
    let template = TemplateProcessing::builder()
        .try_single(around("$A"))
        .map_err(Error::Msg)?
        .try_pair(format!("{} {}", around("$A"), around("$B:1")))
        .map_err(Error::Msg)?
        .special_tokens(specials)
        .build();
    template
        .map(Some)
        .map_err(|error| Error::Msg(format!("tokenizer: {error}")))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Msg(format!("tokenizer: {error}"))
}

/// Reads a vocabulary out of a file's metadata.
fn vocabulary(content: &Content) -> Result<Vocabulary<'_>> {
    let find = |key: &str| content.metadata.get(&format!("tokenizer.ggml.{key}"));
    let get = |key: &str| match find(key) {
        Some(value) => Ok(value),
        None => bail!("tokenizer: no metadata key \"tokenizer.ggml.{key}\""),
    };
    let id = |key: &str| find(key).map(Value::to_u32).transpose();
    let flag = |key: &str| find(key).map(Value::to_bool).transpose();
    let kinds = list(find("token_type"), |value| {
        TokenKind::from_gguf(value.to_i64()?)
    });
    Ok(Vocabulary {
        model: get("model")?.to_string()?,
        pre: find("pre").map(text).transpose()?,
        tokens: list(Some(get("tokens")?), text)?,
        kinds: kinds?,
        scores: list(find("scores"), Value::to_f32)?,
        merges: list(find("merges"), text)?,
        roles: Roles {
            bos: id("bos_token_id")?,
            eos: id("eos_token_id")?,
            eot: id("eot_token_id")?,
            eom: id("eom_token_id")?,
            unknown: id("unknown_token_id")?,
        },
        add_bos: flag("add_bos_token")?,
        add_eos: flag("add_eos_token")?,
        add_space_prefix: flag("add_space_prefix")?,
    })
}

fn text(value: &Value) -> Result<&str> {
    Ok(value.to_string()?.as_str())
}

/// The items of an array; none where the key is missing.
fn list<'a, T>(value: Option<&'a Value>, item: impl Fn(&'a Value) -> Result<T>) -> Result<Vec<T>> {
    match value {
        Some(value) => value.to_vec()?.iter().map(item).collect(),
        None => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests;
