//! `tallow bench ops`: every operation of the list that the rivals' programs measure as well.

use super::operations::{ALL, Operation};
use super::timing;
use crate::error::{Error, Result};
use crate::output;

/// Measure the operations, in microseconds.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tallow bench ops --only add_4M --only exp_4M --threads 2")]
pub(super) struct Arguments {
    /// Only this operation; as often as wanted.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Samples to take the median of.
    #[arg(long, value_name = "N", default_value_t = 9)]
    samples: usize,
    /// Lines of name, tab, microseconds, for programs.
    #[arg(long)]
    tsv: bool,
}

impl Arguments {
    pub(super) fn run(&self) -> Result<()> {
        let all: Vec<Operation> = ALL.iter().flat_map(|family| family()).collect();
        if let Some(unknown) = self
            .only
            .iter()
            .find(|only| all.iter().all(|operation| operation.name != **only))
            // A list of names may hold some that only other programs have.
            .filter(|_| self.only.len() == 1)
        {
            return Err(Error::Text(format!(
                "bench ops: no operation {unknown:?}; `tallow bench ops --help` tells where the \
                 names are"
            )));
        }
        for operation in all {
            if self.only.is_empty() || self.only.contains(&operation.name) {
                self.measure(&operation)?;
            }
        }
        Ok(())
    }

    fn measure(&self, operation: &Operation) -> Result<()> {
        let name = &operation.name;
        let prepared = (operation.prepare)();
        let samples =
            prepared.and_then(|work| timing::calls(self.samples, || Ok(work()?)));
        match samples {
            Err(error) => output::line(format!("# {name}: {}", error.one_line())),
            Ok(samples) if self.tsv => output::line(format!("{name}\t{:.3}", samples.median())),
            Ok(samples) => output::line(format!(
                "{name:<36}{:>12.1} µs  ({:.1} to {:.1})",
                samples.median(),
                samples.least(),
                samples.most()
            )),
        }
    }
}
