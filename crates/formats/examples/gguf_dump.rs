//! Prints what a GGUF file says of itself: its keys, and its tensors with type, shape and place.
//!
//! `cargo run -p tallow-formats --example gguf_dump -- MODEL.gguf`

use std::error::Error;
use std::io::{self, BufWriter, Write};

use tallow_formats::gguf;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os()
        .nth(1)
        .ok_or("usage: gguf_dump MODEL.gguf")?;
    let file = gguf::File::open(path)?;
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(
        out,
        "version {}, alignment {}",
        file.version(),
        file.alignment()
    )?;
    for (key, value) in file.metadata().iter() {
        writeln!(out, "{key} = {} {value}", value.type_name())?;
    }
    for tensor in file.tensors() {
        match tensor {
            Ok(info) => writeln!(
                out,
                "{:#012x} {:>12} bytes  {:<6} {:?} {}",
                info.byte_offset,
                info.byte_len,
                info.type_name(),
                info.shape,
                info.name
            )?,
            Err(error) => writeln!(out, "{error}")?,
        }
    }
    out.flush()?;
    Ok(())
}
