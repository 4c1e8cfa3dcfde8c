//! PyTorch's files, and what their pickles hold.
//!
//! [`tallow::pickle`] reads the files. Pickles themselves are read by
//! [`tallow_formats::pickle`], as data; here its values become candle's [`Object`]s.

pub use tallow::pickle::{
    PthTensors, TensorInfo, read_all, read_all_with_key, read_pth_tensor_info,
};

use std::io::BufRead;
use tallow::{Error, Result};
use tallow_formats::pickle::{Id, Pickle, Value};

/// A value of a pickle.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // each variant is named after what it holds
pub enum Object {
    Class {
        module_name: String,
        class_name: String,
    },
    Int(i32),
    Long(i64),
    Float(f64),
    Unicode(String),
    Bool(bool),
    None,
    Tuple(Vec<Object>),
    List(Vec<Object>),
    Mark,
    Dict(Vec<(Object, Object)>),
    Reduce {
        callable: Box<Object>,
        args: Box<Object>,
    },
    Build {
        callable: Box<Object>,
        args: Box<Object>,
    },
    PersistentLoad(Box<Object>),
}

type OResult<T> = std::result::Result<T, Object>;

/// What an object is, or the object itself if it is something else.
#[allow(missing_docs)] // each is named after what it gives
impl Object {
    pub fn unicode(self) -> OResult<String> {
        match self {
            Self::Unicode(text) => Ok(text),
            other => Err(other),
        }
    }

    pub fn reduce(self) -> OResult<(Self, Self)> {
        match self {
            Self::Reduce { callable, args } => Ok((*callable, *args)),
            other => Err(other),
        }
    }

    pub fn none(self) -> OResult<()> {
        match self {
            Self::None => Ok(()),
            other => Err(other),
        }
    }

    pub fn persistent_load(self) -> OResult<Self> {
        match self {
            Self::PersistentLoad(id) => Ok(*id),
            other => Err(other),
        }
    }

    pub fn bool(self) -> OResult<bool> {
        match self {
            Self::Bool(value) => Ok(value),
            other => Err(other),
        }
    }

    pub fn int(self) -> OResult<i32> {
        match self {
            Self::Int(value) => Ok(value),
            other => Err(other),
        }
    }

    pub fn int_or_long(self) -> OResult<i64> {
        match self {
            Self::Int(value) => Ok(value.into()),
            Self::Long(value) => Ok(value),
            other => Err(other),
        }
    }

    pub fn tuple(self) -> OResult<Vec<Self>> {
        match self {
            Self::Tuple(items) => Ok(items),
            other => Err(other),
        }
    }

    pub fn dict(self) -> OResult<Vec<(Self, Self)>> {
        match self {
            Self::Dict(entries) => Ok(entries),
            other => Err(other),
        }
    }

    pub fn class(self) -> OResult<(String, String)> {
        match self {
            Self::Class {
                module_name,
                class_name,
            } => Ok((module_name, class_name)),
            other => Err(other),
        }
    }
}

impl From<Object> for Error {
    fn from(object: Object) -> Self {
        let shown: String = format!("{object:?}").chars().take(200).collect();
        Self::msg(format!("pickle: unexpected {shown}"))
    }
}

impl TryFrom<Object> for String {
    type Error = Object;
    fn try_from(object: Object) -> OResult<Self> {
        object.unicode()
    }
}

impl TryFrom<Object> for usize {
    type Error = Object;
    fn try_from(object: Object) -> OResult<Self> {
        match object {
            Object::Int(value) if value >= 0 => Ok(value as usize),
            Object::Long(value) => Self::try_from(value).map_err(|_| Object::Long(value)),
            other => Err(other),
        }
    }
}

impl<T: TryFrom<Object, Error = Object>> TryFrom<Object> for Vec<T> {
    type Error = Object;
    fn try_from(object: Object) -> OResult<Self> {
        match object {
            Object::Tuple(items) | Object::List(items) => {
                items.into_iter().map(T::try_from).collect()
            }
            other => Err(other),
        }
    }
}

/// The objects of one pickle.
#[derive(Debug)]
pub struct Stack {
    stack: Vec<Object>,
}

impl Stack {
    /// Nothing read yet.
    pub fn empty() -> Self {
        Self { stack: Vec::new() }
    }

    /// What was read.
    pub fn stack(&self) -> &[Object] {
        &self.stack
    }

    /// Reads a pickle to its end; true, as it is complete then.
    ///
    /// # Errors
    /// The reader's, and a broken pickle. An object that is used in many places is written out in
    /// each of them here; a pickle that swells by that is an error.
    pub fn read<R: BufRead>(&mut self, r: &mut R) -> Result<bool> {
        let mut bytes = Vec::new();
        r.read_to_end(&mut bytes)?;
        let pickle = Pickle::read(&bytes)?;
        let mut left = Budget(MORE_VALUES + VALUES_PER_BYTE * bytes.len());
        self.stack
            .push(object(&pickle, pickle.root(), &mut left, 0)?);
        Ok(true)
    }

    /// Reads a pickle to its end.
    pub fn read_loop<R: BufRead>(&mut self, r: &mut R) -> Result<()> {
        self.read(r).map(drop)
    }

    /// The object that the pickle is of.
    pub fn finalize(mut self) -> Result<Object> {
        match self.stack.pop() {
            Some(object) => Ok(object),
            None => Err(Error::msg("pickle: nothing was read")),
        }
    }
}

