//! The references are the definitions: a sum over taps for each output, and for the transposed form
//! the same products, each added to where it belongs.

use crate::testing::{Array, Case, Draw, Input, Tolerance, Values};
use crate::{DType, Result, Tensor};

/// Padding, stride, dilation, groups.
type Numbers = [usize; 4];

/// The index of every element.
fn indexes(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    Array::from_fn(dims, |index| {
        all.push(index.to_vec());
        0.0
    });
    all
}

/// The input that an output and a tap meet, if it is inside.
fn meets(
    out: &[usize],
    tap: &[usize],
    [padding, stride, dilation, _]: Numbers,
    image: &[usize],
) -> Option<Vec<usize>> {
    let at = |((out, tap), size): ((&usize, &usize), &usize)| {
        let at = (out * stride + tap * dilation).checked_sub(padding)?;
        (at < *size).then_some(at)
    };
    out.iter().zip(tap).zip(image).map(at).collect()
}

fn conv(x: &Array, kernel: &Array, numbers: Numbers) -> Array {
    let [padding, stride, dilation, groups] = numbers;
    let out_len = |(size, taps): (&usize, &usize)| {
        (size + 2 * padding - dilation * (taps - 1) - 1) / stride + 1
    };
    let mut dims = vec![x.dims[0], kernel.dims[0]];
    dims.extend(x.dims[2..].iter().zip(&kernel.dims[2..]).map(out_len));
    let (channels, group_len) = (kernel.dims[1], kernel.dims[0] / groups);
    let taps = indexes(&kernel.dims[2..]);
    Array::from_fn(&dims, |index| {
        let (batch, result) = (index[0], index[1]);
        let mut sum = 0.0;
        for tap in &taps {
            let Some(at) = meets(&index[2..], tap, numbers, &x.dims[2..]) else {
                continue;
            };
            for channel in 0..channels {
                let in_image = result / group_len * channels + channel;
                sum += x.at(&[&[batch, in_image], at.as_slice()].concat())
                    * kernel.at(&[&[result, channel], tap.as_slice()].concat());
            }
        }
        sum
    })
}

fn transposed(y: &Array, kernel: &Array, numbers: Numbers, added: usize) -> Array {
    let [padding, stride, dilation, groups] = numbers;
    let image_len = |(size, taps): (&usize, &usize)| {
        (size - 1) * stride + dilation * (taps - 1) + 1 + added - 2 * padding
    };
    let (channels, group_len) = (kernel.dims[1], kernel.dims[0] / groups);
    let mut dims = vec![y.dims[0], channels * groups];
    dims.extend(y.dims[2..].iter().zip(&kernel.dims[2..]).map(image_len));
    let mut image = Array::from_fn(&dims, |_| 0.0);
    let taps = indexes(&kernel.dims[2..]);
    for index in indexes(&y.dims) {
        for tap in &taps {
            let Some(at) = meets(&index[2..], tap, numbers, &dims[2..]) else {
                continue;
            };
            for channel in 0..channels {
                let in_image = index[1] / group_len * channels + channel;
                let to = [&[index[0], in_image], at.as_slice()].concat();
                let flat = to
                    .iter()
                    .zip(&dims)
                    .fold(0, |flat, (at, size)| flat * size + at);
                image.data[flat] +=
                    y.at(&index) * kernel.at(&[&[index[1], channel], tap.as_slice()].concat());
            }
        }
    }
    image
}

/// x, kernel, numbers.
type Row = (&'static [usize], &'static [usize], Numbers);

