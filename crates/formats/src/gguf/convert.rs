//! Metadata values as Rust types, without loss.
//!
//! Writers differ in the integer type that they give a key, so a getter takes any numeric type
//! whose value the wanted type can hold exactly, and refuses the rest: 300 is not a `u8`, -1 is
//! not a `u32`, 0.1 as `f64` is not an `f32`. An array of numbers comes borrowed if the file has
//! it in the wanted type, and converted item by item if not.

use std::borrow::Cow;

use super::value::{Array, Strings, Value};

/// A type that a metadata value can be read as; see [`Metadata::get`](super::Metadata::get).
pub trait FromValue<'a>: Sized {
    /// What values do, for messages: `an integer that fits u32`.
    const WANTED: &'static str;

    /// The value in this type, if it can be held without loss.
    fn from_value(value: &'a Value) -> Option<Self>;
}

/// A number in a type that holds each number of a file exactly.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

/// A type of number that the items of an array can be read as.
trait FromNumber: Copy + 'static {
    fn from_number(number: Number) -> Option<Self>;
    /// The items of an array of exactly this type.
    fn items(array: &Array) -> Option<&[Self]>;
}

impl Value {
    /// The value in another type, if that can hold it without loss.
    ///
    /// ```
    /// use tallow_formats::gguf::Value;
    /// assert_eq!(Value::U64(40).to::<u32>(), Some(40));
    /// assert_eq!(Value::I32(-1).to::<u32>(), None);
    /// ```
    pub fn to<'a, T: FromValue<'a>>(&'a self) -> Option<T> {
        T::from_value(self)
    }

    fn number(&self) -> Option<Number> {
        Some(match *self {
            Value::U8(value) => Number::Integer(value.into()),
            Value::I8(value) => Number::Integer(value.into()),
            Value::U16(value) => Number::Integer(value.into()),
            Value::I16(value) => Number::Integer(value.into()),
            Value::U32(value) => Number::Integer(value.into()),
            Value::I32(value) => Number::Integer(value.into()),
            Value::U64(value) => Number::Integer(value.into()),
            Value::I64(value) => Number::Integer(value.into()),
            Value::F32(value) => Number::Float(value.into()),
            Value::F64(value) => Number::Float(value),
            Value::Bool(_) | Value::String(_) | Value::Array(_) => return None,
        })
    }
}

/// All items in `T`, if each can be held without loss.
fn convert<T: FromNumber>(array: &Array) -> Option<Vec<T>> {
    fn each<I: Copy, T: FromNumber>(items: &[I], number: impl Fn(I) -> Number) -> Option<Vec<T>> {
        items
            .iter()
            .map(|&item| T::from_number(number(item)))
            .collect()
    }
    match array {
        Array::U8(items) => each(items, |item| Number::Integer(item.into())),
        Array::I8(items) => each(items, |item| Number::Integer(item.into())),
        Array::U16(items) => each(items, |item| Number::Integer(item.into())),
        Array::I16(items) => each(items, |item| Number::Integer(item.into())),
        Array::U32(items) => each(items, |item| Number::Integer(item.into())),
        Array::I32(items) => each(items, |item| Number::Integer(item.into())),
        Array::U64(items) => each(items, |item| Number::Integer(item.into())),
        Array::I64(items) => each(items, |item| Number::Integer(item.into())),
        Array::F32(items) => each(items, |item| Number::Float(item.into())),
        Array::F64(items) => each(items, Number::Float),
        Array::Bool(_) | Array::String(_) | Array::Nested(_) => None,
    }
}