/// Objects that may still be made, so that shared ones do not swell without end.
struct Budget(usize);

const VALUES_PER_BYTE: usize = 16;
const MORE_VALUES: usize = 1024;
const MAX_DEPTH: usize = 100;

fn object(pickle: &Pickle<'_>, id: Id, left: &mut Budget, depth: usize) -> Result<Object> {
    left.0 = match left.0.checked_sub(1) {
        Some(left) if depth < MAX_DEPTH => left,
        _ => {
            return Err(Error::msg(
                "pickle: objects nested too deeply, or too many of them",
            ));
        }
    };
    let depth = depth + 1;
    let mut make = |id| object(pickle, id, left, depth);
    Ok(match pickle.value(id) {
        Value::None => Object::None,
        Value::Bool(value) => Object::Bool(*value),
        Value::Int(value) => match i32::try_from(*value) {
            Ok(value) => Object::Int(value),
            Err(_) => Object::Long(*value),
        },
        Value::Float(value) => Object::Float(*value),
        Value::Text(text) => Object::Unicode((*text).to_string()),
        Value::Tuple(items) => {
            Object::Tuple(items.iter().copied().map(make).collect::<Result<_>>()?)
        }
        Value::List(items) | Value::Set(items) => {
            Object::List(items.iter().copied().map(make).collect::<Result<_>>()?)
        }
        Value::Dict(entries) => Object::Dict(pairs(entries, make)?),
        Value::Global { module, name } => Object::Class {
            module_name: (*module).to_string(),
            class_name: (*name).to_string(),
        },
        // A dictionary of a class such as OrderedDict.
        Value::Call { entries, .. } if !entries.is_empty() => Object::Dict(pairs(entries, make)?),
        Value::Call { callable, args, .. } => Object::Reduce {
            callable: Box::new(make(*callable)?),
            args: Box::new(make(*args)?),
        },
        Value::Persistent(id) => Object::PersistentLoad(Box::new(make(*id)?)),
        Value::BigInt(_) | Value::Bytes(_) => {
            return Err(Error::msg(
                "pickle: bytes and integers of more than 64 bits",
            ));
        }
    })
}

fn pairs(
    entries: &[(Id, Id)],
    mut make: impl FnMut(Id) -> Result<Object>,
) -> Result<Vec<(Object, Object)>> {
    let pair = |&(key, value): &(Id, Id)| Ok((make(key)?, make(value)?));
    entries.iter().map(pair).collect()
}

macro_rules! codes {
    ($($name:ident = $byte:literal,)*) => {
        /// A code of the pickle machine, of those that candle knows.
        #[repr(u8)]
        #[derive(Debug, Eq, PartialEq, Clone)]
        #[allow(missing_docs)] // named as in Python's pickletools
        pub enum OpCode {
            $($name = $byte,)*
        }

        impl TryFrom<u8> for OpCode {
            type Error = u8;
            fn try_from(byte: u8) -> std::result::Result<Self, u8> {
                match byte {
                    $($byte => Ok(Self::$name),)*
                    other => Err(other),
                }
            }
        }
    };
}

codes! {
    Proto = 0x80,
    Global = b'c',
    BinPut = b'q',
    LongBinPut = b'r',
    EmptyTuple = b')',
    Reduce = b'R',
    Mark = b'(',
    BinUnicode = b'X',
    BinInt = b'J',
    Tuple = b't',
    BinPersId = b'Q',
    BinInt1 = b'K',
    BinInt2 = b'M',
    Tuple1 = 0x85,
    Tuple2 = 0x86,
    Tuple3 = 0x87,
    NewTrue = 0x88,
    NewFalse = 0x89,
    None = b'N',
    BinGet = b'h',
    LongBinGet = b'j',
    SetItem = b's',
    SetItems = b'u',
    EmptyDict = b'}',
    Dict = b'd',
    Build = b'b',
    Stop = b'.',
    NewObj = 0x81,
    EmptyList = b']',
    BinFloat = b'G',
    Append = b'a',
    Appends = b'e',
    Long1 = 0x8a,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pickle_becomes_objects() -> Result<()> {
        let mut stack = Stack::empty();
        stack.read_loop(
            &mut b"\x80\x02}(X\x01\x00\x00\x00aK\x07X\x01\x00\x00\x00b(K\x01K\x02tu.".as_slice(),
        )?;
        let entries = stack.finalize()?.dict()?;
        assert_eq!(
            entries[0],
            (Object::Unicode("a".to_string()), Object::Int(7))
        );
        assert_eq!(Vec::<usize>::try_from(entries[1].1.clone())?, [1, 2]);
        assert_eq!(OpCode::try_from(b'u'), Ok(OpCode::SetItems));
        Ok(())
    }

    #[test]
    fn a_pickle_that_swells_or_nests_is_an_error() {
        // Each tuple holds the one before twice.
        let doubling: Vec<u8> = [&b"N"[..], &b"2\x86".repeat(60), b"."].concat();
        assert!(Stack::empty().read(&mut doubling.as_slice()).is_err());
        let deep: Vec<u8> = [&b"N"[..], &b"\x85".repeat(10_000), b"."].concat();
        assert!(Stack::empty().read(&mut deep.as_slice()).is_err());
        assert!(Stack::empty().finalize().is_err());
    }
}
