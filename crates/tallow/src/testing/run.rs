//! Runs cases and says what went wrong, operand by operand.

use super::array::round_to;
use super::{Array, Case, Disguise, Tolerance};
use crate::{DType, Error, Result, Tensor, bail};

/// What a conformance run found.
#[derive(Debug, Default)]
pub struct Report {
    /// How many results were compared.
    pub compared: usize,
    /// What was wrong, a line each.
    pub failures: Vec<String>,
}

/// Runs the cases of every operation whose name contains `filter`, at every level of this machine.
/// The level is forced for the whole process while it runs.
pub fn conformance(filter: &str) -> Result<Report> {
    let mut report = Report::default();
    report.failures.extend(uncovered());
    let cases = crate::ops::ALL.iter().flat_map(|family| (family.cases)());
    for case in cases.filter(|case| case.op.contains(filter)) {
        for &dtype in case.dtypes {
            // A failure that repeats over layouts says nothing new after the third.
            let mut told = 0;
            for disguises in disguises(case.inputs.len()) {
                let prepared = Prepared::new(&case, dtype, &disguises)?;
                for failure in prepared.check_everywhere(&case, &mut report.compared)? {
                    told += 1;
                    if told <= 3 {
                        report
                            .failures
                            .push(format!("{case:?} {dtype} {disguises:?} {failure}"));
                    }
                }
            }
        }
    }
    tallow_simd::force_level(None)?;
    Ok(report)
}

/// Operands in their disguises, and the right result: made once, compared at every level.
struct Prepared {
    tensors: Vec<Tensor>,
    want: Array,
}

impl Prepared {
    fn new(case: &Case, dtype: DType, disguises: &[Disguise]) -> Result<Self> {
        let (tensors, arrays) = operands(case, dtype, disguises)?;
        let want = (case.reference)(&arrays);
        Ok(Self { tensors, want })
    }

    /// Runs the case at every level, on one thread and on three.
    fn check_everywhere(&self, case: &Case, compared: &mut usize) -> Result<Vec<String>> {
        let mut failures = Vec::new();
        for level in tallow_simd::supported_levels() {
            tallow_simd::force_level(Some(level))?;
            for threads in [1, 3] {
                *compared += 1;
                let outcome = tallow_threads::with_num_threads(threads, || self.check(case));
                if let Err(error) = outcome {
                    failures.push(format!("{level:?} {threads} threads: {error}"));
                }
            }
        }
        Ok(failures)
    }

    fn check(&self, case: &Case) -> Result<()> {
        compare(&(case.run)(&self.tensors)?, &self.want, &case.tolerance)
    }
}

/// A case's operands in their disguises, as tensors and as what the reference takes.
pub(super) fn operands(
    case: &Case,
    dtype: DType,
    disguises: &[Disguise],
) -> Result<(Vec<Tensor>, Vec<Array>)> {
    let (mut tensors, mut arrays) = (Vec::new(), Vec::new());
    for ((input, &disguise), salt) in case.inputs.iter().zip(disguises).zip(1..) {
        let dtype = input.dtype.unwrap_or(dtype);
        let array = input.array(salt).rounded(dtype);
        tensors.push(disguise.tensor(&array, dtype)?);
        arrays.push(disguise.values(&array));
    }
    Ok((tensors, arrays))
}

/// The operands in the same disguise, and each in another.
pub(super) fn disguises(operands: usize) -> Vec<Vec<Disguise>> {
    let all = Disguise::ALL;
    let same = all.iter().map(|&disguise| vec![disguise; operands]);
    let mixed = (0..all.len()).map(|first| {
        (0..operands)
            .map(|at| all[(first + at * 2 + 1) % all.len()])
            .collect()
    });
    let mixed: Vec<Vec<Disguise>> = if operands > 1 {
        mixed.collect()
    } else {
        Vec::new()
    };
    same.chain(mixed).collect()
}

/// Whether a result is what the case's reference says, as near as its tolerance says.
pub(super) fn compare(got: &Tensor, want: &Array, tolerance: &Tolerance) -> Result<()> {
    let (dtype, got) = (got.dtype(), Array::from_tensor(got)?);
    if got.dims != want.dims {
        bail!("shape {:?}, wanted {:?}", got.dims, want.dims);
    }
    let wrong = |(&got, &want): (&f64, &f64)| !near(got, want, dtype, *tolerance);
    let mut wrong = got
        .data
        .iter()
        .zip(&want.data)
        .enumerate()
        .filter(|(_, pair)| wrong(*pair));
    match wrong.next() {
        None => Ok(()),
        Some((at, (value, wanted))) => {
            bail!(
                "element {at} is {value}, wanted {wanted} ({} more wrong)",
                wrong.count()
            )
        }
    }
}

fn near(got: f64, want: f64, dtype: DType, tolerance: Tolerance) -> bool {
    let rounded = round_to(want, dtype);
    if got == rounded || (got.is_nan() && rounded.is_nan()) {
        return true;
    }
    if dtype.is_int() || !rounded.is_finite() || !got.is_finite() {
        return false;
    }
    let (unit, least) = unit(dtype);
    let allowed = tolerance.relative * unit * want.abs() + tolerance.absolute * unit;
    // Below the least normal number a dtype keeps fewer digits: one step of it is allowed.
    let step = if tolerance.relative > 0.0 { least } else { 0.0 };
    (got - want).abs() <= allowed.max(step)
}

/// The distance from 1 to the next number, and the least number above 0.
fn unit(dtype: DType) -> (f64, f64) {
    let power = |exponent: i32| 2f64.powi(exponent);
    match dtype {
        DType::F64 => (power(-52), f64::from_bits(1)),
        DType::F32 => (power(-23), power(-149)),
        DType::F16 => (power(-10), power(-24)),
        DType::BF16 => (power(-7), power(-133)),
        _ => (power(-3), power(-9)),
    }
}

/// Operations without a case, and dtypes of an operation that no case covers.
pub fn uncovered() -> Vec<String> {
    let mut missing = Vec::new();
    for family in crate::ops::ALL {
        let cases = (family.cases)();
        for op in family.ops {
            let own: Vec<&Case> = cases.iter().filter(|case| case.op == op.name).collect();
            if own.is_empty() {
                missing.push(format!("{}: no case", op.name));
                continue;
            }
            let covered = |dtype: &DType| own.iter().any(|case| case.dtypes.contains(dtype));
            for dtype in op.dtypes.iter().filter(|dtype| !covered(dtype)) {
                missing.push(format!("{}: no case for dtype {dtype}", op.name));
            }
        }
        let listed = |name: &str| family.ops.iter().any(|op| op.name == name);
        for case in cases.iter().filter(|case| !listed(case.op)) {
            missing.push(format!(
                "{}: a case of an op that {} does not list",
                case.op, family.name
            ));
        }
    }
    missing
}

impl Report {
    /// An error that lists the failures, if there are any.
    pub fn into_result(self) -> Result<usize> {
        match self.failures.is_empty() {
            true => Ok(self.compared),
            false => Err(Error::Msg(self.failures.join("\n"))),
        }
    }
}
