//! The stack machine of pickles.
//!
//! A stack of values, marks in it, and a memo: values by number. Codes are named as in Python's
//! `pickletools`.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::{Id, Value, malformed};
use crate::error::{Error, Result};

/// Runs the pickle at the beginning of `bytes`: all values, and the one that it is of.
pub(super) fn run(bytes: &[u8]) -> Result<(Vec<Value<'_>>, Id)> {
    let mut machine = Machine {
        cursor: Cursor::new(bytes),
        code_at: 0,
        values: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
    };
    loop {
        machine.code_at = machine.cursor.at();
        let code = machine.cursor.u8()?;
        if code == b'.' {
            let root = machine.pop()?;
            return Ok((machine.values, root));
        }
        let known = machine.simple(code)?
            || machine.text(code)?
            || machine.container(code)?
            || machine.object(code)?
            || machine.memo(code)?;
        if !known {
            let shown = [code].escape_ascii().to_string();
            return Err(machine.problem(&format!("code \"{shown}\" is not supported")));
        }
    }
}

struct Machine<'a> {
    cursor: Cursor<'a>,
    /// Where the code that runs stands.
    code_at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// Heights of the stack.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<'a> Machine<'a> {
    /// None, booleans, numbers, and what moves the stack.
    fn simple(&mut self, code: u8) -> Result<bool> {
        let value = match code {
            // PROTO, FRAME
            0x80 => return self.cursor.u8().map(|_| true),
            0x95 => return self.cursor.u64().map(|_| true),
            b'(' => {
                self.marks.push(self.stack.len());
                return Ok(true);
            }
            b'0' => return self.pop().map(|_| true),
            b'1' => return self.pop_mark().map(|_| true),
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
                return Ok(true);
            }
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            b'I' => self.int_line()?,
            b'J' => Value::Int(i32::from_le_bytes(self.cursor.array()?).into()),
            b'K' => Value::Int(self.cursor.u8()?.into()),
            b'M' => Value::Int(u16::from_le_bytes(self.cursor.array()?).into()),
            b'L' => self.int_line()?,
            0x8a => {
                let len = self.cursor.u8()?;
                long(self.cursor.take(len.into())?)
            }
            0x8b => {
                let len = self.cursor.u32()?;
                long(self.cursor.take(len.into())?)
            }
            b'F' => Value::Float(self.cursor.number()?),
            b'G' => Value::Float(f64::from_be_bytes(self.cursor.array()?)),
            _ => return Ok(false),
        };
        self.push(value)
    }

    /// The operand of INT and LONG.
    fn int_line(&mut self) -> Result<Value<'a>> {
        let line = self.cursor.line()?.trim();
        let digits = line.strip_suffix('L').unwrap_or(line);
        match (line, digits.parse()) {
            ("00", _) => Ok(Value::Bool(false)),
            ("01", _) => Ok(Value::Bool(true)),
            (_, Ok(value)) => Ok(Value::Int(value)),
            _ if digits
                .trim_start_matches('-')
                .bytes()
                .all(|byte| byte.is_ascii_digit()) =>
            {
                Ok(Value::BigInt(digits.as_bytes()))
            }
            _ => Err(self.problem("the line is no integer")),
        }
    }

    /// Texts and bytes.
    fn text(&mut self, code: u8) -> Result<bool> {
        let value = match code {
            b'S' => {
                let line = self.cursor.line()?.trim();
                let quoted = |quote| line.strip_prefix(quote)?.strip_suffix(quote);
                Value::Text(quoted('\'').or(quoted('"')).unwrap_or(line))
            }
            b'V' => Value::Text(self.cursor.line()?),
            b'X' => {
                let len = self.cursor.u32()?;
                Value::Text(self.cursor.text(len.into())?)
            }
            0x8c => {
                let len = self.cursor.u8()?;
                Value::Text(self.cursor.text(len.into())?)
            }
            0x8d => {
                let len = self.cursor.u64()?;
                Value::Text(self.cursor.text(len)?)
            }
            // BINSTRING and SHORT_BINSTRING: the bytes of Python 2, mostly text.
            b'T' | b'U' => {
                let len = match code {
                    b'T' => self.cursor.u32()?,
                    _ => self.cursor.u8()?.into(),
                };
                let bytes = self.cursor.take(len.into())?;
                std::str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text)
            }
            b'C' => {
                let len = self.cursor.u8()?;
                Value::Bytes(self.cursor.take(len.into())?)
            }
            b'B' => {
                let len = self.cursor.u32()?;
                Value::Bytes(self.cursor.take(len.into())?)
            }
            0x8e | 0x96 => {
                let len = self.cursor.u64()?;
                Value::Bytes(self.cursor.take(len)?)
            }
            _ => return Ok(false),
        };
        self.push(value)
    }

    /// Tuples, lists, sets and dictionaries.
    fn container(&mut self, code: u8) -> Result<bool> {
        let value = match code {
            b')' => Value::Tuple(Vec::new()),
            b't' => Value::Tuple(self.pop_mark()?),
            0x85..=0x87 => {
                let len = usize::from(code - 0x84);
                Value::Tuple(self.pop_last(len)?)
            }
            b']' => Value::List(Vec::new()),
            b'l' => Value::List(self.pop_mark()?),
            0x8f => Value::Set(Vec::new()),
            0x91 => Value::Set(self.pop_mark()?),
            b'}' => Value::Dict(Vec::new()),
            b'd' => {
                let items = self.pop_mark()?;
                Value::Dict(self.pairs(&items)?)
            }
            b'a' => {
                let item = self.pop()?;
                return self.append(&[item]);
            }
            b'e' | 0x90 => {
                let items = self.pop_mark()?;
                return self.append(&items);
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                return self.set(&[key, value]);
            }
            b'u' => {
                let items = self.pop_mark()?;
                return self.set(&items);
            }
            _ => return Ok(false),
        };
        self.push(value)
    }

    /// Imports, calls, and what lies outside.
    fn object(&mut self, code: u8) -> Result<bool> {
        let value = match code {
            b'c' => {
                let module = self.cursor.line()?;
                Value::Global {
                    module,
                    name: self.cursor.line()?,
                }
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                match (
                    &self.values[module.0 as usize],
                    &self.values[name.0 as usize],
                ) {
                    (Value::Text(module), Value::Text(name)) => Value::Global { module, name },
                    _ => return Err(self.problem("the name to import is no text")),
                }
            }
            // REDUCE and NEWOBJ
            b'R' | 0x81 => {
                let args = self.pop()?;
                call(self.pop()?, args)
            }
            0x92 => {
                let (_keywords, args) = (self.pop()?, self.pop()?);
                call(self.pop()?, args)
            }
            b'i' => {
                let module = self.cursor.line()?;
                let name = self.cursor.line()?;
                let args = self.pop_mark()?;
                let callable = self.make(Value::Global { module, name })?;
                let args = self.make(Value::Tuple(args))?;
                call(callable, args)
            }
            b'o' => {
                let mut args = self.pop_mark()?;
                if args.is_empty() {
                    return Err(self.problem("nothing to call"));
                }
                let callable = args.remove(0);
                call(callable, self.make(Value::Tuple(args))?)
            }
            // BUILD: the state of an object of unknown class tells nothing.
            b'b' => return self.pop().map(|_| true),
            b'P' => {
                let line = self.cursor.line()?;
                Value::Persistent(self.make(Value::Text(line))?)
            }
            b'Q' => Value::Persistent(self.pop()?),
            _ => return Ok(false),
        };
        self.push(value)
    }

    /// The memo.
    fn memo(&mut self, code: u8) -> Result<bool> {
        let (position, put) = match code {
            b'g' => (self.cursor.number()?, false),
            b'h' => (self.cursor.u8()?.into(), false),
            b'j' => (self.cursor.u32()?, false),
            b'p' => (self.cursor.number()?, true),
            b'q' => (self.cursor.u8()?.into(), true),
            b'r' => (self.cursor.u32()?, true),
            0x94 => (self.memo.len() as u32, true),
            _ => return Ok(false),
        };
        if put {
            let top = self.top()?;
            self.memo.insert(position, top);
        } else {
            match self.memo.get(&position) {
                Some(&id) => self.stack.push(id),
                None => return Err(self.problem(&format!("nothing is kept as {position}"))),
            }
        }
        Ok(true)
    }

    fn append(&mut self, added: &[Id]) -> Result<bool> {
        let top = self.top()?;
        match &mut self.values[top.0 as usize] {
            Value::List(items) | Value::Set(items) | Value::Call { items, .. } => {
                items.extend(added);
                Ok(true)
            }
            _ => Err(self.problem("appends to what is no list")),
        }
    }

    fn set(&mut self, items: &[Id]) -> Result<bool> {
        let added = self.pairs(items)?;
        let top = self.top()?;
        match &mut self.values[top.0 as usize] {
            Value::Dict(entries) | Value::Call { entries, .. } => {
                entries.extend(added);
                Ok(true)
            }
            _ => Err(self.problem("sets an entry of what is no dictionary")),
        }
    }

    fn pairs(&self, items: &[Id]) -> Result<Vec<(Id, Id)>> {
        let (pairs, rest) = items.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.problem("a key has no value"));
        }
        Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
    }

    fn make(&mut self, value: Value<'a>) -> Result<Id> {
        let id = u32::try_from(self.values.len())
            .map_err(|_| self.problem("there are more than 2^32 values"))?;
        self.values.push(value);
        Ok(Id(id))
    }

    fn push(&mut self, value: Value<'a>) -> Result<bool> {
        let id = self.make(value)?;
        self.stack.push(id);
        Ok(true)
    }

    /// The values above the last mark. Nothing below it is taken before the mark is, so that a
    /// mark is never higher than the stack.
    fn open(&self) -> &[Id] {
        &self.stack[self.marks.last().copied().unwrap_or(0)..]
    }

    /// The value on top, above the last mark.
    fn top(&self) -> Result<Id> {
        let top = self.open().last().copied();
        top.ok_or_else(|| self.problem("the stack is empty"))
    }

    /// The last `len` values, all above the last mark.
    fn pop_last(&mut self, len: usize) -> Result<Vec<Id>> {
        if len > self.open().len() {
            return Err(self.problem("the stack is empty"));
        }
        Ok(self.stack.split_off(self.stack.len() - len))
    }

    fn pop(&mut self) -> Result<Id> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// All values above the last mark, which goes too.
    fn pop_mark(&mut self) -> Result<Vec<Id>> {
        match self.marks.pop() {
            Some(height) => Ok(self.stack.split_off(height)),
            None => Err(self.problem("there is no mark")),
        }
    }

    fn problem(&self, problem: &str) -> Error {
        malformed(format!("at byte {:#x}: {problem}", self.code_at))
    }
}

