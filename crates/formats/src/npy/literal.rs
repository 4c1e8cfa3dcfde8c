//! The header of an npy file: a Python dictionary of strings, booleans and tuples of integers.
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
//! ```

/// What a header can hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Literal<'a> {
    Text(&'a str),
    Bool(bool),
    Integer(u64),
    Tuple(Vec<u64>),
}

/// Keys and values, in the order of the text. `Err` says what is wrong and where.
pub(super) fn dictionary(text: &str) -> Result<Vec<(&str, Literal<'_>)>, String> {
    let mut parser = Parser { text, at: 0 };
    let mut entries = Vec::new();
    parser.expect('{')?;
    while !parser.accept('}') {
        let key = parser.text()?;
        parser.expect(':')?;
        entries.push((key, parser.value()?));
        if !parser.accept(',') {
            parser.expect('}')?;
            break;
        }
    }
    parser.skip_space();
    match parser.rest().is_empty() {
        true => Ok(entries),
        false => Err(parser.problem("the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\n', '\t', '\r', '\0']).len();
    }

    fn accept(&mut self, wanted: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        match self.accept(wanted) {
            true => Ok(()),
            false => Err(self.problem(&format!("{wanted:?}"))),
        }
    }

    fn problem(&self, wanted: &str) -> String {
        let found: String = self.rest().chars().take(20).collect();
        format!(
            "header: at byte {}: found {found:?}; want {wanted}",
            self.at
        )
    }

    fn text(&mut self) -> Result<&'a str, String> {
        let quote = match (self.accept('\''), self.accept('"')) {
            (true, false) => '\'',
            (false, true) => '"',
            _ => return Err(self.problem("a string in quotes")),
        };
        let Some(len) = self.rest().find(quote) else {
            return Err(self.problem(&format!("a closing {quote}")));
        };
        let text = &self.rest()[..len];
        self.at += len + 1;
        Ok(text)
    }

    fn value(&mut self) -> Result<Literal<'a>, String> {
        self.skip_space();
        for (word, value) in [("True", true), ("False", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(Literal::Bool(value));
            }
        }
        match self.rest().chars().next() {
            Some('\'' | '"') => self.text().map(Literal::Text),
            Some('(') => self.tuple().map(Literal::Tuple),
            Some('[') => Err(self.problem("a single dtype; arrays of records cannot be read")),
            _ => self.integer().map(Literal::Integer),
        }
    }

    fn tuple(&mut self) -> Result<Vec<u64>, String> {
        self.expect('(')?;
        let mut items = Vec::new();
        while !self.accept(')') {
            items.push(self.integer()?);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(items)
    }

    /// Digits; numpy of Python 2 put an `L` after them.
    fn integer(&mut self) -> Result<u64, String> {
        self.skip_space();
        let digits = self.rest();
        let len = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        let number = digits[..len]
            .parse()
            .map_err(|_| self.problem("a number from 0 to 2^64 - 1"))?;
        self.at += len;
        self.accept('L');
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_of_numpy_are_read() {
        let entries =
            dictionary("{'descr': '<f4', \"fortran_order\": False, 'shape': (3L, 4), } \n");
        let expected = vec![
            ("descr", Literal::Text("<f4")),
            ("fortran_order", Literal::Bool(false)),
            ("shape", Literal::Tuple(vec![3, 4])),
        ];
        assert_eq!(entries, Ok(expected));
        assert_eq!(
            dictionary("{'s':()}"),
            Ok(vec![("s", Literal::Tuple(vec![]))])
        );
        assert_eq!(dictionary("{}"), Ok(vec![]));
    }

    #[test]
    fn junk_says_where() {
        for text in [
            "",
            "{",
            "{'a'",
            "{'a':",
            "{'a': (1",
            "{'a': -1}",
            "{'a': 1} x",
            "{a: 1}",
            "{'a: 1}",
            "{'a': 99999999999999999999}",
            "{'a': [('x', '<f4')]}",
            "{'a': True 'b': 1}",
            "{,}",
        ] {
            let problem = dictionary(text).expect_err(text);
            assert!(
                problem.starts_with("header: at byte "),
                "{text:?}: {problem}"
            );
        }
    }
}
