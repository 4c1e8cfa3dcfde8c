//! SentencePiece's pairs by score as a list of merges.
//!
//! SentencePiece joins the two neighbours whose joint text is the token of the highest score. A
//! list of merges says the same once every cut of every token into two tokens is in it, best score
//! first: tokens have scores of their own, so the order of the list is that of the scores. Files
//! store no merges; all cuts of some 260,000 tokens are looked up in about a second.
//!
//! Control, unknown, unused and byte tokens are not joined from text, so no merge makes them.

use std::cmp::Ordering;

use ahash::AHashMap;
use tokenizers::Tokenizer;
use tokenizers::decoders::DecoderWrapper;
use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence as Decoders;
use tokenizers::decoders::strip::Strip;
use tokenizers::models::bpe::BPE;
use tokenizers::normalizers::{NormalizerWrapper, Prepend, Replace, Sequence as Normalizers};

use super::failed;
use super::vocabulary::{TokenKind, Vocabulary};
use crate::Result;

/// Longer tokens are not cut: none in use comes near, and all cuts of a token take the square of
/// its length.
const MAX_CUT_BYTES: usize = 512;
/// What SentencePiece writes for a space.
const SPACE: &str = "▁";

/// Builds the encoder and the decoder; control tokens are the caller's to add.
pub(super) fn tokenizer(vocabulary: &Vocabulary<'_>) -> Result<Tokenizer> {
    let mut ids = AHashMap::with_capacity(vocabulary.tokens.len());
    for (id, token) in vocabulary.tokens.iter().enumerate() {
        ids.entry((*token).to_string()).or_insert(id as u32);
    }
    let merges = merges(vocabulary, &ids);
    let mut model = BPE::builder()
        .vocab_and_merges(ids, merges)
        .fuse_unk(true)
        .byte_fallback(true);
    let unknown = vocabulary.roles.unknown.map(|id| id as usize);
    let unknown = unknown.or_else(|| {
        (0..vocabulary.tokens.len()).find(|&id| vocabulary.kind(id) == TokenKind::Unknown)
    });
    if let Some(id) = unknown {
        model = model.unk_token(vocabulary.tokens[id].to_string());
    }
    let mut tokenizer = Tokenizer::new(model.build().map_err(failed)?);
    let mut steps = vec![NormalizerWrapper::Replace(
        Replace::new(" ", SPACE).map_err(failed)?,
    )];
    let mut decoders = vec![
        DecoderWrapper::Replace(Replace::new(SPACE, " ").map_err(failed)?),
        DecoderWrapper::ByteFallback(ByteFallback::new()),
        DecoderWrapper::Fuse(Fuse::new()),
    ];
    if vocabulary.add_space_prefix.unwrap_or(true) {
        steps.insert(
            0,
            NormalizerWrapper::Prepend(Prepend::new(SPACE.to_string())),
        );
        decoders.push(DecoderWrapper::Strip(Strip::new(' ', 1, 0)));
    }
    let normalizer = NormalizerWrapper::Sequence(Normalizers::new(steps));
    tokenizer
        .with_normalizer(Some(normalizer))
        .map_err(failed)?;
    tokenizer.with_decoder(Some(DecoderWrapper::Sequence(Decoders::new(decoders))));
    Ok(tokenizer)
}

/// Every cut of every ordinary token into two tokens, in the order in which they are joined.
fn merges(vocabulary: &Vocabulary<'_>, ids: &AHashMap<String, u32>) -> Vec<(String, String)> {
    let ordinary = |id: usize| {
        matches!(
            vocabulary.kind(id),
            TokenKind::Normal | TokenKind::UserDefined
        )
    };
    // Tokens without scores are joined first to last.
    let score = |id: usize| match vocabulary.scores.get(id) {
        Some(&score) => score,
        None => -(id as f32),
    };
    let mut order: Vec<usize> = (0..vocabulary.tokens.len())
        .filter(|&id| ordinary(id) && vocabulary.tokens[id].len() <= MAX_CUT_BYTES)
        .collect();
    let best_first =
        |&a: &usize, &b: &usize| -> Ordering { score(b).total_cmp(&score(a)).then(a.cmp(&b)) };
    order.sort_by(best_first);
    let mut merges = Vec::new();
    for id in order {
        let token = vocabulary.tokens[id];
        for (cut, _) in token.char_indices().skip(1) {
            let (left, right) = token.split_at(cut);
            let halves = [left, right].map(|half| ids.get(half).map(|&id| id as usize));
            if let [Some(first), Some(second)] = halves
                && ordinary(first)
                && ordinary(second)
            {
                merges.push((left.to_string(), right.to_string()));
            }
        }
    }
    merges
}
