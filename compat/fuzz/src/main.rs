//! Random operations on candle and on Tallow, and where the two differ. `cargo xtask fuzz-ops
//! --candle` runs it; arguments: seed, cases.
//!
//! Where candle gives an error or panics, there is nothing to compare. Where it gives a wrong
//! value, `KNOWN` says so. What is left has to be the same: exact, or within some roundings. A
//! difference is printed as a minimised program with its seed.

mod program;

/// The operations on candle.
#[path = "."]
mod on_candle {
    use candle_core as library;
    #[path = "operations.rs"]
    pub mod operations;
}

/// The operations on Tallow.
#[path = "."]
mod on_tallow {
    use tallow as library;
    #[path = "operations.rs"]
    pub mod operations;
}

use program::{Operand, Program};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use tallow::testing::{Draw, smallest};

/// Sizes, dtype, elements.
type Values = (Vec<usize>, String, Vec<f64>);

/// Programs from one line of progress to the next.
const STEP: u64 = 10_000;

/// Where candle is not right, and so not asked: the operation, when, and what is wrong.
type Fault = (&'static str, fn(&Program) -> bool, &'static str);

const KNOWN: &[Fault] = &[
    ("conv1d", the_last_is_a_view, KERNEL),
    ("conv2d", the_last_is_a_view, KERNEL),
    ("conv1d", is_longer_than_the_image, EMPTY),
    ("conv2d", is_longer_than_the_image, EMPTY),
    ("sum", is_narrow, ROUNDS),
    ("sum_keepdim", is_narrow, ROUNDS),
    ("sum_all", is_narrow, ROUNDS),
    ("mean_all", is_narrow, ROUNDS),
    ("matmul", a_batch_is_a_view, BATCH),
    ("broadcast_matmul", a_batch_is_a_view, BATCH),
    (
        "upsample_bilinear2d",
        |program| program.operands[0].starts.iter().any(|&start| start > 0),
        "to its own size, reads an image without its offset",
    ),
    (
        "conv_transpose1d",
        |program| program.operands[0].dims[0] > 1,
        "later images of a batch are wrong",
    ),
    (
        "var",
        |program| program.operands[0].dims[program.numbers[0]] < 2,
        "of no element it is 0, of one it divides by 0",
    ),
];

const KERNEL: &str = "reads a kernel as if it were contiguous, and past a repeated one's end";
const EMPTY: &str = "gives nothing for a kernel that does not fit, where PyTorch refuses it";
const ROUNDS: &str = "rounds the sum to 16 bits after each term";
const BATCH: &str = "takes one step for all dimensions of a batch, whatever their strides are";

fn is_view(x: &Operand) -> bool {
    x.kept != x.dims || x.stored != x.dims || !x.places.is_sorted()
}

fn the_last_is_a_view(program: &Program) -> bool {
    program.operands.last().is_some_and(is_view)
}

fn is_narrow(program: &Program) -> bool {
    ["f16", "bf16"].contains(&program.operands[0].dtype)
}

fn is_longer_than_the_image(program: &Program) -> bool {
    let [padding, _, dilation, _] = program.numbers[..] else {
        return false;
    };
    let (image, kernel) = (&program.operands[0].dims, &program.operands[1].dims);
    let mut pairs = image[2..].iter().zip(&kernel[2..]);
    pairs.any(|(size, taps)| dilation * (taps - 1) + 1 > size + 2 * padding)
}

/// Whether an operand of rank 3 and more is a view.
fn a_batch_is_a_view(program: &Program) -> bool {
    let mut operands = program.operands.iter();
    operands.any(|operand| operand.dims.len() > 2 && is_view(operand))
}

