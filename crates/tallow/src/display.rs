//! Printing tensors, in the style of numpy and PyTorch.
//!
//! `Debug` is one line, without reading more than a few elements: `Tensor[dims 2, 3; f32]`.
//! `Display` shows the elements in rows, then shape and dtype. A tensor of more than
//! [`threshold`](PrinterOptions::threshold) elements shows only the [`edge_items`](
//! PrinterOptions::edge_items) first and last of each dimension.
//!
//! Floats are whole (`3.`) if all that are shown are; else they have [`precision`](
//! PrinterOptions::precision) digits behind the point, or an exponent if the sizes are more than
//! a factor of 1,000 apart, above 10⁸ or below 10⁻⁴.

use crate::{Result, Tensor, WithDType};
use std::fmt::{Debug, Display, Formatter, Write};
use std::sync::{Mutex, PoisonError};

/// How tensors are printed.
#[derive(Debug, Clone)]
pub struct PrinterOptions {
    /// Digits behind the point of a float.
    pub precision: usize,
    /// Tensors of more elements than this are shown without their middle.
    pub threshold: usize,
    /// First and last elements of each dimension that are shown then.
    pub edge_items: usize,
    /// Characters in a line.
    pub line_width: usize,
    /// Exponents always or never; none decides by the values.
    pub sci_mode: Option<bool>,
}

impl PrinterOptions {
    const DEFAULT: Self = Self {
        precision: 4,
        threshold: 1000,
        edge_items: 3,
        line_width: 80,
        sci_mode: None,
    };
}

static OPTIONS: Mutex<PrinterOptions> = Mutex::new(PrinterOptions::DEFAULT);

fn change(f: impl FnOnce(&mut PrinterOptions)) {
    f(&mut OPTIONS.lock().unwrap_or_else(PoisonError::into_inner));
}

/// The options in use, for the whole process.
pub fn print_options() -> &'static Mutex<PrinterOptions> {
    &OPTIONS
}
/// Sets all options.
pub fn set_print_options(options: PrinterOptions) {
    change(|current| *current = options);
}
/// Sets all options to what they are at the start.
pub fn set_print_options_default() {
    set_print_options(PrinterOptions::DEFAULT);
}
/// Two digits and two edge items.
pub fn set_print_options_short() {
    set_print_options(PrinterOptions {
        precision: 2,
        edge_items: 2,
        ..PrinterOptions::DEFAULT
    });
}
/// Every element of every tensor.
pub fn set_print_options_full() {
    set_print_options(PrinterOptions {
        threshold: usize::MAX,
        ..PrinterOptions::DEFAULT
    });
}
/// Sets the characters in a line.
pub fn set_line_width(line_width: usize) {
    change(|options| options.line_width = line_width);
}
/// Sets the digits behind the point.
pub fn set_precision(precision: usize) {
    change(|options| options.precision = precision);
}
/// Sets how many elements of each end are shown of a large tensor.
pub fn set_edge_items(edge_items: usize) {
    change(|options| options.edge_items = edge_items);
}
/// Sets from how many elements on a tensor is large.
pub fn set_threshold(threshold: usize) {
    change(|options| options.threshold = threshold);
}
/// Sets whether exponents are shown; none decides by the values.
pub fn set_sci_mode(sci_mode: Option<bool>) {
    change(|options| options.sci_mode = sci_mode);
}

/// Elements of a tensor of rank 1 that `Debug` still shows.
const DEBUG_ITEMS: usize = 10;

impl Debug for Tensor {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (dtype, device) = (self.dtype(), device_suffix(self));
        let few = self.rank() == 0 || (self.rank() == 1 && self.elem_count() <= DEBUG_ITEMS);
        let elements = if few { texts_plain(self).ok() } else { None };
        match elements {
            Some(elements) => write!(f, "Tensor[{}; {dtype}{device}]", elements.join(", ")),
            None => {
                let dims: Vec<String> = self.dims().iter().map(usize::to_string).collect();
                write!(f, "Tensor[dims {}; {dtype}{device}]", dims.join(", "))
            }
        }
    }
}