/// Implements both traits for integers and arrays of them.
macro_rules! integers {
    ($($type:ident, $variant:ident;)*) => {$(
        impl FromNumber for $type {
            fn from_number(number: Number) -> Option<Self> {
                match number {
                    Number::Integer(value) => value.try_into().ok(),
                    Number::Float(_) => None,
                }
            }

            fn items(array: &Array) -> Option<&[Self]> {
                match array {
                    Array::$variant(items) => Some(items),
                    _ => None,
                }
            }
        }

        impl FromValue<'_> for $type {
            const WANTED: &'static str = concat!("an integer that fits ", stringify!($type));

            fn from_value(value: &Value) -> Option<Self> {
                Self::from_number(value.number()?)
            }
        }

        impl<'a> FromValue<'a> for Cow<'a, [$type]> {
            const WANTED: &'static str =
                concat!("an array of integers that fit ", stringify!($type));

            fn from_value(value: &'a Value) -> Option<Self> {
                numbers(value)
            }
        }
    )*};
}

integers! {
    u8, U8;
    i8, I8;
    u16, U16;
    i16, I16;
    u32, U32;
    i32, I32;
    u64, U64;
    i64, I64;
}

impl FromValue<'_> for usize {
    const WANTED: &'static str = "an integer that fits usize";

    fn from_value(value: &Value) -> Option<Self> {
        match value.number()? {
            Number::Integer(value) => value.try_into().ok(),
            Number::Float(_) => None,
        }
    }
}

fn numbers<'a, T: FromNumber>(value: &'a Value) -> Option<Cow<'a, [T]>>
where
    [T]: ToOwned<Owned = Vec<T>>,
{
    let Value::Array(array) = value else {
        return None;
    };
    match T::items(array) {
        Some(items) => Some(Cow::Borrowed(items)),
        None => convert(array).map(Cow::Owned),
    }
}

impl FromNumber for f64 {
    fn from_number(number: Number) -> Option<Self> {
        match number {
            Number::Integer(value) => {
                let float = value as f64;
                (float as i128 == value).then_some(float)
            }
            Number::Float(value) => Some(value),
        }
    }

    fn items(array: &Array) -> Option<&[Self]> {
        match array {
            Array::F64(items) => Some(items),
            _ => None,
        }
    }
}

impl FromNumber for f32 {
    fn from_number(number: Number) -> Option<Self> {
        let wide = f64::from_number(number)?;
        let narrow = wide as f32;
        (f64::from(narrow) == wide || wide.is_nan()).then_some(narrow)
    }

    fn items(array: &Array) -> Option<&[Self]> {
        match array {
            Array::F32(items) => Some(items),
            _ => None,
        }
    }
}

impl FromValue<'_> for f32 {
    const WANTED: &'static str = "a number that fits f32 exactly";

    fn from_value(value: &Value) -> Option<Self> {
        Self::from_number(value.number()?)
    }
}

impl FromValue<'_> for f64 {
    const WANTED: &'static str = "a number that fits f64 exactly";

    fn from_value(value: &Value) -> Option<Self> {
        Self::from_number(value.number()?)
    }
}

impl<'a> FromValue<'a> for Cow<'a, [f32]> {
    const WANTED: &'static str = "an array of numbers that fit f32 exactly";

    fn from_value(value: &'a Value) -> Option<Self> {
        numbers(value)
    }
}

impl<'a> FromValue<'a> for Cow<'a, [f64]> {
    const WANTED: &'static str = "an array of numbers that fit f64 exactly";

    fn from_value(value: &'a Value) -> Option<Self> {
        numbers(value)
    }
}

impl FromValue<'_> for bool {
    const WANTED: &'static str = "a bool";

    fn from_value(value: &Value) -> Option<Self> {
        match *value {
            Value::Bool(value) => Some(value),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a [bool] {
    const WANTED: &'static str = "an array of bools";

    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(Array::Bool(items)) => Some(items),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a str {
    const WANTED: &'static str = "a string";

    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::String(value) => Some(value),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a Strings {
    const WANTED: &'static str = "an array of strings";

    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(Array::String(items)) => Some(items),
            _ => None,
        }
    }
}

impl<'a> FromValue<'a> for &'a Array {
    const WANTED: &'static str = "an array";

    fn from_value(value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(array) => Some(array),
            _ => None,
        }
    }
}

