//! A random operation on random operands, as plain numbers that both libraries can be given.

use tallow::testing::Draw;

/// The dtypes that both compute in.
pub const DTYPES: [&str; 7] = ["f32", "f64", "u8", "u32", "i64", "bf16", "f16"];
const FLOATS: [&str; 4] = ["f32", "f64", "bf16", "f16"];
const WIDE: [&str; 2] = ["f32", "f64"];
const IDS: [&str; 3] = ["u32", "u8", "i64"];

/// A view of a buffer: dimensions stored in another order, a window, repeated ones.
#[derive(Clone, Debug)]
pub struct Operand {
    pub dims: Vec<usize>,
    pub dtype: &'static str,
    /// The buffer's sizes; the place in it of each dimension.
    pub stored: Vec<usize>,
    pub places: Vec<usize>,
    /// Of each dimension, the window.
    pub starts: Vec<usize>,
    pub kept: Vec<usize>,
    pub data: Vec<f64>,
}

#[derive(Clone, Debug)]
pub struct Program {
    pub op: &'static str,
    pub numbers: Vec<usize>,
    pub operands: Vec<Operand>,
    /// Terms that one result adds up; none if every result is exact but for its rounding.
    pub terms: usize,
}

/// The numbers of an operand.
#[derive(Clone, Copy)]
enum Fill {
    /// Eighths from -8 to 8; whole numbers below 16 of integers. Every dtype holds them.
    Eighths,
    /// The same, but above 0.
    Positive,
    /// Whole numbers below this.
    Below(usize),
}

fn operand(draw: &mut Draw, dims: &[usize], dtype: &'static str, fill: Fill) -> Operand {
    let rank = dims.len();
    let mut order: Vec<usize> = (0..rank).collect();
    if draw.rarely(3) {
        let mut left = order.clone();
        order = (0..rank)
            .map(|_| left.remove(draw.below(left.len())))
            .collect();
    }
    let (mut kept, mut starts, mut sizes) = (dims.to_vec(), vec![0; rank], dims.to_vec());
    for dim in 0..rank {
        if draw.rarely(8) && dims[dim] > 0 {
            kept[dim] = 1;
        }
        sizes[dim] = kept[dim];
        if draw.rarely(4) {
            starts[dim] = draw.below(3);
            sizes[dim] += starts[dim] + draw.below(3);
        }
    }
    let stored: Vec<usize> = order.iter().map(|&dim| sizes[dim]).collect();
    let mut places = vec![0; rank];
    order
        .iter()
        .enumerate()
        .for_each(|(place, &dim)| places[dim] = place);
    let is_float = FLOATS.contains(&dtype);
    let mut state = draw.below(1 << 20) as u64;
    let mut next = || {
        // Weyl's sequence of the golden ratio, mixed a little.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40;
        match (fill, is_float) {
            (Fill::Below(count), _) => (mixed % count.max(1) as u64) as f64,
            (Fill::Eighths, true) => (mixed % 129) as f64 / 8.0 - 8.0,
            (Fill::Positive, true) => (mixed % 64 + 1) as f64 / 8.0,
            (Fill::Eighths, false) => (mixed % 16) as f64,
            (Fill::Positive, false) => (mixed % 15 + 1) as f64,
        }
    };
    let data = (0..stored.iter().product()).map(|_| next()).collect();
    Operand {
        dims: dims.to_vec(),
        dtype,
        stored,
        places,
        starts,
        kept,
        data,
    }
}

fn program(op: &'static str, numbers: &[usize], operands: Vec<Operand>, terms: usize) -> Program {
    Program {
        op,
        numbers: numbers.to_vec(),
        operands,
        terms,
    }
}

/// Any program.
pub fn draw(draw: &mut Draw) -> Program {
    let groups = [
        elementwise,
        pairs,
        reduction,
        arrangement,
        lookup,
        window,
        products,
    ];
    groups[draw.below(groups.len())](draw)
}

fn elementwise(draw: &mut Draw) -> Program {
    const OF_FLOATS: [&str; 18] = [
        "exp", "sin", "cos", "tanh", "erf", "recip", "floor", "ceil", "round", "gelu", "gelu_erf",
        "silu", "log", "sqrt", "elu", "sign", "abs", "neg",
    ];
    const OF_ALL: [&str; 6] = ["sqr", "relu", "affine", "powf", "clamp", "to_dtype"];
    let dims = draw.dims_of(0..=6, 0);
    let numbers = [draw.below(4), draw.below(4)];
    let (op, dtype) = match draw.below(2) {
        0 => (draw.pick("op", &OF_FLOATS), draw.pick("dtype", &FLOATS)),
        _ => (draw.pick("op", &OF_ALL), draw.pick("dtype", &DTYPES)),
    };
    // What has no answer below 0, or leaves an integer's range there.
    let fill = match op {
        "log" | "sqrt" | "recip" | "powf" | "to_dtype" => Fill::Positive,
        _ => Fill::Eighths,
    };
    let x = operand(draw, &dims, dtype, fill);
    program(op, &numbers, vec![x], 4)
}