const CONV: &[Row] = &[
    (&[1, 1, 1], &[1, 1, 1], [0, 1, 1, 1]),
    (&[2, 3, 7], &[4, 3, 3], [1, 1, 1, 1]),
    (&[2, 3, 8], &[2, 3, 3], [2, 2, 2, 1]),
    (&[0, 3, 8], &[2, 3, 3], [1, 1, 1, 1]),
    (&[2, 0, 5], &[3, 0, 2], [0, 1, 1, 1]),
    (&[2, 3, 5], &[0, 3, 2], [0, 1, 1, 1]),
    (&[1, 6, 20], &[6, 1, 4], [3, 1, 1, 6]),
    (&[2, 3, 41], &[6, 1, 5], [2, 3, 2, 3]),
    (&[1, 2, 3], &[2, 1, 3], [70, 1, 60, 2]),
    (&[1, 4, 6], &[4, 2, 3], [4, 1, 1, 2]),
    (&[1, 80, 70], &[20, 80, 3], [1, 2, 1, 1]),
    // Depthwise, longer than a piece.
    (&[1, 1, 5000], &[1, 1, 3], [1, 1, 1, 1]),
    (&[1, 1, 3, 3], &[1, 1, 3, 3], [0, 1, 1, 1]),
    (&[2, 3, 5, 6], &[4, 3, 3, 2], [1, 1, 1, 1]),
    (&[1, 4, 9, 8], &[6, 2, 3, 3], [1, 2, 1, 2]),
    (&[1, 2, 9, 11], &[3, 2, 2, 3], [2, 3, 2, 1]),
    (&[2, 5, 4, 6], &[7, 5, 1, 1], [0, 1, 1, 1]),
    (&[1, 4, 5, 6], &[6, 2, 1, 1], [0, 2, 1, 2]),
    (&[1, 3, 4, 4], &[2, 3, 1, 1], [1, 1, 1, 1]),
    (&[2, 4, 9, 21], &[8, 1, 3, 3], [1, 1, 1, 4]),
    (&[1, 3, 11, 10], &[3, 1, 5, 3], [2, 2, 1, 3]),
    (&[1, 12, 8, 40], &[36, 12, 3, 3], [1, 1, 1, 1]),
    // Two slices of the inner size, several tiles.
    (&[1, 64, 6, 7], &[17, 64, 3, 3], [1, 1, 1, 1]),
    (&[1, 2, 3, 4, 5], &[3, 2, 2, 3, 2], [1, 2, 1, 1]),
    (&[2, 2, 4, 3, 5], &[4, 1, 3, 2, 3], [1, 1, 2, 2]),
    (&[1, 3, 3, 4, 5], &[2, 3, 1, 1, 1], [0, 1, 1, 1]),
];

/// y, kernel, numbers, output padding.
type TransposedRow = (&'static [usize], &'static [usize], Numbers, usize);

const TRANSPOSED: &[TransposedRow] = &[
    (&[1, 1, 1], &[1, 1, 1], [0, 1, 1, 1], 0),
    (&[2, 3, 5], &[3, 4, 3], [1, 1, 1, 1], 0),
    (&[2, 4, 5], &[4, 3, 4], [1, 2, 1, 2], 1),
    (&[1, 2, 4], &[2, 3, 2], [0, 5, 2, 1], 3),
    (&[2, 6, 4], &[6, 3, 1], [0, 1, 2, 2], 0),
    (&[2, 3, 4], &[3, 2, 1], [0, 1, 2, 1], 1),
    (&[1, 2, 3], &[2, 1, 2], [1, 2, 1, 1], 4),
    (&[0, 2, 3], &[2, 3, 2], [0, 1, 1, 1], 0),
    (&[1, 0, 3], &[0, 3, 2], [0, 2, 1, 1], 0),
    (&[1, 6, 9], &[6, 1, 4], [1, 2, 1, 6], 0),
    (&[1, 3, 40], &[3, 20, 8], [2, 4, 1, 1], 0),
    (&[2, 3, 4, 5], &[3, 2, 3, 3], [1, 1, 1, 1], 0),
    (&[1, 4, 5, 4], &[4, 3, 3, 2], [1, 2, 1, 1], 1),
    (&[1, 2, 3, 4], &[2, 2, 2, 2], [0, 2, 1, 1], 0),
    (&[1, 3, 4, 3], &[3, 2, 3, 3], [2, 3, 2, 1], 2),
    (&[1, 20, 7, 8], &[20, 18, 3, 3], [1, 2, 1, 1], 1),
];

