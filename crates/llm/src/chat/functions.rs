//! What Hugging Face's templates expect beside Jinja: Python's string and dictionary methods,
//! `raise_exception`, `strftime_now`, and a `tojson` that writes as Python's `json.dumps` does.

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Adds them all.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment.add_filter("tojson", to_json);
}

fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

/// The local date and time in a `strftime` format.
fn strftime_now(format: String) -> Result<String, Error> {
    jiff::fmt::strtime::format(&format, &jiff::Zoned::now()).map_err(|error| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("strftime_now: {error}"),
        )
    })
}

fn to_json(value: Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    // Accepted and of no effect: text is never escaped to ASCII, and keys keep their order.
    options.get::<Option<bool>>("ensure_ascii")?;
    options.get::<Option<bool>>("sort_keys")?;
    options.assert_all_used()?;
    let text = match indent {
        Some(count) => {
            let indent = " ".repeat(count.min(16));
            write_json(&value, PrettyFormatter::with_indent(indent.as_bytes()))
        }
        None => write_json(&value, PythonFormatter),
    };
    let text =
        text.map_err(|error| Error::new(ErrorKind::BadSerialization, format!("tojson: {error}")))?;
    Ok(Value::from_safe_string(text))
}

fn write_json(value: &Value, formatter: impl Formatter) -> Result<String, serde_json::Error> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// One line, with a space after each comma and colon.
struct PythonFormatter;

impl Formatter for PythonFormatter {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(b", ")
        }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
