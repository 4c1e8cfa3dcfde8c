//! The operations, by the interface that candle and Tallow share. `main.rs` has it as a module once
//! for each, which names that crate `library`.

use super::library;
use crate::program::{Operand, Program};
use library::{D, DType, Device, Result, Tensor};

/// What came out: sizes, dtype, elements; or why nothing did.
pub fn outcome(program: &Program) -> Result<(Vec<usize>, String, Vec<f64>)> {
    let x: Vec<Tensor> = program.operands.iter().map(tensor).collect::<Result<_>>()?;
    let (op, n) = (program.op, program.numbers.as_slice());
    let groups = [elementwise, pairs, reduction, arrangement, lookup, window];
    let mut found = groups.iter().filter_map(|group| group(op, n, &x));
    let Some(out) = found.next() else {
        library::bail!("no operation is called {op}");
    };
    let out = out?;
    let values = out.contiguous()?.flatten_all()?.to_dtype(DType::F64)?;
    let dtype = out.dtype().as_str().to_owned();
    Ok((out.dims().to_vec(), dtype, values.to_vec1()?))
}

fn dtype(name: &str) -> Result<DType> {
    name.parse().map_err(library::Error::wrap)
}

fn tensor(operand: &Operand) -> Result<Tensor> {
    let stored = Tensor::from_vec(operand.data.clone(), operand.stored.clone(), &Device::Cpu)?;
    let mut x = stored.to_dtype(dtype(operand.dtype)?)?;
    if operand.places.len() > 1 {
        x = x.permute(operand.places.clone())?;
    }
    for (dim, (&start, &len)) in operand.starts.iter().zip(&operand.kept).enumerate() {
        x = x.narrow(dim, start, len)?;
    }
    x.broadcast_as(operand.dims.clone())
}

type Found = Option<Result<Tensor>>;

fn elementwise(op: &str, n: &[usize], x: &[Tensor]) -> Found {
    let x = x.first()?;
    Some(match op {
        "exp" => x.exp(),
        "log" => x.log(),
        "sin" => x.sin(),
        "cos" => x.cos(),
        "tanh" => x.tanh(),
        "erf" => x.erf(),
        "sqrt" => x.sqrt(),
        "recip" => x.recip(),
        "sqr" => x.sqr(),
        "abs" => x.abs(),
        "neg" => x.neg(),
        "sign" => x.sign(),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "round" => x.round(),
        "relu" => x.relu(),
        "gelu" => x.gelu(),
        "gelu_erf" => x.gelu_erf(),
        "silu" => x.silu(),
        "affine" => x.affine(n[0] as f64, n[1] as f64),
        "powf" => x.powf(n[0] as f64),
        "elu" => x.elu(n[0] as f64),
        "clamp" => x.clamp(n[0] as f64, (n[0] + n[1]) as f64),
        "to_dtype" => dtype(crate::program::DTYPES[n[0]]).and_then(|to| x.to_dtype(to)),
        _ => return None,
    })
}

fn pairs(op: &str, _: &[usize], x: &[Tensor]) -> Found {
    let [a, b, rest @ ..] = x else { return None };
    Some(match op {
        "add" => a.add(b),
        "sub" => a.sub(b),
        "mul" => a.mul(b),
        "div" => a.div(b),
        "maximum" => a.maximum(b),
        "minimum" => a.minimum(b),
        "eq" => a.eq(b),
        "ne" => a.ne(b),
        "lt" => a.lt(b),
        "le" => a.le(b),
        "gt" => a.gt(b),
        "ge" => a.ge(b),
        "broadcast_add" => a.broadcast_add(b),
        "broadcast_sub" => a.broadcast_sub(b),
        "broadcast_mul" => a.broadcast_mul(b),
        "broadcast_div" => a.broadcast_div(b),
        "broadcast_maximum" => a.broadcast_maximum(b),
        "broadcast_minimum" => a.broadcast_minimum(b),
        "broadcast_eq" => a.broadcast_eq(b),
        "broadcast_lt" => a.broadcast_lt(b),
        "where_cond" => a.where_cond(b, rest.first()?),
        "matmul" => a.matmul(b),
        "broadcast_matmul" => a.broadcast_matmul(b),
        _ => return None,
    })
}