fn run(op: &str, x: &Tensor, kernel: &Tensor, numbers: Numbers, added: usize) -> Result<Tensor> {
    let [padding, stride, dilation, groups] = numbers;
    match op {
        "conv1d" => x.conv1d(kernel, padding, stride, dilation, groups),
        "conv2d" => x.conv2d(kernel, padding, stride, dilation, groups),
        "conv3d" => x.conv3d(kernel, padding, stride, dilation, groups),
        "conv_transpose1d" => x.conv_transpose1d(kernel, padding, added, stride, dilation, groups),
        _ => x.conv_transpose2d(kernel, padding, added, stride, dilation),
    }
}

fn inputs(x: &[usize], kernel: &[usize]) -> Vec<Input> {
    let input = |dims| Input::new(dims, Values::Range(-1.0, 1.0));
    vec![input(x), input(kernel)]
}

fn case(x: &[usize], kernel: &[usize], numbers: Numbers) -> Case {
    let op = ["conv1d", "conv2d", "conv3d"][x.len() - 3];
    Case {
        op,
        dtypes: &DType::FLOATS,
        inputs: inputs(x, kernel),
        run: Box::new(move |inputs| run(op, &inputs[0], &inputs[1], numbers, 0)),
        reference: Box::new(move |inputs| conv(&inputs[0], &inputs[1], numbers)),
        tolerance: Tolerance::of_products(kernel[1..].iter().product()),
    }
}

fn transposed_case(y: &[usize], kernel: &[usize], numbers: Numbers, added: usize) -> Case {
    let op = ["conv_transpose1d", "conv_transpose2d"][y.len() - 3];
    let products = kernel[0] / numbers[3] * kernel[2..].iter().product::<usize>();
    Case {
        op,
        dtypes: &DType::FLOATS,
        inputs: inputs(y, kernel),
        run: Box::new(move |inputs| run(op, &inputs[0], &inputs[1], numbers, added)),
        reference: Box::new(move |inputs| transposed(&inputs[0], &inputs[1], numbers, added)),
        tolerance: Tolerance::of_products(products),
    }
}

pub(super) fn cases() -> Vec<Case> {
    let plain = CONV
        .iter()
        .map(|&(x, kernel, numbers)| case(x, kernel, numbers));
    let turned = TRANSPOSED
        .iter()
        .map(|&(y, kernel, numbers, added)| transposed_case(y, kernel, numbers, added));
    plain.chain(turned).collect()
}

pub(super) fn draw(draw: &mut Draw) -> Case {
    let spatial = draw.number("spatial dims", 1, 3);
    let turned = spatial < 3 && draw.flag("transposed");
    let batch = draw.number("batch", 0, 2);
    // conv_transpose2d takes no groups.
    let groups = match turned && spatial == 2 {
        true => 1,
        false => draw.pick("groups", &[1, 1, 2, 3, 5]),
    };
    let (within, each) = (draw.number("channels", 0, 6), draw.number("results", 1, 7));
    let (stride, dilation) = (draw.number("stride", 1, 4), draw.number("dilation", 1, 3));
    let padding = draw.number("padding", 0, 4);
    let numbers = [padding, stride, dilation, groups];
    let most = [60, 14, 7][spatial - 1];
    let (mut image, mut taps) = (Vec::new(), Vec::new());
    for _ in 0..spatial {
        let tap = draw.number("taps", 1, 5);
        let extent = dilation * (tap - 1) + 1;
        // The window fits the padded image; of the transposed form, an image is left.
        let least = match turned {
            true => (2 * padding + 1).saturating_sub(extent).div_ceil(stride) + 1,
            false => extent.saturating_sub(2 * padding).max(1),
        };
        image.push(least + draw.below(most));
        taps.push(tap);
    }
    if turned {
        let added = draw.number("added", 0, stride.max(dilation) - 1);
        let y = [vec![batch, within.max(1) * groups], image].concat();
        let kernel = [vec![within.max(1) * groups, each], taps].concat();
        return transposed_case(&y, &kernel, numbers, added);
    }
    let x = [vec![batch, within * groups], image].concat();
    case(&x, &[vec![each * groups, within], taps].concat(), numbers)
}
