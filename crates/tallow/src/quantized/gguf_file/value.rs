//! Metadata values.

use crate::{Result, bail};
use tallow_formats::gguf::{self, Array, FromValue};

/// The type of a value, by its GGUF id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // each variant is the type of its name
pub enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
    Bool,
    String,
    Array,
}

/// The value of a metadata key.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // each variant is the type of its name
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
    Array(Vec<Value>),
}

/// Writes a getter for each numeric type.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident -> $type:ty;)*) => {
        impl Value {
            $($(#[$doc])*
            pub fn $name(&self) -> Result<$type> {
                self.number()
            })*
        }
    };
}

getters! {
    /// The value as a u8: any integer that fits.
    to_u8 -> u8;
    /// The value as an i8: any integer that fits.
    to_i8 -> i8;
    /// The value as a u16: any integer that fits.
    to_u16 -> u16;
    /// The value as an i16: any integer that fits.
    to_i16 -> i16;
    /// The value as a u32: any integer that fits.
    ///
    /// ```
    /// use tallow::quantized::gguf_file::Value;
    /// assert_eq!(Value::I64(32).to_u32()?, 32);
    /// assert!(Value::I32(-1).to_u32().is_err());
    /// # Ok::<(), tallow::Error>(())
    /// ```
    to_u32 -> u32;
    /// The value as an i32: any integer that fits.
    to_i32 -> i32;
    /// The value as a u64: any integer that fits.
    to_u64 -> u64;
    /// The value as an i64: any integer that fits.
    to_i64 -> i64;
    /// The value as an f32: any number that an f32 holds exactly.
    to_f32 -> f32;
    /// The value as an f64: any number that an f64 holds exactly.
    to_f64 -> f64;
}

impl Value {
    fn number<T: for<'a> FromValue<'a>>(&self) -> Result<T> {
        let plain = match *self {
            Self::U8(value) => gguf::Value::U8(value),
            Self::I8(value) => gguf::Value::I8(value),
            Self::U16(value) => gguf::Value::U16(value),
            Self::I16(value) => gguf::Value::I16(value),
            Self::U32(value) => gguf::Value::U32(value),
            Self::I32(value) => gguf::Value::I32(value),
            Self::U64(value) => gguf::Value::U64(value),
            Self::I64(value) => gguf::Value::I64(value),
            Self::F32(value) => gguf::Value::F32(value),
            Self::F64(value) => gguf::Value::F64(value),
            Self::Bool(_) | Self::String(_) | Self::Array(_) => return self.unlike(T::WANTED),
        };
        match plain.to() {
            Some(value) => Ok(value),
            None => self.unlike(T::WANTED),
        }
    }

    fn unlike<T>(&self, wanted: &str) -> Result<T> {
        let found: String = format!("{self:?}").chars().take(100).collect();
        bail!("gguf: value {found}; want {wanted}")
    }

    /// The type.
    pub fn value_type(&self) -> ValueType {
        match self {
            Self::U8(_) => ValueType::U8,
            Self::I8(_) => ValueType::I8,
            Self::U16(_) => ValueType::U16,
            Self::I16(_) => ValueType::I16,
            Self::U32(_) => ValueType::U32,
            Self::I32(_) => ValueType::I32,
            Self::U64(_) => ValueType::U64,
            Self::I64(_) => ValueType::I64,
            Self::F32(_) => ValueType::F32,
            Self::F64(_) => ValueType::F64,
            Self::Bool(_) => ValueType::Bool,
            Self::String(_) => ValueType::String,
            Self::Array(_) => ValueType::Array,
        }
    }

    /// The value, if it is a boolean.
    pub fn to_bool(&self) -> Result<bool> {
        match self {
            Self::Bool(value) => Ok(*value),
            _ => self.unlike("a bool"),
        }
    }

    /// The items, if it is an array.
    pub fn to_vec(&self) -> Result<&Vec<Value>> {
        match self {
            Self::Array(items) => Ok(items),
            _ => self.unlike("an array"),
        }
    }

    /// The text, if it is one.
    #[allow(clippy::inherent_to_string)] // candle's name; it gives a reference
    pub fn to_string(&self) -> Result<&String> {
        match self {
            Self::String(text) => Ok(text),
            _ => self.unlike("a string"),
        }
    }
}

