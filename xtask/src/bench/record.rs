//! The record: one file a machine and day under `bench/record`, one line a comparison.
//!
//! A line holds what was compared, both medians in microseconds, the median of the pairs' ratios
//! (theirs divided by ours: above 1, ours is faster) with its interval, and the commit and the
//! command that made it. Lines are only ever added.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use super::statistics::Median;
use crate::command::{root, tool};

/// The names of the columns.
const HEADER: &str =
    "rival,threads,name,ours_us,theirs_us,ratio,ratio_low,ratio_high,pairs,commit,command";

/// One comparison of ours with theirs.
pub(super) struct Line {
    /// The rival's name.
    pub(super) rival: String,
    /// How many threads both used.
    pub(super) threads: usize,
    /// What was measured.
    pub(super) name: String,
    /// The median of our times, in microseconds.
    pub(super) ours_us: f64,
    /// The median of their times, in microseconds.
    pub(super) theirs_us: f64,
    /// The median of the pairs' ratios, theirs divided by ours.
    pub(super) ratio: Median,
    /// How many pairs there were.
    pub(super) pairs: usize,
}

impl Line {
    fn text(&self, commit: &str, command: &str) -> String {
        let Median { value, low, high } = self.ratio;
        format!(
            "{},{},{},{:.2},{:.2},{value:.3},{low:.3},{high:.3},{},{commit},\"{command}\"",
            self.rival, self.threads, self.name, self.ours_us, self.theirs_us, self.pairs
        )
    }
}

/// Adds the lines to the record of this machine and day, and gives the file's path.
pub(super) fn append(lines: &[Line], command: &str) -> Result<PathBuf, String> {
    let date = tool("date", "-u +%Y-%m-%d").output()?;
    let commit = tool("git", "rev-parse --short HEAD").output()?;
    let folder = root().join("bench/record").join(machine());
    let path = folder.join(format!("{}.csv", date.trim()));
    let failed = |error| format!("{} could not be written: {error}", path.display());
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut text = String::new();
    if !path.exists() {
        text = format!("{HEADER}\n");
    }
    for line in lines {
        text.push_str(&line.text(commit.trim(), command));
        text.push('\n');
    }
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(failed)?;
    Ok(path)
}

/// A name for this kind of machine: its processor and how many threads it runs.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then(|| value.trim().to_owned())
    });
    let model = model.unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    folder_name(&format!("{model} {cores} threads"))
}

/// Lower-case letters, digits and single hyphens.
fn folder_name(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let words = lower.split(|character: char| !character.is_ascii_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::{HEADER, Line, Median, folder_name};

    #[test]
    fn folder_names_have_only_letters_digits_and_hyphens() {
        let name = folder_name("Intel(R) Xeon(R) CPU @ 2.00GHz 2 threads");
        assert_eq!(name, "intel-r-xeon-r-cpu-2-00ghz-2-threads");
    }

    #[test]
    fn a_line_has_a_value_for_each_column() {
        let line = Line {
            rival: "candle".to_owned(),
            threads: 2,
            name: "exp_4M".to_owned(),
            ours_us: 663.71,
            theirs_us: 4260.5,
            ratio: Median {
                value: 6.419_2,
                low: 6.2,
                high: 6.6,
            },
            pairs: 7,
        };
        let text = line.text("abc1234", "cargo xtask bench rivals");
        let expected = "candle,2,exp_4M,663.71,4260.50,6.419,6.200,6.600,7,abc1234,\
                        \"cargo xtask bench rivals\"";
        assert_eq!(text, expected);
        assert_eq!(text.split(',').count(), HEADER.split(',').count());
    }
}
