//! The text and bytes of each token id, in one block of memory, and the id of a text.
//!
//! A vocabulary has up to some 260,000 short strings: one block with end positions and a table of
//! ids take a fifth of the memory of a `HashMap<String, u32>`, and a fraction of its time to build.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use tallow::quantized::tokenizer::{TokenKind, byte_level};

/// How a token's text stands for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceEncoding {
    /// Each character is one byte (GPT-2's table).
    ByteLevel,
    /// `▁` is a space, `<0x0A>` a byte, the rest is UTF-8.
    SentencePiece,
}

/// Every token of a vocabulary.
#[derive(Debug)]
pub(crate) struct Pieces {
    text: String,
    ends: Vec<u32>,
    kinds: Vec<TokenKind>,
    encoding: PieceEncoding,
    by_text: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Pieces {
    /// Takes the tokens in the order of their ids. Where two ids have one text, the first is found.
    pub(crate) fn new<'a>(
        tokens: impl ExactSizeIterator<Item = (&'a str, TokenKind)>,
        encoding: PieceEncoding,
    ) -> Self {
        let len = tokens.len();
        let mut pieces = Self {
            text: String::with_capacity(len * 8),
            ends: Vec::with_capacity(len),
            kinds: Vec::with_capacity(len),
            encoding,
            by_text: HashTable::with_capacity(len),
            hasher: DefaultHashBuilder::default(),
        };
        for (id, (token, kind)) in tokens.enumerate() {
            pieces.text.push_str(token);
            pieces.ends.push(pieces.text.len() as u32);
            pieces.kinds.push(kind);
            pieces.index(id as u32, token);
        }
        pieces
    }

    fn index(&mut self, id: u32, token: &str) {
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        let entry = self.by_text.entry(
            hasher.hash_one(token),
            |&other| piece(text, ends, other) == Some(token),
            |&other| hasher.hash_one(piece(text, ends, other).unwrap_or_default()),
        );
        entry.or_insert(id);
    }

    /// How many ids there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The token as the file writes it.
    pub(crate) fn text(&self, id: u32) -> Option<&str> {
        piece(&self.text, &self.ends, id)
    }

    /// What the token is for.
    pub(crate) fn kind(&self, id: u32) -> Option<TokenKind> {
        self.kinds.get(id as usize).copied()
    }

    /// The id of a token as the file writes it.
    pub(crate) fn id(&self, token: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(token);
        self.by_text
            .find(hash, |&id| self.text(id) == Some(token))
            .copied()
    }

    /// Appends the bytes that the token stands for. Control tokens have none, unless
    /// `with_control` asks for their names.
    pub(crate) fn append_bytes(&self, id: u32, with_control: bool, out: &mut Vec<u8>) {
        let (Some(text), Some(kind)) = (self.text(id), self.kind(id)) else {
            return;
        };
        match (kind, self.encoding) {
            (TokenKind::Control | TokenKind::Unknown, _) => {
                if with_control {
                    out.extend_from_slice(text.as_bytes());
                }
            }
            (TokenKind::UserDefined, PieceEncoding::ByteLevel) => {
                out.extend_from_slice(text.as_bytes());
            }
            (_, PieceEncoding::ByteLevel) => byte_level::append_bytes(text, out),
            (TokenKind::Byte, PieceEncoding::SentencePiece) => match byte_of(text) {
                Some(byte) => out.push(byte),
                None => out.extend_from_slice(text.as_bytes()),
            },
            (_, PieceEncoding::SentencePiece) => {
                for (index, part) in text.split('▁').enumerate() {
                    if index > 0 {
                        out.push(b' ');
                    }
                    out.extend_from_slice(part.as_bytes());
                }
            }
        }
    }
}

fn piece<'a>(text: &'a str, ends: &[u32], id: u32) -> Option<&'a str> {
    let id = id as usize;
    let end = *ends.get(id)? as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] as usize };
    text.get(start..end)
}

/// The byte that `<0x0A>` names.
pub(crate) fn byte_of(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    if digits.len() != 2 {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_first_of_two_equal_texts() {
        let tokens = ["a", "bc", "a", ""].map(|token| (token, TokenKind::Normal));
        let pieces = Pieces::new(tokens.into_iter(), PieceEncoding::SentencePiece);
        assert_eq!(pieces.len(), 4);
        assert_eq!(pieces.id("a"), Some(0));
        assert_eq!(pieces.id("bc"), Some(1));
        assert_eq!(pieces.id(""), Some(3));
        assert_eq!(pieces.id("b"), None);
        assert_eq!(pieces.text(2), Some("a"));
        assert_eq!(pieces.text(4), None);
    }

    #[test]
    fn sentence_piece_tokens_stand_for_spaces_and_bytes() {
        let tokens = [
            ("▁a▁", TokenKind::Normal),
            ("<0xE2>", TokenKind::Byte),
            ("<s>", TokenKind::Control),
        ];
        let pieces = Pieces::new(tokens.into_iter(), PieceEncoding::SentencePiece);
        let mut bytes = Vec::new();
        for id in 0..4 {
            pieces.append_bytes(id, false, &mut bytes);
        }
        assert_eq!(bytes, b" a \xe2");
        pieces.append_bytes(2, true, &mut bytes);
        assert_eq!(bytes, b" a \xe2<s>");
    }
}