fn pairs(draw: &mut Draw) -> Program {
    const SAME: [&str; 12] = [
        "add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge",
    ];
    const BROADCAST: [&str; 8] = [
        "broadcast_add",
        "broadcast_sub",
        "broadcast_mul",
        "broadcast_div",
        "broadcast_maximum",
        "broadcast_minimum",
        "broadcast_eq",
        "broadcast_lt",
    ];
    let (dims, dtype) = (draw.dims_of(0..=6, 0), draw.pick("dtype", &DTYPES));
    let kind = draw.below(5);
    if kind == 4 {
        let condition = operand(draw, &dims, "u8", Fill::Below(2));
        let [a, b] = [(); 2].map(|()| operand(draw, &dims, dtype, Fill::Eighths));
        return program("where_cond", &[], vec![condition, a, b], 0);
    }
    let (op, left, right) = match kind < 2 {
        true => (draw.pick("op", &SAME), dims.clone(), dims),
        false => {
            let op = draw.pick("op", &BROADCAST);
            (op, draw.narrower(&dims), draw.narrower(&dims))
        }
    };
    // Differences of unsigned numbers wrap here; candle's debug and release builds differ.
    let sides = match op.contains("sub") {
        true => [Fill::Below(9), Fill::Below(1)],
        false => [Fill::Eighths, Fill::Positive],
    };
    let a = operand(draw, &left, dtype, sides[0]);
    let b = operand(draw, &right, dtype, sides[1]);
    program(op, &[], vec![a, b], 0)
}

fn reduction(draw: &mut Draw) -> Program {
    const OPS: [&str; 15] = [
        "sum",
        "sum_keepdim",
        "mean",
        "max",
        "min_keepdim",
        "argmax",
        "argmin_keepdim",
        "sum_all",
        "mean_all",
        "max_all",
        "var",
        "cumsum",
        "log_sum_exp",
        "arg_sort",
        "sort",
    ];
    let op = draw.pick("op", &OPS);
    let picks = op.contains("max") || op.contains("min");
    let mut dims = draw.dims_of(1..=6, usize::from(picks));
    let dim = draw.below(dims.len());
    let (numbers, dtype) = match op {
        "sum" | "sum_keepdim" => (draw.some_dims("over", dims.len()), draw.pick("t", &DTYPES)),
        "mean" | "log_sum_exp" => (draw.some_dims("over", dims.len()), draw.pick("t", &WIDE)),
        "var" | "cumsum" | "mean_all" => (vec![dim], draw.pick("t", &WIDE)),
        "arg_sort" | "sort" => (vec![draw.below(2)], draw.pick("t", &DTYPES)),
        _ => (vec![dim], draw.pick("t", &DTYPES)),
    };
    if dtype == "u8" {
        // Sums stay within the dtype.
        dims.iter_mut().for_each(|size| *size = (*size).min(2));
    }
    let x = operand(draw, &dims, dtype, Fill::Eighths);
    let terms = dims.iter().product();
    program(op, &numbers, vec![x], terms)
}

fn arrangement(draw: &mut Draw) -> Program {
    const OPS: [&str; 16] = [
        "cat",
        "stack",
        "chunk",
        "copy",
        "contiguous",
        "flatten",
        "squeeze",
        "unsqueeze",
        "transpose",
        "narrow",
        "flip",
        "roll",
        "repeat",
        "unfold",
        "pad_with_zeros",
        "pad_with_same",
    ];
    let (op, dtype) = (draw.pick("op", &OPS), draw.pick("dtype", &DTYPES));
    let mut dims = draw.dims_of(1..=6, usize::from(op == "pad_with_same"));
    let (rank, dim) = (dims.len(), draw.below(dims.len()));
    let (part, other) = (draw.below(dims[dim] + 1), draw.below(rank));
    let start = draw.below(dims[dim] - part + 1);
    let numbers = match op {
        "stack" => vec![draw.below(rank + 1)],
        "unsqueeze" => vec![draw.below(rank + 1)],
        "chunk" => vec![1 + draw.below(4), dim],
        "flatten" => vec![dim.min(other), dim.max(other)],
        "transpose" => vec![dim, other],
        "narrow" => vec![dim, start, part],
        "flip" => draw.some_dims("flipped", rank),
        "roll" => vec![draw.below(11), dim],
        // The elements grow at most ninefold.
        "repeat" => (0..rank)
            .map(|at| if at < 2 { 1 + draw.below(3) } else { 1 })
            .collect(),
        "unfold" => vec![dim, part.clamp(1, dims[dim].max(1)), 1 + draw.below(3)],
        "pad_with_zeros" | "pad_with_same" => vec![dim, draw.below(4), draw.below(4)],
        _ => vec![dim],
    };
    let mut operands = vec![operand(draw, &dims, dtype, Fill::Eighths)];
    if op == "cat" || op == "stack" {
        for _ in 0..draw.below(3) {
            if op == "cat" {
                dims[dim] = draw.size(0).min(20);
            }
            operands.push(operand(draw, &dims, dtype, Fill::Eighths));
        }
    }
    program(op, &numbers, operands, 0)
}

