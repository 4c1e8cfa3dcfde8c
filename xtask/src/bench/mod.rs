//! `cargo xtask bench rivals`: our programs and a rival's, run alternately and compared.
//!
//! Both write their measurements in one form (`lines.rs`). One run of ours and one of theirs are a
//! pair; a pair's ratio is free of what changes slowly on the machine, such as its clock or its
//! neighbours. From the ratios of all pairs come the median and its interval (`statistics.rs`),
//! which go into the record (`record.rs`).

mod lines;
mod record;
mod rivals;
mod statistics;

use clap::{Args, Subcommand};

use rivals::{Program, Suite};

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Compares with other libraries, pair by pair, and adds to the record.
    Rivals(Options),
}

/// What to compare.
#[derive(Args)]
pub(crate) struct Options {
    /// The rival; may be given more than once. Every one without it.
    #[arg(long, value_name = "NAME")]
    rival: Vec<String>,
    /// A measurement; may be given more than once. Every one without it.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Compares a language model from this GGUF file instead of single operations.
    #[arg(long, value_name = "FILE")]
    model: Option<String>,
    /// Threads of both programs.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// Pairs of runs.
    #[arg(long, default_value_t = PAIRS_MIN, value_parser = pairs)]
    pairs: usize,
}

/// The fewest pairs whose figures are worth a line of the record.
const PAIRS_MIN: usize = 7;

fn pairs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(pairs) if pairs >= PAIRS_MIN => Ok(pairs),
        _ => Err(format!("a whole number of at least {PAIRS_MIN}")),
    }
}

/// Runs the command.
pub(crate) fn run(bench: &Bench) -> Result<(), String> {
    let Bench::Rivals(options) = bench;
    let suite = match &options.model {
        Some(path) => Suite::Llm { path },
        None => Suite::Ops,
    };
    let chosen = rivals::chosen(&options.rival, &suite)?;
    let arguments = arguments(options);
    let ours = Program::ours(&suite, &arguments);
    ours.build()?;
    for rival in chosen {
        let theirs = Program::theirs(rival, &suite, &arguments);
        theirs.build()?;
        let lines = compare(rival.name, options, &ours, &theirs)?;
        let path = record::append(&lines, &command_line(rival.name, options))?;
        println!("added to {}", path.display());
    }
    Ok(())
}

/// The options that both programs understand.
fn arguments(options: &Options) -> Vec<String> {
    let mut arguments = vec!["--threads".to_owned(), options.threads.to_string()];
    for name in &options.only {
        arguments.extend(["--only".to_owned(), name.clone()]);
    }
    arguments
}

/// The command that makes one rival's lines again.
fn command_line(rival: &str, options: &Options) -> String {
    let mut line = format!("cargo xtask bench rivals --rival {rival}");
    for name in &options.only {
        line.push_str(&format!(" --only {name}"));
    }
    if let Some(path) = &options.model {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        line.push_str(&format!(" --model {name}"));
    }
    line.push_str(&format!(
        " --threads {} --pairs {}",
        options.threads, options.pairs
    ));
    line
}

/// Runs the pairs and compares every measurement that both programs made in each of them.
fn compare(
    rival: &str,
    options: &Options,
    ours: &Program,
    theirs: &Program,
) -> Result<Vec<record::Line>, String> {
    let mut runs = Vec::new();
    for pair in 0..options.pairs {
        println!("{rival}: pair {} of {}", pair + 1, options.pairs);
        // Who goes first changes from pair to pair, so that neither has the warmer machine.
        let ours_first = (pair % 2 == 0).then(|| ours.measure()).transpose()?;
        let their_run = theirs.measure()?;
        let our_run = ours_first.map_or_else(|| ours.measure(), Ok)?;
        runs.push((our_run, their_run));
    }
    let names = runs.first().map_or(&[][..], |(first, _)| first);
    let lines: Vec<_> = names
        .iter()
        .filter_map(|(name, _)| line(rival, options.threads, name, &runs))
        .collect();
    if lines.is_empty() {
        return Err(format!("{rival} and tallow have no measurement in common"));
    }
    for line in &lines {
        let statistics::Median { value, low, high } = line.ratio;
        println!(
            "{:<36} {:>12.2} µs {:>12.2} µs  × {value:.2} [{low:.2}, {high:.2}]",
            line.name, line.ours_us, line.theirs_us
        );
    }
    Ok(lines)
}

/// One program's measurements in one run.
type Run = Vec<(String, f64)>;

/// The comparison of one measurement; none where a run lacks it.
fn line(rival: &str, threads: usize, name: &str, runs: &[(Run, Run)]) -> Option<record::Line> {
    let find = |run: &Run| {
        run.iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| *value)
    };
    let pairs: Option<Vec<(f64, f64)>> = runs
        .iter()
        .map(|(ours, theirs)| Some((find(ours)?, find(theirs)?)))
        .collect();
    let pairs = pairs?;
    let ours: Vec<_> = pairs.iter().map(|(ours, _)| *ours).collect();
    let theirs: Vec<_> = pairs.iter().map(|(_, theirs)| *theirs).collect();
    let ratios: Vec<_> = pairs.iter().map(|(ours, theirs)| theirs / ours).collect();
    Some(record::Line {
        rival: rival.to_owned(),
        threads,
        name: name.to_owned(),
        ours_us: statistics::median(&ours)?.value,
        theirs_us: statistics::median(&theirs)?.value,
        ratio: statistics::median(&ratios)?,
        pairs: pairs.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::{PAIRS_MIN, line, pairs};

    fn run(measurements: &[(&str, f64)]) -> super::Run {
        measurements
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    #[test]
    fn a_ratio_is_theirs_divided_by_ours_pair_by_pair() {
        let runs: Vec<_> = (1..=7)
            .map(|scale| {
                let scale = f64::from(scale);
                (run(&[("exp", 10.0 * scale)]), run(&[("exp", 25.0 * scale)]))
            })
            .collect();
        let line = line("other", 2, "exp", &runs).expect("seven pairs are enough");
        assert_eq!((line.ours_us, line.theirs_us), (40.0, 100.0));
        assert_eq!(
            (line.ratio.low, line.ratio.value, line.ratio.high),
            (2.5, 2.5, 2.5)
        );
    }

    #[test]
    fn a_measurement_that_one_run_lacks_is_left_out() {
        let mut runs = vec![(run(&[("exp", 1.0)]), run(&[("exp", 2.0)])); 7];
        runs[3].1.clear();
        assert!(line("other", 2, "exp", &runs).is_none());
    }

    #[test]
    fn fewer_pairs_than_the_least_are_refused() {
        assert_eq!(pairs("9"), Ok(9));
        for text in ["0", "6", "seven", "-7", ""] {
            assert!(pairs(text).is_err(), "{text}");
        }
        assert!(pairs(&PAIRS_MIN.to_string()).is_ok());
    }
}
