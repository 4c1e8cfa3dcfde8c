//! SentencePiece's byte-pair encoding (Kudo and Richardson, 2018): merges chosen by score.
//!
//! Text becomes a row of characters, spaces written `▁`. The neighbours whose joint text is the
//! token of the highest score (on a tie the leftmost) become one, until no two neighbours make a
//! token. What is no token in the end is spelled in bytes, `<0xE2>`.
//!
//! GGUF stores the scores and no list of merges, and a score does not say from which two halves a
//! token is made, so a merge-list encoder would first have to try every cut of 262,144 tokens.
//! This one looks pairs up as they meet, in O(n log n) for n characters.
//!
//! Invariant: only ordinary tokens are merged, never control, unknown or byte tokens, so text
//! cannot spell one.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use super::pieces::{Pieces, byte_of};
use tallow::quantized::tokenizer::{TokenKind, Vocabulary};

/// Encodes ordinary text.
#[derive(Debug)]
pub(crate) struct SentencePiece {
    scores: Vec<f32>,
    bytes: Box<[Option<u32>; 256]>,
    unknown: Option<u32>,
    add_space_prefix: bool,
}

/// A run of text that is one token so far, linked to its neighbours.
struct Symbol {
    start: usize,
    len: usize,
    previous: Option<usize>,
    next: Option<usize>,
}

/// Two neighbours that would make a token.
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    len: usize,
    id: u32,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| other.left.cmp(&self.left))
    }
}
impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Pair {}

impl SentencePiece {
    /// Takes the scores and the byte tokens. Tokens without a score are merged last to first.
    pub(crate) fn new(vocabulary: &Vocabulary<'_>) -> Self {
        let mut bytes = Box::new([None; 256]);
        for (id, token) in vocabulary.tokens.iter().enumerate() {
            if vocabulary.kind(id) == TokenKind::Byte
                && let Some(byte) = byte_of(token)
            {
                bytes[byte as usize] = Some(id as u32);
            }
        }
        let scores = if vocabulary.scores.is_empty() {
            (0..vocabulary.tokens.len())
                .map(|id| -(id as f32))
                .collect()
        } else {
            vocabulary.scores.clone()
        };
        Self {
            scores,
            bytes,
            unknown: vocabulary.roles.unknown,
            add_space_prefix: vocabulary.add_space_prefix.unwrap_or(true),
        }
    }

    /// Whether a space is put before the text (and so is taken off what is decoded).
    pub(crate) fn adds_space_prefix(&self) -> bool {
        self.add_space_prefix
    }

    /// Appends the ids of a text that has no special tokens in it.
    pub(crate) fn encode(&self, pieces: &Pieces, text: &str, out: &mut Vec<u32>) {
        if text.is_empty() {
            return;
        }
        let mut escaped = String::with_capacity(text.len() + 3);
        if self.add_space_prefix {
            escaped.push('▁');
        }
        escaped.extend(
            text.chars()
                .map(|character| if character == ' ' { '▁' } else { character }),
        );
        let mut merge = Merge::new(self, pieces, &escaped);
        merge.run();
        let mut at = Some(0);
        while let Some(index) = at {
            let symbol = &merge.symbols[index];
            merge.spell(symbol.start, symbol.len, out);
            at = symbol.next;
        }
    }

    fn spell_bytes(&self, text: &str, out: &mut Vec<u32>) {
        for byte in text.bytes() {
            match self.bytes[byte as usize] {
                Some(id) => out.push(id),
                None => {
                    out.extend(self.unknown);
                    return;
                }
            }
        }
    }
}

/// The state of one text's merging.
struct Merge<'a> {
    encoder: &'a SentencePiece,
    pieces: &'a Pieces,
    text: &'a str,
    symbols: Vec<Symbol>,
    queue: BinaryHeap<Pair>,
    /// How long the left half of a merged unused token is, by its place: it is cut again.
    unused: HashMap<(usize, usize), usize>,
}

impl<'a> Merge<'a> {
    fn new(encoder: &'a SentencePiece, pieces: &'a Pieces, text: &'a str) -> Self {
        let count = text.chars().count();
        let symbols = text
            .char_indices()
            .enumerate()
            .map(|(index, (start, character))| Symbol {
                start,
                len: character.len_utf8(),
                previous: index.checked_sub(1),
                next: (index + 1 < count).then_some(index + 1),
            });
        Self {
            encoder,
            pieces,
            text,
            symbols: symbols.collect(),
            queue: BinaryHeap::new(),
            unused: HashMap::new(),
        }
    }

