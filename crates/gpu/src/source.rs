//! Kernel texts: what a kernel takes is read off its text, so that no launch can say otherwise.
//!
//! A kernel is C99 with a few macros (`device_lib/README.md`):
//!
//! ```text
//! KERNEL(scale, 256)(IN(f32, x), OUT(f32, y), PARAMS(ScaleParams))
//! ```
//!
//! `IN` is constant memory to the compiler, so a kernel that writes to what it says it reads does
//! not compile; `OUT` is written in full over the range that the launch names; `INOUT` is both.
//! The text with one set of defines is a [`Variant`], and each is compiled by itself.

use crate::command::Access;
use crate::{GpuError, Params, Result};
use smallvec::SmallVec;
use std::fmt::Write as _;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The text of a kernel.
pub struct KernelSource {
    name: &'static str,
    text: &'static str,
    headers: &'static [&'static str],
    params: Option<fn() -> (String, usize)>,
    group: u32,
    signature: OnceLock<Result<Signature>>,
    /// What `params` gave: every launch asks for the size.
    declared: OnceLock<(String, usize)>,
}

/// What a kernel takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Its buffers, by name.
    pub buffers: Vec<(String, Access)>,
    /// It takes the device's error word.
    pub errors: bool,
    /// It takes a parameter struct.
    pub params: bool,
    /// It waits for its inputs itself, so that its start may overlap its forerunner's end.
    pub overlaps_start: bool,
}

/// The parameter struct's text and size, for [`KernelSource::new`].
pub fn params_text<P: Params>() -> (String, usize) {
    (P::text(), size_of::<P>())
}

impl KernelSource {
    /// A kernel: its function's name, its text, headers to put before it, its parameter struct (by
    /// [`params_text`]), and the threads in a group (the define `WG`).
    pub const fn new(
        name: &'static str,
        text: &'static str,
        headers: &'static [&'static str],
        params: Option<fn() -> (String, usize)>,
        group: u32,
    ) -> Self {
        Self {
            name,
            text,
            headers,
            params,
            group,
            signature: OnceLock::new(),
            declared: OnceLock::new(),
        }
    }

    /// A kernel from a text that is made at run time. The same name and text give the same source;
    /// it is kept until the process ends.
    pub fn interned(name: &str, text: &str, group: u32) -> &'static Self {
        static ALL: Mutex<Vec<&'static KernelSource>> = Mutex::new(Vec::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all
            .iter()
            .find(|source| source.name == name && source.text == text && source.group == group);
        if let Some(source) = known {
            return source;
        }
        let (name, text) = (String::leak(name.into()), String::leak(text.into()));
        let source = Box::leak(Box::new(Self::new(name, text, &[], None, group)));
        all.push(source);
        source
    }

    /// The function's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Threads in a group.
    pub fn group(&self) -> u32 {
        self.group
    }

    /// The size of its parameter struct, if Rust knows it.
    pub fn params_bytes(&self) -> Option<usize> {
        self.declared().map(|(_, bytes)| *bytes)
    }

    fn declared(&self) -> Option<&(String, usize)> {
        self.params.map(|params| self.declared.get_or_init(params))
    }

    /// What it takes.
    pub fn signature(&self) -> Result<&Signature> {
        self.signature
            .get_or_init(|| Signature::parse(self.name, self.text))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The text that one set of defines makes, without the device's prelude.
    pub fn expand(&self, variant: &Variant) -> String {
        let mut text = String::new();
        for (name, value) in &variant.defines {
            // A `String` takes all that is written to it.
            let _ = match value {
                Define::Word(word) => writeln!(text, "#define {name} {word}"),
                Define::Number(number) => writeln!(text, "#define {name} {number}"),
            };
        }
        let _ = writeln!(text, "#define WG {}", self.group);
        text
    }

    /// Parameter struct, headers and kernel.
    pub fn body(&self) -> String {
        let mut text = self
            .declared()
            .map_or(String::new(), |(text, _)| text.clone());
        self.headers.iter().for_each(|header| text += header);
        text + self.text
    }
}

impl std::fmt::Debug for KernelSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KernelSource {:?}", self.name)
    }
}