/// Implements `From` for what a value or an array holds.
macro_rules! holds {
    ($($type:ty, $variant:ident;)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Value::$variant(value)
            }
        }

        impl From<Vec<$type>> for Value {
            fn from(items: Vec<$type>) -> Self {
                Value::Array(Array::$variant(items.into_iter().collect()))
            }
        }
    )*};
}

holds! {
    u8, U8;
    i8, I8;
    u16, U16;
    i16, I16;
    u32, U32;
    i32, I32;
    u64, U64;
    i64, I64;
    f32, F32;
    f64, F64;
    bool, Bool;
    String, String;
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::String(value.to_string())
    }
}

impl From<Strings> for Value {
    fn from(items: Strings) -> Self {
        Value::Array(Array::String(items))
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Self {
        Value::Array(array)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn integers_of_any_type_fit_where_the_value_fits() {
        for value in [
            Value::U8(100),
            Value::I8(100),
            Value::U16(100),
            Value::I16(100),
            Value::U32(100),
            Value::I32(100),
            Value::U64(100),
            Value::I64(100),
        ] {
            assert_eq!(value.to::<u8>(), Some(100));
            assert_eq!(value.to::<i8>(), Some(100));
            assert_eq!(value.to::<u32>(), Some(100));
            assert_eq!(value.to::<i64>(), Some(100));
            assert_eq!(value.to::<usize>(), Some(100));
            assert_eq!(value.to::<f32>(), Some(100.0));
            assert_eq!(value.to::<bool>(), None);
            assert_eq!(value.to::<&str>(), None);
        }
        assert_eq!(Value::U64(u64::MAX).to::<u64>(), Some(u64::MAX));
        assert_eq!(Value::U64(u64::MAX).to::<i64>(), None);
        assert_eq!(Value::I8(-1).to::<u64>(), None);
        assert_eq!(Value::U32(256).to::<u8>(), None);
    }

    #[test]
    fn floats_convert_only_without_loss() {
        assert_eq!(Value::F32(1e-5).to::<f32>(), Some(1e-5));
        assert_eq!(Value::F32(1e-5).to::<f64>(), Some(f64::from(1e-5_f32)));
        assert_eq!(Value::F64(0.5).to::<f32>(), Some(0.5));
        assert_eq!(Value::F64(0.1).to::<f32>(), None);
        assert_eq!(Value::F64(1e300).to::<f32>(), None);
        assert!(Value::F64(f64::NAN).to::<f32>().unwrap().is_nan());
        assert_eq!(
            Value::F64(f64::NEG_INFINITY).to::<f32>(),
            Some(f32::NEG_INFINITY)
        );
        assert_eq!(Value::U64((1 << 53) + 1).to::<f64>(), None);
        assert_eq!(Value::U32((1 << 24) + 1).to::<f32>(), None);
        assert_eq!(Value::F32(2.0).to::<u32>(), None);
    }

    #[test]
    fn arrays_are_borrowed_in_their_own_type_and_converted_in_another() {
        let same = Value::from(vec![1_i32, 2]);
        assert!(matches!(
            same.to::<Cow<'_, [i32]>>(),
            Some(Cow::Borrowed(&[1, 2]))
        ));
        assert_eq!(
            same.to::<Cow<'_, [u64]>>().as_deref(),
            Some(&[1_u64, 2][..])
        );
        assert_eq!(Value::from(vec![1_i32, -2]).to::<Cow<'_, [u32]>>(), None);
        assert_eq!(
            same.to::<Cow<'_, [f32]>>().as_deref(),
            Some(&[1.0_f32, 2.0][..])
        );
        assert_eq!(same.to::<&Strings>(), None);
        assert_eq!(Value::U8(1).to::<Cow<'_, [u8]>>(), None);
    }
}
