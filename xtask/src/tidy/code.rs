//! Rust text with comments and literals blanked out, and searches in what is left.
//!
//! The rules look for words such as `unsafe` in code, where a mention in a comment or in a string
//! does not count. A full parser would know more than they need: it is enough to tell code from
//! comments (line, and nested block), strings (plain, byte, C, raw), characters and lifetimes.
//! Every blanked character becomes a space and line ends stay, so places keep their lines.

/// The text with every comment, string and character literal replaced by spaces.
pub(crate) fn blanked(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut blanked = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let end = literal_end(&characters, at);
        if end == at {
            blanked.push(characters[at]);
            at += 1;
        }
        for &character in &characters[at..end.max(at)] {
            blanked.push(if character == '\n' { '\n' } else { ' ' });
        }
        at = end.max(at);
    }
    blanked
}

/// Where the comment or literal that starts at `at` ends; `at` itself where none starts there.
fn literal_end(text: &[char], at: usize) -> usize {
    let after_word = at > 0 && is_word(text[at - 1]);
    match text[at] {
        '/' if text.get(at + 1) == Some(&'/') => find(text, at, |rest| rest[0] == '\n'),
        '/' if text.get(at + 1) == Some(&'*') => block_comment_end(text, at),
        '"' => string_end(text, at + 1),
        'r' | 'b' | 'c' if !after_word => prefixed_end(text, at),
        '\'' => character_end(text, at),
        _ => at,
    }
}

fn find(text: &[char], from: usize, found: impl Fn(&[char]) -> bool) -> usize {
    (from..text.len())
        .find(|&at| found(&text[at..]))
        .unwrap_or(text.len())
}

fn block_comment_end(text: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < text.len() {
        match text[at..] {
            ['/', '*', ..] => {
                depth += 1;
                at += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                at += 2;
            }
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    at
}

/// The end of a string whose first character inside the quotes is at `at`.
fn string_end(text: &[char], mut at: usize) -> usize {
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// The end of a literal with a prefix: `b'x'`, `b"x"`, `c"x"`, `r"x"`, `br#"x"#` and so on.
fn prefixed_end(text: &[char], start: usize) -> usize {
    let mut at = start;
    let mut raw = false;
    while at < text.len() && matches!(text[at], 'r' | 'b' | 'c') && at < start + 2 {
        raw |= text[at] == 'r';
        at += 1;
    }
    let hashes = text[at..]
        .iter()
        .take_while(|&&character| character == '#')
        .count();
    match text.get(at + hashes) {
        Some('"') if raw => {
            let close = find(text, at + hashes + 1, |rest| {
                rest[0] == '"' && rest.iter().skip(1).take_while(|&&c| c == '#').count() >= hashes
            });
            (close + 1 + hashes).min(text.len())
        }
        Some('"') if hashes == 0 => string_end(text, at + 1),
        Some('\'') if hashes == 0 && text[start] == 'b' => character_end(text, at),
        _ => start,
    }
}

/// The end of a character literal; `at` itself where the quote starts a lifetime.
fn character_end(text: &[char], at: usize) -> usize {
    match text[at + 1..] {
        ['\\', _, ..] => (find(text, at + 3, |rest| rest[0] == '\'') + 1).min(text.len()),
        [_, '\'', ..] => at + 3,
        _ => at,
    }
}

/// Whether the character may be part of a name.
pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The lines, counted from 1, where the word stands alone, not as a part of a longer one.
pub(crate) fn lines_with_word<'a>(
    code: &'a str,
    word: &'a str,
) -> impl Iterator<Item = usize> + 'a {
    let numbered = (1..).zip(code.lines());
    numbered
        .filter(|(_, line)| has_word(line, word))
        .map(|(number, _)| number)
}

/// Whether the word stands in the line, not as a part of a longer one.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::{blanked, lines_with_word};

    fn words_left(text: &str) -> Vec<String> {
        blanked(text)
            .split_whitespace()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn comments_are_blanked_and_their_lines_stay() {
        assert_eq!(blanked("a // b\nc"), "a     \nc");
        assert_eq!(
            blanked("a /* b /* c\n */ d */ e"),
            "a          \n         e"
        );
    }

    #[test]
    fn strings_of_every_kind_are_blanked() {
        assert_eq!(words_left(r#"a "unsafe \" b" c"#), ["a", "c"]);
        assert_eq!(
            words_left(r###"a r#"unsafe " b"# c br"x" d c"y" e b"z" f"###),
            ["a", "c", "d", "e", "f"]
        );
    }

    #[test]
    fn characters_are_blanked_and_lifetimes_are_not() {
        assert_eq!(
            words_left(r"a 'x' b '\'' c b'y' d '\u{41}' e"),
            ["a", "b", "c", "d", "e"]
        );
        assert_eq!(
            words_left("fn f<'a>(x: &'a str)"),
            ["fn", "f<'a>(x:", "&'a", "str)"]
        );
    }

    #[test]
    fn raw_identifiers_and_words_that_end_in_a_prefix_stay() {
        assert_eq!(words_left(r#"r#type bar "x" b"#), ["r#type", "bar", "b"]);
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_text() {
        for text in ["\"a", "r#\"a", "/* a", "'\\", "b'\\n", "'"] {
            assert_eq!(
                blanked(text).chars().count(),
                text.chars().count(),
                "{text}"
            );
        }
    }

    #[test]
    fn words_are_found_whole() {
        let code = "unsafe_code\nunsafe {\n(unsafe)";
        assert_eq!(lines_with_word(code, "unsafe").collect::<Vec<_>>(), [2, 3]);
    }
}
