//! The keys and values of a GGUF file, in the order of the file.

use super::convert::FromValue;
use super::value::Value;
use crate::error::{Error, Quoted, Result};
use crate::name_index::NameIndex;

/// Metadata: keys, each once, with their values, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    entries: Vec<(String, Value)>,
    index: NameIndex,
}

impl Metadata {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes keys and values over; `Err` is a key that comes twice.
    pub(super) fn from_entries(entries: Vec<(String, Value)>) -> Result<Self, String> {
        match NameIndex::build(entries.len(), |i| entries[i].0.as_str()) {
            Ok(index) => Ok(Metadata { entries, index }),
            Err(position) => Err(entries[position].0.clone()),
        }
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys and values in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries
            .iter()
            .map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key, as the file has it.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.position(key).map(|position| &self.entries[position].1)
    }

    /// The value of a key in a type that holds it without loss; an error if the key is missing.
    ///
    /// `T` is a number, `bool`, `&str`, `Cow<[number]>` (borrowed if the file has that type),
    /// `&[bool]`, [`&Strings`](super::Strings) or [`&Array`](super::Array).
    ///
    /// ```
    /// use std::borrow::Cow;
    /// use tallow_formats::gguf::Metadata;
    /// let mut metadata = Metadata::new();
    /// metadata.set("llama.block_count", 30_u64);
    /// metadata.set("llama.rope.sections", vec![2_i32, 3]);
    /// assert_eq!(metadata.get::<u32>("llama.block_count")?, 30);
    /// assert_eq!(*metadata.get::<Cow<'_, [u32]>>("llama.rope.sections")?, [2, 3]);
    /// # Ok::<(), tallow_formats::Error>(())
    /// ```
    pub fn get<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<T> {
        self.find(key)?.ok_or_else(|| Error::MissingKey {
            key: key.to_string(),
        })
    }

    /// As [`get`](Metadata::get), with `None` for a missing key.
    pub fn find<'a, T: FromValue<'a>>(&'a self, key: &str) -> Result<Option<T>> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match T::from_value(value) {
            Some(converted) => Ok(Some(converted)),
            None => Err(Error::KeyType {
                key: key.to_string(),
                found: value.describe(),
                wanted: T::WANTED,
            }),
        }
    }

    /// `get::<u32>`: any integer type whose value fits.
    pub fn get_u32(&self, key: &str) -> Result<u32> {
        self.get(key)
    }

    /// `get::<u64>`: any integer type whose value fits.
    pub fn get_u64(&self, key: &str) -> Result<u64> {
        self.get(key)
    }

    /// `get::<f32>`: any number that an `f32` holds exactly.
    pub fn get_f32(&self, key: &str) -> Result<f32> {
        self.get(key)
    }

    /// `get::<bool>`.
    pub fn get_bool(&self, key: &str) -> Result<bool> {
        self.get(key)
    }

    /// `get::<&str>`.
    pub fn get_str(&self, key: &str) -> Result<&str> {
        self.get(key)
    }

    /// Adds a key at the end; one that is there already is an error.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Result<()> {
        let key = key.into();
        if !self.index.push(&key, |i| self.entries[i].0.as_str()) {
            return Err(Error::Malformed {
                format: "gguf",
                problem: format!("key {} is there already", Quoted(&key)),
            });
        }
        self.entries.push((key, value.into()));
        Ok(())
    }

    /// Gives a key a value: in its place if it is there already, else at the end.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        let key = key.into();
        match self.position(&key) {
            Some(position) => self.entries[position].1 = value.into(),
            None => {
                self.index.push(&key, |i| self.entries[i].0.as_str());
                self.entries.push((key, value.into()));
            }
        }
    }

    /// Takes a key out; its value, if it was there.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let position = self.position(key)?;
        let (_, value) = self.entries.remove(position);
        self.index = NameIndex::build(self.entries.len(), |i| self.entries[i].0.as_str())
            .expect("keys were unique before one was removed");
        Some(value)
    }

    fn position(&self, key: &str) -> Option<usize> {
        self.index.find(key, |i| self.entries[i].0.as_str())
    }
}

/// Equal if they have the same keys and values in the same order.
impl PartialEq for Metadata {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

#[cfg(test)]
mod tests {
    use super::Metadata;
    use crate::gguf::Value;

    #[test]
    fn set_replaces_in_place_and_remove_keeps_the_rest() {
        let mut metadata = Metadata::new();
        metadata.insert("b", 1_u32).unwrap();
        metadata.insert("a", "text").unwrap();
        metadata.set("b", 2_u64);
        metadata.set("c", true);
        let keys: Vec<_> = metadata.iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["b", "a", "c"]);
        assert_eq!(metadata.remove("b"), Some(Value::U64(2)));
        assert_eq!(metadata.remove("b"), None);
        assert_eq!(metadata.get_str("a").unwrap(), "text");
        assert!(metadata.get_bool("c").unwrap());
    }

    #[test]
    fn errors_name_key_type_and_value() {
        let mut metadata = Metadata::new();
        metadata.insert("n", -3_i32).unwrap();
        let message = |error: crate::Error| error.to_string();
        assert_eq!(
            message(metadata.get_u32("n").unwrap_err()),
            "gguf: key \"n\": found i32 -3; want an integer that fits u32"
        );
        assert_eq!(
            message(metadata.get_str("n").unwrap_err()),
            "gguf: key \"n\": found i32 -3; want a string"
        );
        assert_eq!(
            message(metadata.get_str("m").unwrap_err()),
            "gguf: no metadata key \"m\""
        );
        assert!(metadata.find::<u32>("m").unwrap().is_none());
        assert_eq!(
            message(metadata.insert("n", 1_u8).unwrap_err()),
            "gguf: key \"n\" is there already"
        );
    }
}