fn main() -> ExitCode {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (Some(seed), Some(cases)) = (number(1), number(2)) else {
        eprintln!("wants a seed and a number of cases");
        return ExitCode::FAILURE;
    };
    // candle panics on some of these programs, and a failure is told with its program.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut compared, mut told): (u64, Vec<&str>) = (0, Vec::new());
    let mut differ = 0;
    for (at, seed) in (0..cases).map(|at: u64| (at, seed + at)) {
        if at > 0 && at % STEP == 0 {
            eprintln!("{at} of {cases} programs, {compared} compared, {differ} differ");
        }
        let mut draw = Draw::new(seed);
        let drawn = program::draw(&mut draw);
        match judge(&drawn) {
            Ok(asked) => compared += u64::from(asked),
            Err(_) => {
                differ += 1;
                if !told.contains(&drawn.op) {
                    told.push(drawn.op);
                    println!("{}: seed {seed}: {}\n", drawn.op, smaller(&draw, drawn.op));
                }
            }
        }
    }
    println!("{cases} cases from seed {seed}: {compared} compared, {differ} differ");
    ExitCode::from(u8::from(differ > 0))
}

/// The same program with fewer and smaller choices, and what differs.
fn smaller(draw: &Draw, op: &str) -> String {
    let found = smallest(draw.choices(), 4000, |candidate| {
        let mut draw = Draw::again(candidate);
        let drawn = program::draw(&mut draw);
        let reason = (drawn.op == op).then(|| judge(&drawn).err())??;
        let mut lines = format!("numbers {:?}: {reason}", drawn.numbers);
        for operand in &drawn.operands {
            let mut shown = operand.clone();
            shown.data.truncate(24);
            lines += &format!("\n  {shown:?}");
        }
        Some((draw.choices().to_vec(), lines))
    });
    found.unwrap_or_else(|| "the difference does not come again".to_owned())
}

/// Whether both gave a result, which is then the same; an error says how they differ.
fn judge(program: &Program) -> Result<bool, String> {
    let known = |(op, when, _): &Fault| *op == program.op && when(program);
    if KNOWN.iter().any(known) {
        return Ok(false);
    }
    let ours = catch_unwind(AssertUnwindSafe(|| on_tallow::operations::outcome(program)));
    let Ok(ours) = ours else {
        return Err("Tallow panics".to_owned());
    };
    let theirs = catch_unwind(AssertUnwindSafe(|| on_candle::operations::outcome(program)));
    let Ok(Ok(theirs)) = theirs else {
        return Ok(false);
    };
    match ours {
        Err(error) => Err(format!("Tallow gives an error: {error}; candle {theirs:?}")),
        Ok(ours) => compare(&ours, &theirs, program.terms).map(|()| true),
    }
}

/// Within a rounding of each dtype for results without sums; else within one for each term.
fn compare(ours: &Values, theirs: &Values, terms: usize) -> Result<(), String> {
    if (&ours.0, &ours.1) != (&theirs.0, &theirs.1) {
        return Err(format!(
            "Tallow's {:?} {}, candle's {:?} {}",
            ours.0, ours.1, theirs.0, theirs.1
        ));
    }
    let unit = match ours.1.as_str() {
        "f64" => f64::EPSILON,
        "f32" => f64::from(f32::EPSILON),
        "f16" => 2f64.powi(-10),
        "bf16" => 2f64.powi(-7),
        _ => 0.0,
    };
    let greatest = theirs.2.iter().copied().filter(|value| value.is_finite());
    let greatest = greatest.fold(1.0f64, |most, value| most.max(value.abs()));
    // What a sum cancels is lost in proportion to its terms, not to itself.
    let allowed = |value: f64| match terms {
        0 => unit * value.abs(),
        terms => unit * (4.0 + terms as f64) * greatest,
    };
    let near = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= allowed(b);
    let mut pairs = ours.2.iter().zip(&theirs.2).enumerate();
    match pairs.find(|(_, (a, b))| !near(**a, **b)) {
        None => Ok(()),
        Some((at, (a, b))) => Err(format!("element {at}: Tallow's {a}, candle's {b}")),
    }
}
