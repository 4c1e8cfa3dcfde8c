//! Random cases of every operation, judged as the tables' cases are.
//!
//! A trial is one family's random case for one dtype, its operands in random views, at one
//! instruction set and thread count. One in 16 is spoiled: an operand has another shape or dtype,
//! and all that is asked is that the operation returns. A failing trial is a sequence of choices
//! ([`Draw`]): it is drawn again with choices left out or made smaller as long as the same
//! operation fails.

use super::run::compare;
use super::{Case, Draw, View, smallest};
use crate::{DType, Result, Tensor, bail};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Trials that the search for a smaller failure may take.
const SMALLER_TRIALS_MAX: usize = 4000;

/// What a run of [`fuzz`] found.
#[derive(Debug, Default)]
pub struct Fuzzed {
    /// Trials that were made.
    pub trials: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Of each operation that failed, its first failure: the minimised case and the seed.
    pub failures: Vec<(&'static str, String)>,
}

/// `trials` trials, the first of this seed, the next of the seed after it. Of operations whose
/// families' names contain `filter`. What panics is caught; the process's panic hook is left alone.
/// The instruction set is forced for the whole process while it runs.
pub fn fuzz(seed: u64, trials: u64, filter: &str) -> Result<Fuzzed> {
    let mut found = Fuzzed::default();
    for seed in (0..trials).map(|at| seed.wrapping_add(at)) {
        let mut draw = Draw::new(seed);
        let Some(trial) = Trial::draw(&mut draw, filter) else {
            bail!("fuzz: no family's name contains \"{filter}\"");
        };
        found.trials += 1;
        if trial.judge().is_ok() {
            continue;
        }
        found.failed += 1;
        let op = trial.case.op;
        if found.failures.iter().all(|(known, _)| *known != op) {
            let told = smaller(draw.choices(), op, filter);
            found.failures.push((op, format!("seed {seed}: {told}")));
        }
    }
    tallow_simd::force_level(None)?;
    Ok(found)
}

/// One random case, and where and how it is run.
struct Trial {
    case: Case,
    dtype: DType,
    views: Vec<View>,
    level: tallow_simd::Level,
    threads: usize,
    salt: usize,
    spoiled: bool,
}

impl Trial {
    fn draw(draw: &mut Draw, filter: &str) -> Option<Self> {
        let all = crate::ops::ALL.iter();
        let families: Vec<_> = all.filter(|family| family.name.contains(filter)).collect();
        let family = families.get(draw.below(families.len()))?;
        let mut case = (family.draw)(draw);
        let dtype = case.dtypes[draw.below(case.dtypes.len())];
        let spoiled = draw.rarely(16);
        if spoiled && !case.inputs.is_empty() {
            let operand = draw.below(case.inputs.len());
            let operand = &mut case.inputs[operand];
            match draw.flag("another dtype") {
                true => operand.dtype = Some(DType::COMPUTE[draw.below(DType::COMPUTE.len())]),
                false => operand.dims = draw.dims(),
            }
        }
        let ranks = case.inputs.iter().map(|input| input.dims.len());
        let views = ranks.map(|rank| View::draw(draw, rank)).collect();
        let levels = tallow_simd::supported_levels();
        Some(Self {
            level: levels[levels.len() - 1 - draw.below(levels.len())],
            threads: draw.below(3) + 1,
            salt: draw.below(1 << 16),
            case,
            dtype,
            views,
            spoiled,
        })
    }

    /// Runs the case; an error says what was wrong.
    fn judge(&self) -> Result<()> {
        tallow_simd::force_level(Some(self.level))?;
        let (mut tensors, mut arrays) = (Vec::new(), Vec::new());
        for ((input, view), operand) in self.case.inputs.iter().zip(&self.views).zip(1..) {
            let dtype = input.dtype.unwrap_or(self.dtype);
            let array = input
                .array((self.salt * 16 + operand) as u64)
                .rounded(dtype);
            let shown = view.values(array);
            tensors.push(view.tensor(&shown, dtype)?);
            arrays.push(shown);
        }
        let run = || tallow_threads::with_num_threads(self.threads, || (self.case.run)(&tensors));
        let got: Result<Tensor> = without_panic("the operation", run)?;
        if self.spoiled {
            return Ok(());
        }
        let want = without_panic("the reference", || (self.case.reference)(&arrays))?;
        compare(&got?, &want, &self.case.tolerance)
    }
}

/// What the function gives, or an error with the panic's message.
fn without_panic<T>(what: &str, run: impl FnOnce() -> T) -> Result<T> {
    let outcome = catch_unwind(AssertUnwindSafe(run));
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        crate::Error::Msg(format!("{what} panics: {}", text.unwrap_or("no message")))
    })
}

/// The description of a failure of this operation that has as few and as small choices as are
/// found.
fn smaller(choices: &[u64], op: &str, filter: &str) -> String {
    let found = smallest(choices, SMALLER_TRIALS_MAX, |candidate| {
        let mut draw = Draw::again(candidate);
        let trial = Trial::draw(&mut draw, filter)?;
        let reason = (trial.case.op == op).then(|| trial.judge().err())??;
        let told = describe(&trial, draw.notes(), &reason);
        Some((draw.choices().to_vec(), told))
    });
    found.unwrap_or_else(|| format!("{op}: the failure does not come again"))
}

fn describe(trial: &Trial, notes: &str, reason: &crate::Error) -> String {
    let dtypes: Vec<DType> = (trial.case.inputs.iter())
        .map(|input| input.dtype.unwrap_or(trial.dtype))
        .collect();
    format!(
        "{:?} {dtypes:?}\n  {notes}\n  {:?}\n  {:?}, {} threads, salt {}{}: {reason}",
        trial.case,
        trial.views,
        trial.level,
        trial.threads,
        trial.salt,
        if trial.spoiled { ", spoiled" } else { "" },
    )
}