fn call<'a>(callable: Id, args: Id) -> Value<'a> {
    Value::Call {
        callable,
        args,
        entries: Vec::new(),
        items: Vec::new(),
    }
}

/// An integer in two's complement, lowest byte first.
fn long(bytes: &[u8]) -> Value<'_> {
    let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
    let sign = if negative { 0xff } else { 0 };
    let mut wide = [sign; 8];
    match wide.get_mut(..bytes.len()) {
        Some(low) => {
            low.copy_from_slice(bytes);
            Value::Int(i64::from_le_bytes(wide))
        }
        None => Value::BigInt(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Pickle, Value};

    fn root(bytes: &[u8]) -> Value<'_> {
        let pickle = Pickle::read(bytes).unwrap();
        pickle.value(pickle.root()).clone()
    }

    #[test]
    fn numbers_of_every_protocol() {
        assert_eq!(root(b"I42\n."), Value::Int(42));
        assert_eq!(root(b"I01\n."), Value::Bool(true));
        assert_eq!(root(b"L-7L\n."), Value::Int(-7));
        assert_eq!(root(b"F1.5\n."), Value::Float(1.5));
        assert_eq!(root(b"\x80\x02J\xff\xff\xff\xff."), Value::Int(-1));
        assert_eq!(root(b"\x80\x02\x8a\x01\xfe."), Value::Int(-2));
        assert_eq!(root(b"\x8a\x00."), Value::Int(0));
        assert_eq!(
            root(b"\x8a\x09\0\0\0\0\0\0\0\0\x01."),
            Value::BigInt(b"\0\0\0\0\0\0\0\0\x01")
        );
        assert_eq!(root(b"G\x3f\xf8\0\0\0\0\0\0."), Value::Float(1.5));
        assert_eq!(
            root(b"\x80\x04\x95\0\0\0\0\0\0\0\0\x8c\x02hi\x94."),
            Value::Text("hi")
        );
    }

    #[test]
    fn a_container_that_is_filled_later_is_one_value() {
        // l = [1]; (l, l), the second by memo before the item was appended
        let pickle = Pickle::read(b"(]q\x00h\x00K\x01at.").unwrap();
        let items = pickle.items(pickle.root()).unwrap();
        assert_eq!(items[0], items[1]);
        assert_eq!(pickle.items(items[0]).unwrap().len(), 1);
    }

    #[test]
    fn a_list_in_itself_is_harmless() {
        let pickle = Pickle::read(b"]q\x00h\x00a.").unwrap();
        assert_eq!(pickle.items(pickle.root()).unwrap(), [pickle.root()]);
    }

    #[test]
    fn calls_are_data() {
        let pickle = Pickle::read(b"cos\nsystem\n(S'rm'\ntR.").unwrap();
        let Value::Call { callable, args, .. } = pickle.value(pickle.root()) else {
            panic!("no call");
        };
        assert_eq!(pickle.global(*callable), Some(("os", "system")));
        assert_eq!(pickle.text(pickle.items(*args).unwrap()[0]), Some("rm"));
    }

    #[test]
    fn junk_is_an_error() {
        for bytes in [
            &b""[..],
            b".",
            b"K",
            b"X\xff\xff\xff\xffa.",
            b"\x85.",
            b"t.",
            b"h\x07.",
            b"N}a.",
            b"(N0.",
            b"N(\x85t.",
            b"NN(N\x86t.",
            b"NNN(\x87\x85t.",
            b"NNs.",
            b"(Nd.",
            b"I1x\n.",
            b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
            b"NN\x93.",
            b"\x82\x01.",
            b"(o.",
            b"X\x01\x00\x00\x00\xff.",
            b"cos\n",
        ] {
            let error = Pickle::read(bytes).expect_err(&bytes.escape_ascii().to_string());
            assert!(error.to_string().starts_with("pickle: "), "{error}");
        }
    }
}
