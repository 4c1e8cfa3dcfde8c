//! Pickles, Python's serialised objects, read as data: no code of a file ever runs.
//!
//! A pickle is a program for a stack machine that builds objects. [`Pickle::read`] runs the
//! machine, but where Python would import a name or call it, here stands a value that says so:
//! [`Value::Global`], [`Value::Call`]. Whoever reads the result picks out the calls that it knows.
//!
//! Values live in one list and refer to each other by position, so a value that is used twice
//! exists once, cycles are harmless, and nothing is dropped recursively. Each value and each
//! reference takes at least a byte of the pickle, which bounds memory by a multiple of its length.
//!
//! Protocols 0 to 5 are read, without extension codes and out-of-band buffers. Format: the
//! comments of Python's `pickletools` module. Read next: `machine.rs`.

mod cursor;
mod machine;

use crate::error::{Error, Result};

/// Refers to a value of one [`Pickle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u32);

/// A value, as the pickle has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `None`.
    None,
    /// A boolean.
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer: two's complement, lowest byte first; or decimal digits in protocol 0.
    BigInt(&'a [u8]),
    /// A float.
    Float(f64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A tuple.
    Tuple(Vec<Id>),
    /// A list.
    List(Vec<Id>),
    /// A set or a frozen set.
    Set(Vec<Id>),
    /// A dictionary, its entries in the order in which they were put in.
    Dict(Vec<(Id, Id)>),
    /// Something to import: a class or a function.
    Global {
        /// The module: a text.
        module: &'a str,
        /// The name in the module.
        name: &'a str,
    },
    /// A call that Python would make, and what was put into its result.
    Call {
        /// What would be called.
        callable: Id,
        /// The arguments: a tuple.
        args: Id,
        /// Entries that were set on the result.
        entries: Vec<(Id, Id)>,
        /// Items that were appended to the result.
        items: Vec<Id>,
    },
    /// A reference to something outside the pickle.
    Persistent(Id),
}

/// The values of a pickle.
#[derive(Debug, Clone)]
pub struct Pickle<'a> {
    values: Vec<Value<'a>>,
    root: Id,
}

impl<'a> Pickle<'a> {
    /// Reads the pickle at the beginning of `bytes`; what follows it is left alone.
    ///
    /// ```
    /// use tallow_formats::pickle::{Pickle, Value};
    /// let pickle = Pickle::read(b"\x80\x02}X\x01\x00\x00\x00aK\x07s.")?;
    /// let Value::Dict(entries) = pickle.value(pickle.root()) else { panic!() };
    /// assert_eq!(pickle.value(entries[0].0), &Value::Text("a"));
    /// assert_eq!(pickle.value(entries[0].1), &Value::Int(7));
    /// # Ok::<(), tallow_formats::Error>(())
    /// ```
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        let (values, root) = machine::run(bytes)?;
        Ok(Pickle { values, root })
    }

    /// The value that the pickle is of.
    pub fn root(&self) -> Id {
        self.root
    }

    /// The value with this id, which must be of this pickle.
    pub fn value(&self, id: Id) -> &Value<'a> {
        &self.values[id.0 as usize]
    }

    /// The entries of a dictionary, be it a `dict` or the result of a call such as `OrderedDict`.
    pub fn entries(&self, id: Id) -> Option<&[(Id, Id)]> {
        match self.value(id) {
            Value::Dict(entries) => Some(entries),
            Value::Call {
                entries, callable, ..
            } if matches!(self.value(*callable), Value::Global { name, .. }
                if name.ends_with("Dict") || name.ends_with("dict")) =>
            {
                Some(entries)
            }
            _ => None,
        }
    }

    /// The text of a value, if it is one.
    pub fn text(&self, id: Id) -> Option<&'a str> {
        match self.value(id) {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The integer of a value, if it is one.
    pub fn int(&self, id: Id) -> Option<i64> {
        match self.value(id) {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The items of a tuple or a list.
    pub fn items(&self, id: Id) -> Option<&[Id]> {
        match self.value(id) {
            Value::Tuple(items) | Value::List(items) => Some(items),
            _ => None,
        }
    }

    /// The module and name of something to import.
    pub fn global(&self, id: Id) -> Option<(&'a str, &'a str)> {
        match self.value(id) {
            Value::Global { module, name } => Some((module, name)),
            _ => None,
        }
    }
}

fn malformed(problem: String) -> Error {
    Error::Malformed {
        format: "pickle",
        problem,
    }
}