impl Display for Tensor {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let options = OPTIONS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        match Printer::new(self, &options) {
            Ok(printer) => printer.write(f)?,
            Err(error) => write!(f, "[{error}]")?,
        }
        write!(
            f,
            "\nTensor[{:?}, {}{}]",
            self.dims(),
            self.dtype(),
            device_suffix(self)
        )
    }
}

fn device_suffix(tensor: &Tensor) -> String {
    match tensor.device().is_cpu() {
        true => String::new(),
        false => format!(", {:?}", tensor.device().location()),
    }
}

/// The elements' own shortest texts.
fn texts_plain(tensor: &Tensor) -> Result<Vec<String>> {
    let flat = tensor.flatten_all()?;
    crate::with_dtype!(tensor.dtype(), "display", T in all => {
        Ok(flat.to_vec1::<T>()?.into_iter().map(|value| value.to_string()).collect())
    })
}

/// The elements' texts, all of one style.
fn texts(tensor: &Tensor, options: &PrinterOptions) -> Result<Vec<String>> {
    if tensor.dtype().is_int() {
        return texts_plain(tensor);
    }
    let flat = tensor.flatten_all()?;
    let values: Vec<f64> = crate::with_dtype!(tensor.dtype(), "display", T in all => {
        Ok::<_, crate::Error>(flat.to_vec1::<T>()?.into_iter().map(WithDType::to_f64).collect())
    })?;
    let style = Style::of(&values, options);
    Ok(values
        .into_iter()
        .map(|value| style.text(value, options.precision))
        .collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Whole,
    Fixed,
    Exponent,
}

impl Style {
    fn of(values: &[f64], options: &PrinterOptions) -> Self {
        let sizes = values
            .iter()
            .filter(|value| value.is_finite() && **value != 0.0);
        let (mut whole, mut least, mut most) = (true, f64::INFINITY, 0.0f64);
        for size in sizes.map(|value| value.abs()) {
            whole &= size.fract() == 0.0;
            least = least.min(size);
            most = most.max(size);
        }
        let far_apart = most > 1e8 || most / least > 1000.0;
        let exponent = far_apart || (!whole && least < 1e-4);
        match options.sci_mode.unwrap_or(exponent) {
            true => Self::Exponent,
            false if whole => Self::Whole,
            false => Self::Fixed,
        }
    }

    fn text(self, value: f64, precision: usize) -> String {
        match self {
            _ if !value.is_finite() => format!("{value}"),
            Self::Whole => format!("{value:.0}."),
            Self::Fixed => format!("{value:.precision$}"),
            Self::Exponent => format!("{value:.precision$e}"),
        }
    }
}

/// A tensor's shown elements as texts, and how they are laid out.
struct Printer {
    /// The shown sizes; a size of 2·edge items stands for more if `hidden` says so.
    dims: Vec<usize>,
    hidden: Vec<bool>,
    texts: Vec<String>,
    width: usize,
    edge_items: usize,
    line_width: usize,
}

impl Printer {
    fn new(tensor: &Tensor, options: &PrinterOptions) -> Result<Self> {
        let mut shown = tensor.clone();
        let mut hidden = vec![false; tensor.rank()];
        if tensor.elem_count() > options.threshold {
            for (dim, hidden) in hidden.iter_mut().enumerate() {
                let (size, edge) = (tensor.dims()[dim], options.edge_items);
                *hidden = size > edge.saturating_mul(2);
                if *hidden {
                    let last = shown.narrow(dim, size - edge, edge)?;
                    shown = Tensor::cat(&[shown.narrow(dim, 0, edge)?, last], dim)?;
                }
            }
        }
        let texts = texts(&shown, options)?;
        let width = texts
            .iter()
            .map(|text| text.chars().count())
            .max()
            .unwrap_or(0);
        let (edge_items, line_width) = (options.edge_items, options.line_width);
        Ok(Self {
            dims: shown.dims().to_vec(),
            hidden,
            texts,
            width,
            edge_items,
            line_width,
        })
    }

    fn write(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.dims.len() {
            0 => write!(f, "[{}]", self.texts[0]),
            _ => self.write_dim(f, 0, 0),
        }
    }

    /// Writes one slice of a dimension; `first` is the number of its first text.
    fn write_dim(&self, f: &mut Formatter<'_>, dim: usize, first: usize) -> std::fmt::Result {
        if dim + 1 == self.dims.len() {
            return self.write_row(f, dim, first);
        }
        let slice: usize = self.dims[dim + 1..].iter().product();
        let gap = format!("\n{}", " ".repeat(dim + 1));
        f.write_char('[')?;
        for at in 0..self.dims[dim] {
            if at > 0 {
                write!(f, ",{gap}")?;
            }
            if self.hidden[dim] && at == self.edge_items {
                write!(f, "...{gap}")?;
            }
            self.write_dim(f, dim + 1, first + at * slice)?;
        }
        if self.hidden[dim] && self.edge_items == 0 {
            f.write_str("...")?;
        }
        f.write_char(']')
    }

    fn write_row(&self, f: &mut Formatter<'_>, dim: usize, first: usize) -> std::fmt::Result {
        let mut items: Vec<&str> = self.texts[first..][..self.dims[dim]]
            .iter()
            .map(String::as_str)
            .collect();
        if self.hidden[dim] {
            items.insert(self.edge_items, "...");
        }
        // The bracket stands in place of the last item's blank.
        let in_line = (self.line_width / (self.width + 2)).max(1);
        f.write_char('[')?;
        for (at, item) in items.iter().enumerate() {
            match at {
                0 => {}
                _ if at % in_line == 0 => write!(f, ",\n{}", " ".repeat(dim + 1))?,
                _ => f.write_str(", ")?,
            }
            let width = if *item == "..." { 0 } else { self.width };
            write!(f, "{item:>width$}")?;
        }
        f.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Device};

    fn shown(tensor: Result<Tensor>) -> String {
        tensor.unwrap().to_string()
    }

    #[test]
    fn small_tensors_are_shown_whole() {
        let cpu = &Device::Cpu;
        assert_eq!(shown(Tensor::new(3f32, cpu)), "[3.]\nTensor[[], f32]");
        assert_eq!(
            shown(Tensor::new(&[[1i64, -20], [300, 4]], cpu)),
            "[[  1, -20],\n [300,   4]]\nTensor[[2, 2], i64]"
        );
        assert_eq!(
            shown(Tensor::new(
                &[[0.5f32, f32::NAN], [f32::INFINITY, -2.]],
                cpu
            )),
            "[[ 0.5000,     NaN],\n [    inf, -2.0000]]\nTensor[[2, 2], f32]"
        );
        assert_eq!(
            shown(Tensor::new(&[1e-6f64, 1.], cpu)),
            "[1.0000e-6,  1.0000e0]\nTensor[[2], f64]"
        );
        assert_eq!(
            shown(Tensor::zeros((0, 3), DType::U8, cpu)),
            "[]\nTensor[[0, 3], u8]"
        );
        assert_eq!(
            shown(Tensor::zeros((2, 1, 2), DType::F16, cpu)),
            "[[[0., 0.]],\n [[0., 0.]]]\nTensor[[2, 1, 2], f16]"
        );
    }

    #[test]
    fn large_tensors_are_shown_by_their_edges() {
        let x = Tensor::arange(0u32, 10_000, &Device::Cpu).and_then(|x| x.reshape((100, 100)));
        let want = "[[   0,    1,    2, ...,   97,   98,   99],
 [ 100,  101,  102, ...,  197,  198,  199],
 [ 200,  201,  202, ...,  297,  298,  299],
 ...
 [9700, 9701, 9702, ..., 9797, 9798, 9799],
 [9800, 9801, 9802, ..., 9897, 9898, 9899],
 [9900, 9901, 9902, ..., 9997, 9998, 9999]]
Tensor[[100, 100], u32]";
        assert_eq!(shown(x), want);
    }

    #[test]
    fn long_rows_are_broken() {
        let x = Tensor::arange(100u32, 130, &Device::Cpu);
        let text = shown(x);
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn debug_is_one_line() -> Result<()> {
        let cpu = &Device::Cpu;
        assert_eq!(
            format!("{:?}", Tensor::new(&[1f32, 2.5], cpu)?),
            "Tensor[1, 2.5; f32]"
        );
        assert_eq!(
            format!("{:?}", Tensor::zeros((2, 3), DType::U8, cpu)?),
            "Tensor[dims 2, 3; u8]"
        );
        Ok(())
    }
}
