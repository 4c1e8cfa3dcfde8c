//! Turns ids into text one at a time, as they are generated, without splitting a character.
//!
//! A token may end inside a UTF-8 sequence. Bytes are held back until the sequence is complete;
//! bytes that can no longer become one are shown as U+FFFD at once.

use super::Tokenizer;

/// The text of a growing row of ids.
#[derive(Debug)]
pub struct TokenStream<'a> {
    tokenizer: &'a Tokenizer,
    held: Vec<u8>,
    strip_space: bool,
}

impl<'a> TokenStream<'a> {
    pub(crate) fn new(tokenizer: &'a Tokenizer, strip_space: bool) -> Self {
        Self {
            tokenizer,
            held: Vec::new(),
            strip_space,
        }
    }

    /// Adds a token; gives the text that is complete now, which may be empty.
    pub fn push(&mut self, id: u32) -> String {
        let before = self.held.len();
        self.tokenizer.append_bytes(id, &mut self.held);
        if self.strip_space && self.held.len() > before {
            self.strip_space = false;
            if self.held[before] == b' ' {
                self.held.remove(before);
            }
        }
        let complete = complete_len(&self.held);
        let text = String::from_utf8_lossy(&self.held[..complete]).into_owned();
        self.held.drain(..complete);
        text
    }

    /// Ends the stream; gives what was held back, with U+FFFD for a broken character.
    pub fn finish(self) -> String {
        String::from_utf8_lossy(&self.held).into_owned()
    }
}

/// How many leading bytes can be shown: all but an unfinished character at the end.
fn complete_len(bytes: &[u8]) -> usize {
    let mut start = 0;
    loop {
        match std::str::from_utf8(&bytes[start..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                None => return start + error.valid_up_to(),
                Some(broken) => start += error.valid_up_to() + broken,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unfinished_character_is_held_back() {
        assert_eq!(complete_len(b""), 0);
        assert_eq!(complete_len(b"abc"), 3);
        assert_eq!(complete_len("aé".as_bytes()), 3);
        assert_eq!(complete_len(b"a\xc3"), 1);
        assert_eq!(complete_len(b"\xf0\x9f\x98"), 0);
        assert_eq!(complete_len(b"\xc3\x28\xe2\x82"), 2);
        assert_eq!(complete_len(b"\xff\xff"), 2);
    }
}