impl Signature {
    fn parse(name: &str, text: &str) -> Result<Self> {
        let wrong = |what: String| GpuError::Launch {
            kernel: name.into(),
            what,
        };
        let text = without_comments(text);
        let start = format!("KERNEL({name},");
        let Some(at) = text.find(&start) else {
            return Err(wrong(format!("its text has no `{start} …)(…)`")));
        };
        let rest = &text[at + start.len()..];
        let arguments = rest
            .find(")(")
            .and_then(|open| enclosed(&rest[open + 1..]))
            .ok_or_else(|| wrong("its list of arguments has no end".into()))?;
        let mut signature = Self {
            buffers: Vec::new(),
            errors: false,
            params: false,
            overlaps_start: text.contains("AFTER_INPUTS"),
        };
        for argument in split(arguments) {
            let (word, inside) = argument.split_once('(').unwrap_or((argument, ""));
            let access = match word.trim() {
                "IN" => Access::Read,
                "OUT" => Access::Write,
                "INOUT" => Access::ReadWrite,
                "ERRORS" if !signature.params => {
                    signature.errors = true;
                    continue;
                }
                "PARAMS" if !signature.params => {
                    signature.params = true;
                    continue;
                }
                other => return Err(wrong(format!("{other:?} is no kind of argument"))),
            };
            if signature.params || signature.errors {
                return Err(wrong("buffers come first, then ERRORS, then PARAMS".into()));
            }
            let Some((_, name)) = inside.trim_end_matches([')', ' ']).rsplit_once(',') else {
                return Err(wrong(format!("{argument:?} has no type and name")));
            };
            signature.buffers.push((name.trim().into(), access));
        }
        Ok(signature)
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out += &rest[..at];
        rest = rest[at..]
            .find("*/")
            .map_or("", |end| &rest[at + end + 2..]);
    }
    out + rest
}

/// What stands between the first parenthesis and its partner.
fn enclosed(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(&text[1..at]),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The parts between the commas that no parenthesis encloses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The value of a define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Define {
    /// A word of the kernel language, such as a dtype's name.
    Word(&'static str),
    /// A number.
    Number(u32),
}

impl From<&'static str> for Define {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl From<u32> for Define {
    fn from(number: u32) -> Self {
        Self::Number(number)
    }
}

/// A kernel text with its defines: what is compiled as one.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The text.
    pub source: &'static KernelSource,
    /// The defines, in an order that the caller keeps to.
    pub defines: SmallVec<[(&'static str, Define); 6]>,
}

impl Variant {
    /// The text without defines.
    pub fn new(source: &'static KernelSource) -> Self {
        let defines = SmallVec::new();
        Self { source, defines }
    }

    /// The same with one more define.
    // Inlined, a chain of these moves nothing: each op makes one.
    #[must_use]
    #[inline]
    pub fn define(mut self, name: &'static str, value: impl Into<Define>) -> Self {
        self.defines.push((name, value.into()));
        self
    }
}

impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.source, other.source) && self.defines == other.defines
    }
}

impl Eq for Variant {}

// Every launch looks its kernel up: of a word the length and the ends tell most words apart, and
// what they do not, equality does.
impl Hash for Variant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let values = self.defines.iter().map(|(_, value)| match value {
            Define::Word(word) => {
                let at = |index: Option<usize>| {
                    index
                        .and_then(|index| word.as_bytes().get(index))
                        .map_or(0, |byte| u64::from(*byte))
                };
                let len = word.len();
                (len as u64) << 16 | at(Some(0)) << 8 | at(len.checked_sub(1))
            }
            Define::Number(number) => 1 << 32 | u64::from(*number),
        });
        let start = std::ptr::from_ref(self.source).addr() as u64;
        // 2^64 over the golden ratio.
        let mix = |hash: u64, value: u64| {
            (hash.rotate_left(9) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        state.write_u64(values.fold(start, mix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_read_off_the_text() {
        let text = "/* KERNEL(scale, 1)(nothing) */ FN float f(float x) { return x; }\n\
                    KERNEL(scale, WG)(IN(XT, x), OUT(ST(YT), y),\n  INOUT(u32, z), ERRORS, \
                    PARAMS(P))\n{ }";
        let signature = Signature::parse("scale", text).unwrap();
        let named = [
            ("x", Access::Read),
            ("y", Access::Write),
            ("z", Access::ReadWrite),
        ];
        assert_eq!(
            signature.buffers,
            named.map(|(name, access)| (name.to_string(), access))
        );
        assert!(signature.errors && signature.params && !signature.overlaps_start);
        for wrong in [
            "",
            "KERNEL(scale, 4)(IN(f32, x)",
            "KERNEL(scale, 4)(float x)",
            "KERNEL(scale, 4)(PARAMS(P), IN(f32, x))",
        ] {
            assert!(Signature::parse("scale", wrong).is_err(), "{wrong}");
        }
    }
}
