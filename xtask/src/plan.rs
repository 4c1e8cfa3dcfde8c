//! A list of named steps that is run in order, with a line and a time for each.
//!
//! The first step that fails ends the plan, unless it is told to go on. A step whose needs are not
//! met is skipped, and said to be; a strict plan counts that as a failure.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::need::Need;

/// One step of a plan.
pub(crate) struct Step {
    /// Its name, as `--only` takes it.
    pub(crate) name: &'static str,
    /// What it needs beyond the default toolchain.
    pub(crate) needs: &'static [Need],
    /// What it does.
    pub(crate) run: fn() -> Result<(), String>,
}

/// How a plan deals with steps that do not pass.
pub(crate) struct Rigour {
    /// A step that is skipped counts as failed.
    pub(crate) strict: bool,
    /// Later steps are run after one has failed.
    pub(crate) keep_going: bool,
}

/// What became of one step.
enum Outcome {
    Passed,
    Skipped(String),
    Failed(String),
}

/// Runs the steps, prints what became of each, and gives the exit code.
pub(crate) fn run<'a>(
    name: &str,
    rigour: &Rigour,
    steps: impl IntoIterator<Item = &'a Step>,
) -> ExitCode {
    let started = Instant::now();
    let mut done = Vec::new();
    for step in steps {
        println!("\n=== {name}: {}", step.name);
        let step_started = Instant::now();
        let outcome = outcome(step, rigour);
        let elapsed = step_started.elapsed();
        println!("=== {name}: {}: {:.1} s", step.name, elapsed.as_secs_f64());
        let failed = matches!(outcome, Outcome::Failed(_));
        done.push((step.name, elapsed, outcome));
        if failed && !rigour.keep_going {
            break;
        }
    }
    summary(name, &done, started.elapsed())
}

fn outcome(step: &Step, rigour: &Rigour) -> Outcome {
    let missing: Vec<_> = step.needs.iter().filter_map(Need::missing).collect();
    if missing.is_empty() {
        return (step.run)().map_or_else(Outcome::Failed, |()| Outcome::Passed);
    }
    let reason = format!("missing {}", missing.join("; "));
    if rigour.strict {
        Outcome::Failed(reason)
    } else {
        Outcome::Skipped(reason)
    }
}

/// Prints one line for each step, then the verdict.
fn summary(name: &str, done: &[(&str, Duration, Outcome)], total: Duration) -> ExitCode {
    println!("\n{name:<20} {:>9}", "seconds");
    for (step, elapsed, outcome) in done {
        let verdict = match outcome {
            Outcome::Passed => String::from("passed"),
            Outcome::Skipped(reason) => format!("skipped: {reason}"),
            Outcome::Failed(reason) => format!("FAILED: {reason}"),
        };
        println!("{step:<20} {:>9.1}  {verdict}", elapsed.as_secs_f64());
    }
    let count = |wanted: fn(&Outcome) -> bool| {
        done.iter()
            .filter(|(_, _, outcome)| wanted(outcome))
            .count()
    };
    let failed = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    let verdict = match (failed, skipped) {
        (0, 0) => String::from("passed"),
        (0, _) => format!("passed, but for {skipped} skipped; .ci/run installs what they need"),
        _ => String::from("FAILED"),
    };
    println!("{:<20} {:>9.1}  {verdict}", "all", total.as_secs_f64());
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