impl From<&gguf::Value> for Value {
    fn from(value: &gguf::Value) -> Self {
        match value {
            gguf::Value::U8(value) => Self::U8(*value),
            gguf::Value::I8(value) => Self::I8(*value),
            gguf::Value::U16(value) => Self::U16(*value),
            gguf::Value::I16(value) => Self::I16(*value),
            gguf::Value::U32(value) => Self::U32(*value),
            gguf::Value::I32(value) => Self::I32(*value),
            gguf::Value::U64(value) => Self::U64(*value),
            gguf::Value::I64(value) => Self::I64(*value),
            gguf::Value::F32(value) => Self::F32(*value),
            gguf::Value::F64(value) => Self::F64(*value),
            gguf::Value::Bool(value) => Self::Bool(*value),
            gguf::Value::String(value) => Self::String(value.clone()),
            gguf::Value::Array(array) => Self::Array(items(array)),
        }
    }
}

fn items(array: &Array) -> Vec<Value> {
    fn each<T: Copy>(items: &[T], value: impl Fn(T) -> Value) -> Vec<Value> {
        items.iter().map(|&item| value(item)).collect()
    }
    match array {
        Array::U8(items) => each(items, Value::U8),
        Array::I8(items) => each(items, Value::I8),
        Array::U16(items) => each(items, Value::U16),
        Array::I16(items) => each(items, Value::I16),
        Array::U32(items) => each(items, Value::U32),
        Array::I32(items) => each(items, Value::I32),
        Array::U64(items) => each(items, Value::U64),
        Array::I64(items) => each(items, Value::I64),
        Array::F32(items) => each(items, Value::F32),
        Array::F64(items) => each(items, Value::F64),
        Array::Bool(items) => each(items, Value::Bool),
        Array::String(strings) => strings
            .iter()
            .map(|text| Value::String(text.to_string()))
            .collect(),
        Array::Nested(arrays) => arrays
            .iter()
            .map(|array| Value::Array(items(array)))
            .collect(),
    }
}

/// The value as a file has it. Errors if the items of an array are not of one type.
pub(super) fn encode(value: &Value) -> Result<gguf::Value> {
    Ok(match value {
        Value::U8(value) => gguf::Value::U8(*value),
        Value::I8(value) => gguf::Value::I8(*value),
        Value::U16(value) => gguf::Value::U16(*value),
        Value::I16(value) => gguf::Value::I16(*value),
        Value::U32(value) => gguf::Value::U32(*value),
        Value::I32(value) => gguf::Value::I32(*value),
        Value::U64(value) => gguf::Value::U64(*value),
        Value::I64(value) => gguf::Value::I64(*value),
        Value::F32(value) => gguf::Value::F32(*value),
        Value::F64(value) => gguf::Value::F64(*value),
        Value::Bool(value) => gguf::Value::Bool(*value),
        Value::String(value) => gguf::Value::String(value.clone()),
        Value::Array(items) => gguf::Value::Array(encode_array(items, 1)?),
    })
}

/// Arrays within arrays; the reader goes no deeper.
const MAX_DEPTH: usize = 8;

fn encode_array(items: &[Value], depth: usize) -> Result<Array> {
    if depth > MAX_DEPTH {
        bail!("gguf: arrays nested deeper than {MAX_DEPTH}");
    }
    let kind = items.first().map_or(ValueType::U32, Value::value_type);
    if let Some(other) = items.iter().find(|item| item.value_type() != kind) {
        let other = other.value_type();
        bail!("gguf: an array of {kind:?} has an item of {other:?}; want one type");
    }
    macro_rules! numbers {
        ($variant:ident) => {
            Array::$variant(
                items
                    .iter()
                    .filter_map(|item| match item {
                        Value::$variant(value) => Some(*value),
                        _ => None,
                    })
                    .collect(),
            )
        };
    }
    Ok(match kind {
        ValueType::U8 => numbers!(U8),
        ValueType::I8 => numbers!(I8),
        ValueType::U16 => numbers!(U16),
        ValueType::I16 => numbers!(I16),
        ValueType::U32 => numbers!(U32),
        ValueType::I32 => numbers!(I32),
        ValueType::U64 => numbers!(U64),
        ValueType::I64 => numbers!(I64),
        ValueType::F32 => numbers!(F32),
        ValueType::F64 => numbers!(F64),
        ValueType::Bool => numbers!(Bool),
        ValueType::String => {
            let texts = items.iter().filter_map(|item| item.to_string().ok());
            Array::String(texts.collect())
        }
        ValueType::Array => {
            let arrays = items.iter().filter_map(|item| item.to_vec().ok());
            let encoded = arrays.map(|items| encode_array(items, depth + 1));
            Array::Nested(encoded.collect::<Result<_>>()?)
        }
    })
}
