//! Byte-level byte-pair encoding (GPT-2 and its many descendants), run by the `tokenizers` crate.
//!
//! Every byte is written as one printable character: the printable bytes of Latin-1 stand for
//! themselves, the other 68 become U+0100, U+0101, … in the order of their values (GPT-2's
//! table). Text is cut by the vocabulary's own rule (`pretokenizers.rs`), then merged.

use ahash::AHashMap;
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::SplitDelimiterBehavior;

use super::pretokenizers::{self, PreTokenizer};
use super::vocabulary::Vocabulary;
use crate::{Error, Result};

/// Whether the byte stands for itself in GPT-2's table.
fn is_printable(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// The byte of a character of GPT-2's table.
fn byte_of(character: char) -> Option<u8> {
    let code = character as u32;
    if let Ok(byte) = u8::try_from(code) {
        return is_printable(byte).then_some(byte);
    }
    let position = code.checked_sub(0x100)? as usize;
    (0..=u8::MAX)
        .filter(|&byte| !is_printable(byte))
        .nth(position)
}

/// Appends the bytes of a token. A character that is not in the table (a token that a file adds
/// as plain text) stands for its own UTF-8.
pub fn append_bytes(token: &str, out: &mut Vec<u8>) {
    for character in token.chars() {
        match byte_of(character) {
            Some(byte) => out.push(byte),
            None => {
                let mut utf8 = [0; 4];
                out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
            }
        }
    }
}

/// The rule that a vocabulary names; older files name none.
fn rule(vocabulary: &Vocabulary<'_>) -> Result<&'static PreTokenizer> {
    let name = vocabulary.pre.unwrap_or("default");
    pretokenizers::find(name).ok_or_else(|| {
        Error::Msg(format!(
            "tokenizer: unknown pre-tokenizer {name:?}; known: {}",
            pretokenizers::known_names()
        ))
    })
}

/// Whether text starts with BOS in vocabularies of this rule, where the file does not say.
///
/// # Errors
/// An unknown rule.
pub fn adds_bos(vocabulary: &Vocabulary<'_>) -> Result<bool> {
    Ok(rule(vocabulary)?.add_bos)
}

/// Builds the encoder of ordinary text; special tokens are for the caller to cut out before, or to
/// add to it.
///
/// # Errors
/// An unknown rule, merges that are not two tokens of the vocabulary.
pub fn tokenizer(vocabulary: &Vocabulary<'_>) -> Result<tokenizers::Tokenizer> {
    let rule = rule(vocabulary)?;
    let mut ids = AHashMap::with_capacity(vocabulary.tokens.len());
    for (id, token) in vocabulary.tokens.iter().enumerate() {
        ids.entry((*token).to_string()).or_insert(id as u32);
    }
    let mut merges = Vec::with_capacity(vocabulary.merges.len());
    for merge in &vocabulary.merges {
        let (left, right) = merge.split_once(' ').ok_or_else(|| {
            Error::Msg(format!(
                "tokenizer: merge {merge:?} is not two tokens with a space between"
            ))
        })?;
        merges.push((left.to_string(), right.to_string()));
    }
    let model = BPE::builder()
        .vocab_and_merges(ids, merges)
        .ignore_merges(rule.ignore_merges)
        .build()
        .map_err(|error| Error::Msg(format!("tokenizer: bad merges: {error}")))?;
    let mut tokenizer = tokenizers::Tokenizer::new(model);
    tokenizer.with_pre_tokenizer(Some(pre_tokenizer(rule)?));
    Ok(tokenizer)
}

fn pre_tokenizer(rule: &PreTokenizer) -> Result<PreTokenizerWrapper> {
    let mut steps = Vec::new();
    for pattern in rule.patterns {
        let pattern = SplitPattern::Regex((*pattern).to_string());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
            .map_err(|error| Error::Msg(format!("tokenizer: {}: {error}", rule.names[0])))?;
        steps.push(PreTokenizerWrapper::Split(split));
    }
    steps.push(PreTokenizerWrapper::ByteLevel(ByteLevel::new(
        false, false, false,
    )));
    Ok(PreTokenizerWrapper::Sequence(Sequence::new(steps)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_character() {
        let mut bytes = Vec::new();
        let table: String = (0..0x144).filter_map(char::from_u32).collect();
        for character in table
            .chars()
            .filter(|&character| byte_of(character).is_some())
        {
            append_bytes(&character.to_string(), &mut bytes);
        }
        bytes.sort_unstable();
        assert_eq!(bytes, (0..=u8::MAX).collect::<Vec<u8>>());
    }

    #[test]
    fn a_space_is_written_as_g_with_a_dot() {
        let mut bytes = Vec::new();
        append_bytes("ĠHelloĊ", &mut bytes);
        assert_eq!(bytes, b" Hello\n");
    }

    #[test]
    fn every_rule_compiles_and_has_a_name_of_its_own() {
        let mut names: Vec<&str> = Vec::new();
        for rule in pretokenizers::ALL {
            pre_tokenizer(rule).unwrap();
            names.extend(rule.names);
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn an_unknown_rule_is_an_error_that_lists_the_known() {
        let vocabulary = Vocabulary {
            pre: Some("klingon"),
            ..Vocabulary::default()
        };
        let error = rule(&vocabulary).unwrap_err().to_string();
        assert!(
            error.contains("\"klingon\"") && error.contains("llama-bpe"),
            "{error}"
        );
    }
}
