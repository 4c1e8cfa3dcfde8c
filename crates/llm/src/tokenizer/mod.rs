//! Text to ids and back, from a GGUF file's metadata or a `tokenizer.json` beside safetensors.
//!
//! Encoding: special tokens are cut out (`special.rs`), ordinary text goes to the vocabulary's
//! own encoder: byte-level pairs (`tallow`'s `byte_level`), SentencePiece pairs by score
//! (`sentence_piece.rs`), or whatever a `tokenizer.json` describes (`json.rs`). Decoding is one
//! table of bytes for all (`pieces.rs`), so that a stream (`stream.rs`) can show every complete
//! character as soon as it is there.

mod gguf;
mod json;
mod pieces;
mod sentence_piece;
mod special;
mod stream;

pub use stream::TokenStream;

use self::json::JsonEncoder;
use self::pieces::{PieceEncoding, Pieces};
use self::sentence_piece::SentencePiece;
use self::special::{Fragment, SpecialTokens};
use crate::error::{Error, Result};
use tallow::quantized::tokenizer::{Roles, TokenKind, Vocabulary, byte_level};

/// Texts of tokens that end a turn in some family of models. A file often names only one of its
/// end tokens, so the others are found by what they are called.
const END_OF_TURN_TEXTS: &[&str] = &[
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end▁of▁sentence|>",
    "<EOT>",
    "_<EOT>",
    "</s>",
];

/// How to encode a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodeOptions {
    /// Put BOS first and EOS last where the vocabulary asks for it.
    pub add_special: bool,
    /// Read control tokens (`<|im_end|>`) in the text as tokens, not as plain characters.
    pub parse_special: bool,
}

impl Default for EncodeOptions {
    /// As for a prompt: both.
    fn default() -> Self {
        Self {
            add_special: true,
            parse_special: true,
        }
    }
}

impl EncodeOptions {
    /// For text that is data: BOS where the vocabulary asks for it, no control tokens.
    pub fn plain() -> Self {
        Self {
            add_special: true,
            parse_special: false,
        }
    }
}

/// A vocabulary with its encoder.
#[derive(Debug)]
pub struct Tokenizer {
    encoder: Encoder,
    pieces: Pieces,
    roles: Roles,
    add_bos: bool,
    add_eos: bool,
    strip_space: bool,
    end_of_turn: Vec<u32>,
}

#[derive(Debug)]
enum Encoder {
    ByteLevel {
        model: Box<tokenizers::Tokenizer>,
        special: SpecialTokens,
    },
    SentencePiece {
        model: SentencePiece,
        special: SpecialTokens,
    },
    Json(Box<JsonEncoder>),
}

impl Tokenizer {
    /// Builds the tokenizer of a GGUF vocabulary.
    pub(crate) fn from_vocabulary(vocabulary: &Vocabulary<'_>) -> Result<Self> {
        vocabulary.check()?;
        let encoding = match vocabulary.model {
            "gpt2" => PieceEncoding::ByteLevel,
            "llama" => PieceEncoding::SentencePiece,
            other => {
                return Err(Error::Tokenizer(format!(
                    "unknown vocabulary type {other:?}; known: gpt2, llama"
                )));
            }
        };
        let tokens = vocabulary.tokens.iter().enumerate();
        let pieces = Pieces::new(
            tokens.map(|(id, token)| (*token, vocabulary.kind(id))),
            encoding,
        );
        let special = SpecialTokens::new(&pieces)?;
        let (encoder, add_bos, strip_space) = match encoding {
            PieceEncoding::ByteLevel => {
                let add_bos = byte_level::adds_bos(vocabulary)?;
                let model = Box::new(byte_level::tokenizer(vocabulary)?);
                (Encoder::ByteLevel { model, special }, add_bos, false)
            }
            PieceEncoding::SentencePiece => {
                let model = SentencePiece::new(vocabulary);
                let strip_space = model.adds_space_prefix();
                (Encoder::SentencePiece { model, special }, true, strip_space)
            }
        };
        let mut tokenizer = Self {
            encoder,
            pieces,
            roles: vocabulary.roles,
            add_bos: vocabulary.add_bos.unwrap_or(add_bos),
            add_eos: vocabulary.add_eos.unwrap_or(false),
            strip_space,
            end_of_turn: Vec::new(),
        };
        tokenizer.find_end_of_turn(&[]);
        Ok(tokenizer)
    }

