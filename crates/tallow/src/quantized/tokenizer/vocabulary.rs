//! A GGUF file's vocabulary as typed values (`tokenizer.ggml.*`; the GGUF specification names
//! them), borrowed from the file: what the two kinds of tokenizer are built from.

use crate::{Result, bail};

/// What a token is for: the numbers that GGUF stores under `tokenizer.ggml.token_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Ordinary text.
    Normal,
    /// What stands for text that has no token.
    Unknown,
    /// Steers the model and has no text: BOS, end of turn.
    Control,
    /// Text that is never cut nor merged.
    UserDefined,
    /// Must not be produced by encoding.
    Unused,
    /// One byte, written `<0x0A>`.
    Byte,
}

impl TokenKind {
    /// The kind of a GGUF number; files have been seen with 0 for ordinary tokens.
    pub fn from_gguf(number: i64) -> Result<Self> {
        Ok(match number {
            0 | 1 => Self::Normal,
            2 => Self::Unknown,
            3 => Self::Control,
            4 => Self::UserDefined,
            5 => Self::Unused,
            6 => Self::Byte,
            _ => bail!("tokenizer: unknown token type {number}; known: 1 to 6"),
        })
    }
}

/// The vocabulary of one file.
#[derive(Debug, Default)]
pub struct Vocabulary<'a> {
    /// `tokenizer.ggml.model`: `gpt2` or `llama`.
    pub model: &'a str,
    /// `tokenizer.ggml.pre`.
    pub pre: Option<&'a str>,
    /// The text of each id.
    pub tokens: Vec<&'a str>,
    /// The kind of each id; empty when the file has none.
    pub kinds: Vec<TokenKind>,
    /// SentencePiece's scores, by id; empty when the file has none.
    pub scores: Vec<f32>,
    /// Byte-level merges, `left right`, best first.
    pub merges: Vec<&'a str>,
    /// Ids with a role, where the file names them.
    pub roles: Roles,
    /// Whether encoding starts with BOS.
    pub add_bos: Option<bool>,
    /// Whether encoding ends with EOS.
    pub add_eos: Option<bool>,
    /// Whether SentencePiece puts a space before the text.
    pub add_space_prefix: Option<bool>,
}

/// Ids with a role.
#[derive(Clone, Copy, Debug, Default)]
pub struct Roles {
    /// Begins a text.
    pub bos: Option<u32>,
    /// Ends a text.
    pub eos: Option<u32>,
    /// Ends a turn.
    pub eot: Option<u32>,
    /// Ends a message that a tool answers.
    pub eom: Option<u32>,
    /// Stands for text that has no token.
    pub unknown: Option<u32>,
}

impl Vocabulary<'_> {
    /// The kind of an id: normal where the file says nothing.
    pub fn kind(&self, id: usize) -> TokenKind {
        self.kinds.get(id).copied().unwrap_or(TokenKind::Normal)
    }

    /// Checks that the lists fit each other and that every role is an id of the vocabulary.
    ///
    /// # Errors
    /// What does not fit, with its sizes.
    pub fn check(&self) -> Result<()> {
        let len = self.tokens.len();
        if len == 0 || u32::try_from(len).is_err() {
            bail!("tokenizer: the vocabulary has {len} tokens");
        }
        for (name, other) in [
            ("token_type", self.kinds.len()),
            ("scores", self.scores.len()),
        ] {
            if other != 0 && other != len {
                bail!(
                    "tokenizer: tokenizer.ggml.{name} has {other} entries, \
                     tokenizer.ggml.tokens has {len}"
                );
            }
        }
        let roles = [
            ("bos", self.roles.bos),
            ("eos", self.roles.eos),
            ("eot", self.roles.eot),
            ("eom", self.roles.eom),
            ("unknown", self.roles.unknown),
        ];
        for (name, id) in roles {
            if let Some(id) = id
                && id as usize >= len
            {
                bail!(
                    "tokenizer: tokenizer.ggml.{name}_token_id is {id}, but there are {len} tokens"
                );
            }
        }
        Ok(())
    }
}
