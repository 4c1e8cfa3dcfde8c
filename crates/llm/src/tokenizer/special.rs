//! Cuts special tokens out of a prompt before ordinary text is encoded.
//!
//! At each place the longest token that starts there wins, scanning from the left. Control tokens
//! are looked for only where the caller allows it (a chat template's output, not a user's text);
//! user-defined tokens always, since a vocabulary never merges them.

use aho_corasick::{AhoCorasick, MatchKind};

use super::pieces::Pieces;
use crate::error::{Error, Result};
use tallow::quantized::tokenizer::TokenKind;

/// A run of a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fragment<'t> {
    /// Ordinary text.
    Text(&'t str),
    /// A special token.
    Token(u32),
}

/// The special tokens of a vocabulary, ready to be looked for.
#[derive(Debug)]
pub(crate) struct SpecialTokens {
    all: Finder,
    user_defined: Finder,
}

#[derive(Debug)]
struct Finder {
    automaton: Option<AhoCorasick>,
    ids: Vec<u32>,
}

impl SpecialTokens {
    pub(crate) fn new(pieces: &Pieces) -> Result<Self> {
        let user_defined = Finder::new(pieces, &[TokenKind::UserDefined])?;
        let kinds = [
            TokenKind::UserDefined,
            TokenKind::Control,
            TokenKind::Unknown,
        ];
        Ok(Self {
            all: Finder::new(pieces, &kinds)?,
            user_defined,
        })
    }

    /// Cuts the text into runs of ordinary text (never empty) and special tokens.
    pub(crate) fn split<'t>(&self, text: &'t str, with_control: bool) -> Vec<Fragment<'t>> {
        let finder = if with_control {
            &self.all
        } else {
            &self.user_defined
        };
        let mut fragments = Vec::new();
        let mut end = 0;
        if let Some(automaton) = &finder.automaton {
            for found in automaton.find_iter(text) {
                if found.start() > end {
                    fragments.push(Fragment::Text(&text[end..found.start()]));
                }
                fragments.push(Fragment::Token(finder.ids[found.pattern().as_usize()]));
                end = found.end();
            }
        }
        if end < text.len() {
            fragments.push(Fragment::Text(&text[end..]));
        }
        fragments
    }
}

impl Finder {
    fn new(pieces: &Pieces, kinds: &[TokenKind]) -> Result<Self> {
        let ids: Vec<u32> = (0..pieces.len() as u32)
            .filter(|&id| pieces.kind(id).is_some_and(|kind| kinds.contains(&kind)))
            .filter(|&id| pieces.text(id).is_some_and(|text| !text.is_empty()))
            .collect();
        if ids.is_empty() {
            return Ok(Self {
                automaton: None,
                ids,
            });
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(ids.iter().filter_map(|&id| pieces.text(id)))
            .map_err(|error| Error::Tokenizer(format!("special tokens: {error}")))?;
        Ok(Self {
            automaton: Some(automaton),
            ids,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::PieceEncoding;
    use super::*;

    #[test]
    fn the_longest_token_wins_and_control_tokens_are_asked_for() {
        let tokens = [
            ("<s>", TokenKind::Control),
            ("\n", TokenKind::UserDefined),
            ("\n\n", TokenKind::UserDefined),
        ];
        let special =
            SpecialTokens::new(&Pieces::new(tokens.into_iter(), PieceEncoding::ByteLevel)).unwrap();
        use Fragment::{Text, Token};
        let text = "<s>a\n\n\nb";
        let both = special.split(text, true);
        assert_eq!(both, [Token(0), Text("a"), Token(2), Token(1), Text("b")]);
        let plain = special.split(text, false);
        assert_eq!(plain, [Text("<s>a"), Token(2), Token(1), Text("b")]);
        assert!(special.split("", true).is_empty());
    }
}