    fn find_end_of_turn(&mut self, named: &[u32]) {
        let roles = [self.roles.eos, self.roles.eot, self.roles.eom];
        let mut ids: Vec<u32> = roles
            .into_iter()
            .flatten()
            .chain(named.iter().copied())
            .collect();
        ids.extend(END_OF_TURN_TEXTS.iter().filter_map(|text| {
            let id = self.pieces.id(text)?;
            (self.pieces.kind(id) == Some(TokenKind::Control)).then_some(id)
        }));
        ids.sort_unstable();
        ids.dedup();
        self.end_of_turn = ids;
    }

    /// The ids of a text. BOS is not doubled where the text already starts with it.
    ///
    /// # Errors
    /// When a `tokenizer.json` cannot encode the text.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        match &self.encoder {
            Encoder::ByteLevel { model, special } => {
                for fragment in special.split(text, options.parse_special) {
                    match fragment {
                        Fragment::Token(id) => ids.push(id),
                        Fragment::Text(text) => {
                            let encoding = model
                                .encode_fast(text, false)
                                .map_err(|error| Error::Tokenizer(error.to_string()))?;
                            ids.extend_from_slice(encoding.get_ids());
                        }
                    }
                }
            }
            Encoder::SentencePiece { model, special } => {
                for fragment in special.split(text, options.parse_special) {
                    match fragment {
                        Fragment::Token(id) => ids.push(id),
                        Fragment::Text(text) => model.encode(&self.pieces, text, &mut ids),
                    }
                }
            }
            Encoder::Json(encoder) => ids = encoder.encode(text, options)?,
        }
        if options.add_special {
            if let Some(bos) = self.roles.bos
                && self.add_bos
                && ids.first() != Some(&bos)
            {
                ids.insert(0, bos);
            }
            if let Some(eos) = self.roles.eos
                && self.add_eos
                && ids.last() != Some(&eos)
            {
                ids.push(eos);
            }
        }
        Ok(ids)
    }

    /// The text of a whole row of ids, without control tokens; broken UTF-8 becomes U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let mut stream = self.stream();
        let mut text: String = ids.iter().map(|&id| stream.push(id)).collect();
        text.push_str(&stream.finish());
        text
    }

    /// A stream that starts a new text: a space that encoding would have put first is left out.
    pub fn stream(&self) -> TokenStream<'_> {
        TokenStream::new(self, self.strip_space)
    }

    /// A stream that goes on after a prompt: every space is kept.
    pub fn continuing_stream(&self) -> TokenStream<'_> {
        TokenStream::new(self, false)
    }

    pub(crate) fn append_bytes(&self, id: u32, out: &mut Vec<u8>) {
        self.pieces.append_bytes(id, false, out);
    }

    /// How many ids there are.
    pub fn vocabulary_len(&self) -> usize {
        self.pieces.len()
    }

    /// The token as the file writes it (`ĠHello`, `▁Hello`, `<|im_end|>`).
    pub fn token_text(&self, id: u32) -> Option<&str> {
        self.pieces.text(id)
    }

    /// The id of a token as the file writes it.
    pub fn token_id(&self, text: &str) -> Option<u32> {
        self.pieces.id(text)
    }

    /// Whether the id steers the model and has no text.
    pub fn is_control(&self, id: u32) -> bool {
        self.pieces.kind(id) == Some(TokenKind::Control)
    }

    /// The token that begins a text.
    pub fn bos(&self) -> Option<u32> {
        self.roles.bos
    }

    /// The token that ends a text.
    pub fn eos(&self) -> Option<u32> {
        self.roles.eos
    }

    /// Whether [`EncodeOptions::add_special`] puts BOS first.
    pub fn adds_bos(&self) -> bool {
        self.add_bos && self.roles.bos.is_some()
    }

    /// The ids after which generation stops, ascending.
    pub fn end_of_turn_ids(&self) -> &[u32] {
        &self.end_of_turn
    }

    /// Whether generation stops at this id.
    pub fn is_end_of_turn(&self, id: u32) -> bool {
        self.end_of_turn.binary_search(&id).is_ok()
    }
}

#[cfg(test)]
mod tests;
