//! Metadata values: numbers, booleans, strings, and arrays of one of these or of arrays.
//!
//! Arrays are held the way a program wants them, not the way the file has them: numbers in a
//! vector of their type, strings packed in one allocation ([`Strings`]), because a vocabulary is
//! an array of a quarter of a million strings.

use std::fmt;
use std::ops::Range;

use crate::error::Quoted;

/// The value of a metadata key.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "each variant is named as the type that it holds"
)]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
    Bool(bool),
    String(String),
    Array(Array),
}

/// An array in the metadata: all items are of one type.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "each variant is named as the type of its items"
)]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bool(Vec<bool>),
    String(Strings),
    Nested(Vec<Array>),
}

/// Many strings in one allocation: their text end to end, and where each one ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    /// No strings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one at the end.
    pub fn push(&mut self, string: &str) {
        self.text.push_str(string);
        self.ends.push(self.text.len());
    }

    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at `position`.
    pub fn get(&self, position: usize) -> Option<&str> {
        Some(&self.text[self.range(position)?])
    }

    /// The strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        (0..self.len()).map(|position| self.get(position).unwrap_or_default())
    }

    /// Gives back memory that was reserved for more.
    pub(super) fn shrink_to_fit(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn range(&self, position: usize) -> Option<Range<usize>> {
        let end = *self.ends.get(position)?;
        let start = position
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        Some(start..end)
    }
}

impl<S: AsRef<str>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(strings: I) -> Self {
        let mut all = Strings::new();
        for string in strings {
            all.push(string.as_ref());
        }
        all
    }
}

impl Value {
    /// The name of the type: `u32`, `string`, `array`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::U8(_) => "u8",
            Value::I8(_) => "i8",
            Value::U16(_) => "u16",
            Value::I16(_) => "i16",
            Value::U32(_) => "u32",
            Value::I32(_) => "i32",
            Value::U64(_) => "u64",
            Value::I64(_) => "i64",
            Value::F32(_) => "f32",
            Value::F64(_) => "f64",
            Value::Bool(_) => "bool",
            Value::String(_) => "string",
            Value::Array(_) => "array",
        }
    }

    /// Type and value in one short line, for messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Value::Array(_) => format!("array {self}"),
            _ => format!("{} {self}", self.type_name()),
        }
    }
}

impl Array {
    /// How many items there are.
    pub fn len(&self) -> usize {
        match self {
            Array::U8(items) => items.len(),
            Array::I8(items) => items.len(),
            Array::U16(items) => items.len(),
            Array::I16(items) => items.len(),
            Array::U32(items) => items.len(),
            Array::I32(items) => items.len(),
            Array::U64(items) => items.len(),
            Array::I64(items) => items.len(),
            Array::F32(items) => items.len(),
            Array::F64(items) => items.len(),
            Array::Bool(items) => items.len(),
            Array::String(items) => items.len(),
            Array::Nested(items) => items.len(),
        }
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the items' type: `u32`, `string`, `array`.
    pub fn item_type_name(&self) -> &'static str {
        match self {
            Array::U8(_) => "u8",
            Array::I8(_) => "i8",
            Array::U16(_) => "u16",
            Array::I16(_) => "i16",
            Array::U32(_) => "u32",
            Array::I32(_) => "i32",
            Array::U64(_) => "u64",
            Array::I64(_) => "i64",
            Array::F32(_) => "f32",
            Array::F64(_) => "f64",
            Array::Bool(_) => "bool",
            Array::String(_) => "string",
            Array::Nested(_) => "array",
        }
    }
}

/// Numbers as they are, strings quoted (escaped, shortened), arrays by their first items.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::U8(value) => value.fmt(out),
            Value::I8(value) => value.fmt(out),
            Value::U16(value) => value.fmt(out),
            Value::I16(value) => value.fmt(out),
            Value::U32(value) => value.fmt(out),
            Value::I32(value) => value.fmt(out),
            Value::U64(value) => value.fmt(out),
            Value::I64(value) => value.fmt(out),
            Value::F32(value) => value.fmt(out),
            Value::F64(value) => value.fmt(out),
            Value::Bool(value) => value.fmt(out),
            Value::String(value) => Quoted(value).fmt(out),
            Value::Array(array) => array.fmt(out),
        }
    }
}

/// `[u32; 4096] 1, 2, 3, …`
impl fmt::Display for Array {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "[{}; {}]", self.item_type_name(), self.len())?;
        match self {
            Array::U8(items) => first_items(out, items.iter()),
            Array::I8(items) => first_items(out, items.iter()),
            Array::U16(items) => first_items(out, items.iter()),
            Array::I16(items) => first_items(out, items.iter()),
            Array::U32(items) => first_items(out, items.iter()),
            Array::I32(items) => first_items(out, items.iter()),
            Array::U64(items) => first_items(out, items.iter()),
            Array::I64(items) => first_items(out, items.iter()),
            Array::F32(items) => first_items(out, items.iter()),
            Array::F64(items) => first_items(out, items.iter()),
            Array::Bool(items) => first_items(out, items.iter()),
            Array::String(items) => first_items(out, items.iter().map(Quoted)),
            Array::Nested(_) => Ok(()),
        }
    }
}

fn first_items<T: fmt::Display>(
    out: &mut fmt::Formatter<'_>,
    items: impl ExactSizeIterator<Item = T>,
) -> fmt::Result {
    const SHOWN: usize = 4;
    let len = items.len();
    for (position, item) in items.take(SHOWN).enumerate() {
        write!(out, "{}{item}", if position == 0 { " " } else { ", " })?;
    }
    if len > SHOWN {
        out.write_str(", …")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Array, Strings, Value};

    #[test]
    fn strings_give_back_what_was_pushed() {
        let words = ["", "a", "çé", "", "tail"];
        let strings: Strings = words.iter().collect();
        assert_eq!(strings.iter().collect::<Vec<_>>(), words);
        assert_eq!(strings.get(2), Some("çé"));
        assert_eq!(strings.get(5), None);
    }

    #[test]
    fn arrays_show_their_first_items_only() {
        let array = Value::Array(Array::I32(vec![1, -2, 3, 4, 5]));
        assert_eq!(array.to_string(), "[i32; 5] 1, -2, 3, 4, …");
        let strings = Value::Array(Array::String(["a\n", "b"].into_iter().collect()));
        assert_eq!(strings.to_string(), "[string; 2] \"a\\n\", \"b\"");
        assert_eq!(Value::U8(7).describe(), "u8 7");
    }
}
