//! Standard output as something that can fail, and lines on standard error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use crate::error::{Error, Result};

/// Writes a line to standard output.
pub(crate) fn line(text: impl Display) -> Result<()> {
    writeln!(io::stdout().lock(), "{text}").map_err(Error::Output)
}

/// Writes a piece of text to standard output at once.
pub(crate) fn piece(text: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(Error::Output)
}

/// Writes a line to standard error; there is nobody to tell if that fails.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes the beginning of a line to standard error.
pub(crate) fn prompt(text: &str) {
    let mut error = io::stderr().lock();
    let _ = error
        .write_all(text.as_bytes())
        .and_then(|()| error.flush());
}

/// Whether somebody watches standard error.
pub(crate) fn has_watcher() -> bool {
    io::stderr().is_terminal()
}

/// Cells in columns, padded to the widest; the first `left` columns start at the left, the others
/// end at the right.
pub(crate) fn table(rows: &[Vec<String>], left: usize) -> Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let padded = cells.map(|(column, (cell, &width))| match column < left {
            true => format!("{cell:<width$}"),
            false => format!("{cell:>width$}"),
        });
        line(padded.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// A number of bytes as people read it: `98.4 MB`.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let (mut value, mut unit) = (count as f64 / 1e3, 0);
    while value >= 999.95 && unit + 1 < units.len() {
        (value, unit) = (value / 1e3, unit + 1);
    }
    format!("{value:.1} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_have_the_unit_that_leaves_few_digits() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (98_362_432, "98.4 MB"),
        ];
        for (count, text) in cases {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(bytes(999_960_000), "1.0 GB");
        assert_eq!(bytes(u64::MAX), "18446744.1 TB");
    }
}