    fn run(&mut self) {
        for right in 1..self.symbols.len() {
            self.offer(Some(right - 1), Some(right));
        }
        while let Some(pair) = self.queue.pop() {
            let (left, right) = (&self.symbols[pair.left], &self.symbols[pair.right]);
            // Either half may have been merged since (a swallowed symbol has length 0).
            if left.len == 0 || right.len == 0 || left.len + right.len != pair.len {
                continue;
            }
            if self.pieces.kind(pair.id) == Some(TokenKind::Unused) {
                self.unused.insert((left.start, pair.len), left.len);
            }
            let next = right.next;
            self.symbols[pair.left].len = pair.len;
            self.symbols[pair.left].next = next;
            self.symbols[pair.right].len = 0;
            if let Some(next) = next {
                self.symbols[next].previous = Some(pair.left);
            }
            self.offer(self.symbols[pair.left].previous, Some(pair.left));
            self.offer(Some(pair.left), next);
        }
    }

    /// Queues two neighbours if they make a token.
    fn offer(&mut self, left: Option<usize>, right: Option<usize>) {
        let (Some(left), Some(right)) = (left, right) else {
            return;
        };
        let start = self.symbols[left].start;
        let len = self.symbols[left].len + self.symbols[right].len;
        let Some(id) = self.pieces.id(&self.text[start..start + len]) else {
            return;
        };
        if matches!(
            self.pieces.kind(id),
            Some(TokenKind::Normal | TokenKind::UserDefined | TokenKind::Unused)
        ) {
            let score = self.encoder.scores[id as usize];
            self.queue.push(Pair {
                score,
                left,
                right,
                len,
                id,
            });
        }
    }

    /// Appends the token of a run of text, or the tokens of its halves, or its bytes.
    fn spell(&self, start: usize, len: usize, out: &mut Vec<u32>) {
        let text = &self.text[start..start + len];
        if let Some(&left) = self.unused.get(&(start, len)) {
            self.spell(start, left, out);
            self.spell(start + left, len - left, out);
            return;
        }
        match self.pieces.id(text) {
            Some(id) if self.pieces.kind(id) != Some(TokenKind::Unused) => out.push(id),
            _ => self.encoder.spell_bytes(text, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::PieceEncoding;
    use super::*;

    fn encode(tokens: &[(&str, f32, TokenKind)], text: &str) -> Vec<u32> {
        let vocabulary = Vocabulary {
            model: "llama",
            tokens: tokens.iter().map(|token| token.0).collect(),
            scores: tokens.iter().map(|token| token.1).collect(),
            kinds: tokens.iter().map(|token| token.2).collect(),
            add_space_prefix: Some(false),
            roles: tallow::quantized::tokenizer::Roles {
                unknown: Some(0),
                ..Default::default()
            },
            ..Vocabulary::default()
        };
        let named = tokens.iter().map(|token| (token.0, token.2));
        let pieces = Pieces::new(named, PieceEncoding::SentencePiece);
        let mut ids = Vec::new();
        SentencePiece::new(&vocabulary).encode(&pieces, text, &mut ids);
        ids
    }

    use TokenKind::{Byte, Control, Normal, Unknown, Unused};

    #[test]
    fn the_best_score_merges_first_and_ties_go_left() {
        let tokens = [
            ("<unk>", 0.0, Unknown),
            ("a", -9.0, Normal),
            ("b", -9.0, Normal),
            ("ab", -2.0, Normal),
            ("ba", -1.0, Normal),
            ("aa", -3.0, Normal),
        ];
        assert_eq!(encode(&tokens, "aba"), [1, 4]);
        assert_eq!(encode(&tokens, "aaa"), [5, 1]);
        assert!(encode(&tokens, "").is_empty());
    }

    #[test]
    fn what_has_no_token_is_spelled_in_bytes_or_unknown() {
        let tokens = [
            ("<unk>", 0.0, Unknown),
            ("<0xC3>", 0.0, Byte),
            ("<0xA9>", 0.0, Byte),
            ("▁", -1.0, Normal),
        ];
        assert_eq!(encode(&tokens, " é"), [3, 1, 2]);
        assert_eq!(encode(&tokens, "e"), [0]);
    }

    #[test]
    fn text_cannot_spell_a_control_token() {
        let tokens = [
            ("<unk>", 0.0, Unknown),
            ("a", -1.0, Normal),
            ("b", -1.0, Normal),
            ("ab", 0.0, Control),
        ];
        assert_eq!(encode(&tokens, "ab"), [1, 2]);
    }

    #[test]
    fn an_unused_token_is_cut_again() {
        let tokens = [
            ("<unk>", 0.0, Unknown),
            ("a", -3.0, Normal),
            ("b", -3.0, Normal),
            ("ab", -1.0, Unused),
            ("abb", -2.0, Normal),
        ];
        assert_eq!(encode(&tokens, "abb"), [4]);
        assert_eq!(encode(&tokens, "aba"), [1, 2, 1]);
    }
}