fn lookup(draw: &mut Draw) -> Program {
    const OPS: [&str; 7] = [
        "index_select",
        "gather",
        "embedding",
        "scatter",
        "scatter_add",
        "index_add",
        "slice_scatter",
    ];
    let (op, dtype) = (draw.pick("op", &OPS), draw.pick("dtype", &DTYPES));
    let mut dims = draw.dims_of(if op == "embedding" { 2..=2 } else { 1..=5 }, 1);
    let dim = if op == "embedding" {
        0
    } else {
        draw.below(dims.len())
    };
    dims[dim] = dims[dim].min(200);
    let (count, ids) = (draw.size(0).min(9), draw.pick("ids", &IDS));
    let x = operand(draw, &dims, dtype, Fill::Below(3));
    let mut other = dims.clone();
    other[dim] = count;
    let below = Fill::Below(dims[dim]);
    let mut operands = vec![x];
    let mut numbers = vec![dim];
    match op {
        "index_select" | "embedding" => operands.push(operand(draw, &[count], ids, below)),
        "gather" => operands.push(operand(draw, &other, ids, below)),
        "slice_scatter" => {
            other[dim] = count.min(dims[dim]);
            numbers.push(draw.below(dims[dim] - other[dim] + 1));
            operands.push(operand(draw, &other, dtype, Fill::Below(3)));
        }
        _ => {
            let of_ids = if op == "index_add" {
                vec![count]
            } else {
                other.clone()
            };
            operands.push(operand(draw, &of_ids, ids, below));
            operands.push(operand(draw, &other, dtype, Fill::Below(3)));
        }
    }
    program(op, &numbers, operands, 0)
}

fn window(draw: &mut Draw) -> Program {
    const OPS: [&str; 9] = [
        "conv1d",
        "conv2d",
        "conv_transpose1d",
        "conv_transpose2d",
        "max_pool2d",
        "avg_pool2d",
        "upsample_nearest1d",
        "upsample_nearest2d",
        "upsample_bilinear2d",
    ];
    let (op, dtype) = (draw.pick("op", &OPS), draw.pick("dtype", &WIDE));
    let spatial = if op.ends_with("1d") { 1 } else { 2 };
    let groups = if op == "conv_transpose2d" {
        1
    } else {
        draw.pick("groups", &[1, 1, 2, 3])
    };
    let (channels, each) = (1 + draw.below(4), 1 + draw.below(5));
    let mut image = vec![1 + draw.below(2), channels * groups];
    image.extend((0..spatial).map(|_| 6 + draw.below(15)));
    let taps: Vec<usize> = (0..spatial).map(|_| 1 + draw.below(4)).collect();
    if !op.starts_with("conv") {
        let mut numbers: Vec<usize> = (0..4).map(|_| 1 + draw.below(3)).collect();
        if op.starts_with("upsample") {
            numbers = vec![1 + draw.below(40), 1 + draw.below(40), draw.below(2)];
        }
        let x = operand(draw, &image, dtype, Fill::Eighths);
        // A place is off by some units of its size, which a slope of 16 magnifies.
        let terms = if op == "upsample_bilinear2d" { 400 } else { 20 };
        return program(op, &numbers, vec![x], terms);
    }
    let sides = match op.contains("transpose") {
        true => [channels * groups, each],
        false => [each * groups, channels],
    };
    let kernel = [&sides[..], &taps].concat();
    let numbers = [draw.below(3), 1 + draw.below(3), 1 + draw.below(2), groups];
    let x = operand(draw, &image, dtype, Fill::Eighths);
    let k = operand(draw, &kernel, dtype, Fill::Eighths);
    program(op, &numbers, vec![x, k], channels * 16)
}

fn products(draw: &mut Draw) -> Program {
    let batch = draw.dims_of(0..=2, 0);
    let batch = if batch.iter().product::<usize>() > 12 {
        vec![2]
    } else {
        batch
    };
    let [rows, inner, columns] = [(); 3].map(|()| draw.size(0));
    let dtype = draw.pick("dtype", &WIDE);
    let (op, left, right) = match draw.below(2) {
        0 => ("matmul", batch.clone(), batch),
        _ => (
            "broadcast_matmul",
            draw.narrower(&batch),
            draw.narrower(&batch),
        ),
    };
    let a = operand(
        draw,
        &[left, vec![rows, inner]].concat(),
        dtype,
        Fill::Eighths,
    );
    let b = operand(
        draw,
        &[right, vec![inner, columns]].concat(),
        dtype,
        Fill::Eighths,
    );
    program(op, &[], vec![a, b], inner)
}