fn reduction(op: &str, n: &[usize], x: &[Tensor]) -> Found {
    let x = x.first()?;
    Some(match op {
        "sum" => x.sum(n),
        "sum_keepdim" => x.sum_keepdim(n),
        "mean" => x.mean(n),
        "max" => x.max(n[0]),
        "min_keepdim" => x.min_keepdim(n[0]),
        "argmax" => x.argmax(n[0]),
        "argmin_keepdim" => x.argmin_keepdim(n[0]),
        "sum_all" => x.sum_all(),
        "mean_all" => x.mean_all(),
        "max_all" => x.max_all(),
        "var" => x.var(n[0]),
        "cumsum" => x.cumsum(n[0]),
        "log_sum_exp" => x.log_sum_exp(n),
        "arg_sort" => x.arg_sort_last_dim(n[0] == 1),
        "sort" => x.sort_last_dim(n[0] == 1).map(|(values, _)| values),
        _ => return None,
    })
}

fn arrangement(op: &str, n: &[usize], x: &[Tensor]) -> Found {
    let first = x.first()?;
    Some(match op {
        "cat" => Tensor::cat(x, n[0]),
        "stack" => Tensor::stack(x, n[0]),
        "chunk" => first.chunk(n[0], n[1]).map(|mut all| all.swap_remove(0)),
        "copy" => first.copy(),
        "contiguous" => first.contiguous(),
        "flatten" => first.flatten(n[0], n[1]),
        "squeeze" => first.squeeze(n[0]),
        "unsqueeze" => first.unsqueeze(n[0]),
        "transpose" => first.transpose(n[0], n[1]),
        "narrow" => first.narrow(n[0], n[1], n[2]),
        "flip" => first.flip(n),
        "roll" => first.roll(n[0] as i32 - 5, n[1]),
        "repeat" => first.repeat(n),
        "unfold" => first.unfold(n[0], n[1], n[2]),
        "pad_with_zeros" => first.pad_with_zeros(n[0], n[1], n[2]),
        "pad_with_same" => first.pad_with_same(n[0], n[1], n[2]),
        _ => return None,
    })
}

fn lookup(op: &str, n: &[usize], x: &[Tensor]) -> Found {
    let [target, ids, rest @ ..] = x else {
        return None;
    };
    let source = || rest.first().unwrap_or(ids);
    Some(match op {
        "index_select" => target.index_select(ids, n[0]),
        "gather" => target.gather(ids, n[0]),
        "embedding" => target.embedding(ids),
        "scatter" => target.scatter(ids, source(), n[0]),
        "scatter_add" => target.scatter_add(ids, source(), n[0]),
        "index_add" => target.index_add(ids, source(), n[0]),
        "slice_scatter" => target.slice_scatter(ids, n[0], n[1]),
        _ => return None,
    })
}

fn window(op: &str, n: &[usize], x: &[Tensor]) -> Found {
    let first = x.first()?;
    let kernel = || x.last().unwrap_or(first);
    Some(match op {
        "conv1d" => first.conv1d(kernel(), n[0], n[1], n[2], n[3]),
        "conv2d" => first.conv2d(kernel(), n[0], n[1], n[2], n[3]),
        "conv_transpose1d" => first.conv_transpose1d(kernel(), n[0], 0, n[1], n[2], n[3]),
        "conv_transpose2d" => first.conv_transpose2d(kernel(), n[0], 0, n[1], n[2]),
        "max_pool2d" => first.max_pool2d_with_stride((n[0], n[1]), (n[2], n[3])),
        "avg_pool2d" => first.avg_pool2d_with_stride((n[0], n[1]), (n[2], n[3])),
        "upsample_nearest1d" => first.upsample_nearest1d(n[0]),
        "upsample_nearest2d" => first.upsample_nearest2d(n[0], n[1]),
        "upsample_bilinear2d" => first.upsample_bilinear2d(n[0], n[1], n[2] == 1),
        "t_last" => first.transpose(D::Minus1, D::Minus2),
        _ => return None,
    })
}
