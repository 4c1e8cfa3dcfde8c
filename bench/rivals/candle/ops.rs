//! The ops of bench/rivals in candle: one line each, `name<TAB>microseconds`.
//!
//! README.md says what a sample is and what every name stands for.

mod arguments;

use std::cell::RefCell;
use std::hint::black_box;
use std::time::Instant;

use arguments::{Arguments, median};
use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{D, DType, Device, Module, Result, Tensor, Var};
use candle_nn::Optimizer;

/// A sample lasts at least this long: short ops are repeated within it.
const SAMPLE_US_MIN: f64 = 2_000.0;
/// Most calls within one sample.
const CALLS_MAX: f64 = 1_000.0;

struct Bench {
    arguments: Arguments,
}

impl Bench {
    /// Measures the op that `prepare` builds, if it is asked for. An op that this release refuses
    /// is reported in words and has no line.
    fn op<F>(&self, name: &str, prepare: impl FnOnce() -> Result<F>)
    where
        F: Fn() -> Result<Tensor>,
    {
        if !self.arguments.wants(name, true) {
            return;
        }
        match prepare().and_then(|op| self.microseconds(&op)) {
            Ok(microseconds) => println!("{name}\t{microseconds:.3}"),
            Err(error) => {
                let error = error.to_string();
                println!("# {name}: {}", error.lines().next().unwrap_or("failed"));
            }
        }
    }

    fn microseconds(&self, op: &impl Fn() -> Result<Tensor>) -> Result<f64> {
        let time = |calls: usize| -> Result<f64> {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(op()?);
            }
            Ok(start.elapsed().as_secs_f64() * 1e6)
        };
        let warm_up = time(1)?.min(time(1)?);
        let calls = (SAMPLE_US_MIN / warm_up).ceil().clamp(1.0, CALLS_MAX) as usize;
        let samples = (0..self.arguments.samples(9)).map(|_| Ok(time(calls)? / calls as f64));
        Ok(median(samples.collect::<Result<Vec<_>>>()?))
    }
}

/// Values that look random, uniform in [-1, 1): the same ones in every rival.
fn values(shape: &[usize]) -> Result<Tensor> {
    let count = shape.iter().product::<usize>() as u32;
    let value = |index: u32| {
        let mut bits = index.wrapping_mul(0x9e37_79b9);
        bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
        bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
        bits ^= bits >> 16;
        (bits >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    Tensor::from_vec((0..count).map(value).collect(), shape, &Device::Cpu)
}

fn main() -> std::result::Result<(), String> {
    let bench = Bench {
        arguments: Arguments::read()?,
    };
    products(&bench);
    elementwise(&bench);
    casts(&bench);
    reductions(&bench);
    rows(&bench);
    movement(&bench);
    indexing(&bench);
    images(&bench);
    small(&bench);
    contexts(&bench);
    training(&bench);
    attention(&bench);
    quantized(&bench);
    Ok(())
}

fn products(bench: &Bench) {
    let types = [
        ("f32", DType::F32, &[256, 1024, 2048][..]),
        ("f16", DType::F16, &[256, 1024, 2048]),
        ("bf16", DType::BF16, &[256, 1024, 2048]),
        ("f64", DType::F64, &[256, 1024, 2048]),
    ];
    for (type_name, dtype, sizes) in types {
        for &size in sizes {
            bench.op(&format!("matmul_{type_name}_{size}"), || {
                let matrix = values(&[size, size])?.to_dtype(dtype)?;
                Ok(move || matrix.matmul(&matrix))
            });
        }
    }
    bench.op("bmm_f32_32x128x64x128", || {
        let (lhs, rhs) = (values(&[32, 128, 64])?, values(&[32, 64, 128])?);
        Ok(move || lhs.matmul(&rhs))
    });
    for (name, dtype) in [("f32", DType::F32), ("bf16", DType::BF16)] {
        bench.op(&format!("gemv_{name}_1x2048x2048"), || {
            let lhs = values(&[1, 2048])?.to_dtype(dtype)?;
            let rhs = values(&[2048, 2048])?.to_dtype(dtype)?;
            Ok(move || lhs.matmul(&rhs))
        });
    }
    bench.op("gemv_f32_1x2048x2048_rhsT", || {
        let (lhs, rhs) = (values(&[1, 2048])?, values(&[2048, 2048])?.t()?);
        Ok(move || lhs.matmul(&rhs))
    });
}

fn elementwise(bench: &Bench) {
    let large = || values(&[2048, 2048]);
    let unary = |name: &str, op: fn(&Tensor) -> Result<Tensor>| {
        bench.op(name, || large().map(|x| move || op(&x)));
    };
    let binary = |name: &str, op: fn(&Tensor, &Tensor) -> Result<Tensor>| {
        bench.op(name, || {
            let (lhs, rhs) = (large()?, large()?.t()?.contiguous()?);
            Ok(move || op(&lhs, &rhs))
        });
    };
    unary("exp_4M", Tensor::exp);
    binary("add_4M", |lhs, rhs| lhs + rhs);
    binary("mul_4M", |lhs, rhs| lhs * rhs);
    bench.op("sqrt_4M", || {
        let x = large()?.abs()?;
        Ok(move || x.sqrt())
    });
    unary("gelu_4M", Tensor::gelu);
    unary("gelu_erf_4M", Tensor::gelu_erf);
    unary("silu_4M", Tensor::silu);
    unary("tanh_4M", Tensor::tanh);
    unary("relu_4M", Tensor::relu);
    unary("affine_4M", |x| x.affine(2.0, 1.0));
    binary("gt_4M", |lhs, rhs| lhs.gt(rhs));
    for (name, shape) in [("2048", [1, 2048]), ("2048x1", [2048, 1])] {
        bench.op(&format!("broadcast_add_2048x2048+{name}"), || {
            let (lhs, rhs) = (large()?, values(&shape)?);
            Ok(move || lhs.broadcast_add(&rhs))
        });
    }
}

fn casts(bench: &Bench) {
    let types = [("f16", DType::F16), ("bf16", DType::BF16)];
    for (name, dtype) in types {
        bench.op(&format!("to_{name}_4M"), || {
            let x = values(&[2048, 2048])?;
            Ok(move || x.to_dtype(dtype))
        });
    }
    for (name, dtype) in types {
        bench.op(&format!("{name}_to_f32_4M"), || {
            let x = values(&[2048, 2048])?.to_dtype(dtype)?;
            Ok(move || x.to_dtype(DType::F32))
        });
    }
}

fn reductions(bench: &Bench) {
    let reduce = |name: &str, op: fn(&Tensor) -> Result<Tensor>| {
        bench.op(name, || values(&[2048, 2048]).map(|x| move || op(&x)));
    };
    reduce("sum_all_4M", Tensor::sum_all);
    reduce("sum_lastdim_2048x2048", |x| x.sum(D::Minus1));
    reduce("sum_dim0_2048x2048", |x| x.sum(0));
    reduce("max_lastdim_2048x2048", |x| x.max(D::Minus1));
    reduce("max_all_4M", Tensor::max_all);
    reduce("argmax_lastdim_2048x2048", |x| x.argmax(D::Minus1));
}

fn rows(bench: &Bench) {
    bench.op("softmax_last_dim_2048x2048", || {
        let x = values(&[2048, 2048])?;
        Ok(move || candle_nn::ops::softmax_last_dim(&x))
    });
    bench.op("rms_norm_2048x1024", || {
        let (x, weight) = (values(&[2048, 1024])?, values(&[1024])?);
        Ok(move || candle_nn::ops::rms_norm(&x, &weight, 1e-5))
    });
    bench.op("layer_norm_2048x1024", || {
        let (x, weight, bias) = (values(&[2048, 1024])?, values(&[1024])?, values(&[1024])?);
        Ok(move || candle_nn::ops::layer_norm(&x, &weight, &bias, 1e-5))
    });
    bench.op("sort_last_dim_1024x1024", || {
        let x = values(&[1024, 1024])?;
        Ok(move || Ok(x.sort_last_dim(true)?.0))
    });
}

fn movement(bench: &Bench) {
    bench.op("transpose_contiguous_2048x2048", || {
        let x = values(&[2048, 2048])?.t()?;
        Ok(move || x.contiguous())
    });
    bench.op("index_select_2048_of_49152x576", || {
        let table = values(&[49152, 576])?;
        let rows = (0..2048_u32).map(|index| index * 7919 % 49152).collect();
        let rows = Tensor::from_vec(rows, 2048, &Device::Cpu)?;
        Ok(move || table.index_select(&rows, 0))
    });
    for dim in [0, 1] {
        bench.op(&format!("cat_dim{dim}_2x1024x2048"), || {
            let (first, second) = (values(&[1024, 2048])?, values(&[1024, 2048])?);
            Ok(move || Tensor::cat(&[&first, &second], dim))
        });
    }
}

/// Indexes in no order, each below `below`.
fn ids(shape: &[usize], below: u32) -> Result<Tensor> {
    let count = shape.iter().product::<usize>() as u32;
    let ids = (0..count).map(|index| index.wrapping_mul(7919) % below);
    Tensor::from_vec(ids.collect(), shape, &Device::Cpu)
}

fn indexing(bench: &Bench) {
    bench.op("index_add_49152_of_2048x576", || {
        let (table, source) = (values(&[2048, 576])?, values(&[49152, 576])?);
        let ids = ids(&[49152], 2048)?;
        Ok(move || table.index_add(&ids, &source, 0))
    });
    for dim in [0, 1] {
        bench.op(&format!("gather_dim{dim}_1024x1024"), || {
            let (x, ids) = (values(&[1024, 1024])?, ids(&[1024, 1024], 1024)?);
            Ok(move || x.gather(&ids, dim))
        });
        bench.op(&format!("scatter_dim{dim}_1024x1024"), || {
            let (x, ids) = (values(&[1024, 1024])?, ids(&[1024, 1024], 1024)?);
            Ok(move || x.scatter(&ids, &x, dim))
        });
        bench.op(&format!("scatter_add_dim{dim}_1024x1024"), || {
            let (x, ids) = (values(&[1024, 1024])?, ids(&[1024, 1024], 1024)?);
            Ok(move || x.scatter_add(&ids, &x, dim))
        });
        bench.op(&format!("cumsum_dim{dim}_1024x1024"), || {
            let x = values(&[1024, 1024])?;
            Ok(move || x.cumsum(dim))
        });
    }
    bench.op("rand_4M", || Ok(|| Tensor::rand(0f32, 1., (2048, 2048), &Device::Cpu)));
    bench.op("randn_4M", || Ok(|| Tensor::randn(0f32, 1., (2048, 2048), &Device::Cpu)));
}

fn images(bench: &Bench) {
    // The input, the kernel, and `[padding, stride, groups]`.
    let convolutions: [(&str, &[usize], &[usize], [usize; 3]); 8] = [
        (
            "conv2d_1x64x56x56_64x3x3p1",
            &[1, 64, 56, 56],
            &[64, 64, 3, 3],
            [1, 1, 1],
        ),
        (
            "conv2d_1x3x224x224_64x7x7s2p3",
            &[1, 3, 224, 224],
            &[64, 3, 7, 7],
            [3, 2, 1],
        ),
        (
            "conv2d_1x256x56x56_64x1x1",
            &[1, 256, 56, 56],
            &[64, 256, 1, 1],
            [0, 1, 1],
        ),
        (
            "conv2d_1x512x7x7_512x3x3p1",
            &[1, 512, 7, 7],
            &[512, 512, 3, 3],
            [1, 1, 1],
        ),
        (
            "conv2d_1x96x56x56_96x3x3p1g96",
            &[1, 96, 56, 56],
            &[96, 1, 3, 3],
            [1, 1, 96],
        ),
        (
            "conv1d_1x80x3000_512x3p1",
            &[1, 80, 3000],
            &[512, 80, 3],
            [1, 1, 1],
        ),
        (
            "conv1d_1x512x3000_512x3s2p1",
            &[1, 512, 3000],
            &[512, 512, 3],
            [1, 2, 1],
        ),
        (
            "conv1d_1x512x1500_512x3p1",
            &[1, 512, 1500],
            &[512, 512, 3],
            [1, 1, 1],
        ),
    ];
    for (name, input, kernel, [padding, stride, groups]) in convolutions {
        bench.op(name, || {
            let (x, kernel) = (values(input)?, values(kernel)?);
            Ok(move || match input.len() {
                3 => x.conv1d(&kernel, padding, stride, 1, groups),
                _ => x.conv2d(&kernel, padding, stride, 1, groups),
            })
        });
    }
    bench.op("conv_transpose1d_1x512x100_256x16s8p4", || {
        let (x, kernel) = (values(&[1, 512, 100])?, values(&[512, 256, 16])?);
        Ok(move || x.conv_transpose1d(&kernel, 4, 0, 8, 1, 1))
    });
    bench.op("conv_transpose2d_1x64x56x56_64x2x2s2", || {
        let (x, kernel) = (values(&[1, 64, 56, 56])?, values(&[64, 64, 2, 2])?);
        Ok(move || x.conv_transpose2d(&kernel, 0, 0, 2, 1))
    });
    let image = |name: &str, call: fn(&Tensor) -> Result<Tensor>| {
        bench.op(name, || {
            let x = values(&[1, 64, 56, 56])?;
            Ok(move || call(&x))
        });
    };
    image("max_pool2d_1x64x56x56_2x2", |x| x.max_pool2d(2));
    image("max_pool2d_1x64x56x56_3x3s2", |x| {
        x.max_pool2d_with_stride(3, 2)
    });
    image("avg_pool2d_1x64x56x56_2x2", |x| x.avg_pool2d(2));
    image("upsample_nearest2d_1x64x56x56_x2", |x| {
        x.upsample_nearest2d(112, 112)
    });
    image("upsample_bilinear2d_1x64x56x56_x2", |x| {
        x.upsample_bilinear2d(112, 112, false)
    });
}

/// What is left of a call when there is next to nothing to compute.
fn small(bench: &Bench) {
    bench.op("add_64", || {
        let (lhs, rhs) = (values(&[64])?, values(&[64])?);
        Ok(move || &lhs + &rhs)
    });
}

fn contexts(bench: &Bench) {
    for size in [64, 256, 1024] {
        let matrix = move || values(&[size, size]);
        bench.op(&format!("context_plain_matmul_{size}"), || {
            let matrix = matrix()?;
            Ok(move || matrix.matmul(&matrix))
        });
        bench.op(&format!("context_inside_matmul_{size}"), || {
            let matrix = matrix()?;
            Ok(move || Device::Cpu.with_context(|| matrix.matmul(&matrix)))
        });
    }
}

/// One step of training: forward, gradients, AdamW. The classes are `i mod 10`.
fn training(bench: &Bench) {
    for [batch, inputs, hidden] in [[64, 64, 100], [64, 784, 256]] {
        bench.op(&format!("mlp_step_{batch}x{inputs}x{hidden}x10"), || {
            let weight = |rows: usize, columns: usize| {
                let scale = (columns as f64).sqrt().recip();
                Var::from_tensor(&(values(&[rows, columns])? * scale)?)
            };
            let zeros = |count| Var::zeros(count, DType::F32, &Device::Cpu);
            let (w1, b1) = (weight(hidden, inputs)?, zeros(hidden)?);
            let (w2, b2) = (weight(10, hidden)?, zeros(10)?);
            let vars = vec![w1.clone(), b1.clone(), w2.clone(), b2.clone()];
            let linear = |w: &Var, b: &Var| {
                candle_nn::Linear::new(w.as_tensor().clone(), Some(b.as_tensor().clone()))
            };
            let (first, second) = (linear(&w1, &b1), linear(&w2, &b2));
            let classes = (0..batch as u32).map(|index| index % 10).collect();
            let classes = Tensor::from_vec(classes, batch, &Device::Cpu)?;
            let x = values(&[batch, inputs])?;
            let optimizer = RefCell::new(candle_nn::AdamW::new_lr(vars, 1e-3)?);
            Ok(move || {
                let logits = second.forward(&first.forward(&x)?.relu()?)?;
                let loss = candle_nn::loss::cross_entropy(&logits, &classes)?;
                optimizer.borrow_mut().backward_step(&loss)?;
                Ok(loss)
            })
        });
    }
}

fn attention(bench: &Bench) {
    let shapes = [
        ("attn_1x9x512x64_naive", 512, 512),
        ("attn_decode_kv2048_naive", 1, 2048),
    ];
    for (name, queries, keys) in shapes {
        bench.op(name, || {
            let query = values(&[1, 9, queries, 64])?;
            let (key, value) = (values(&[1, 9, keys, 64])?, values(&[1, 9, keys, 64])?);
            Ok(move || {
                let scores = (query.matmul(&key.t()?)? * 0.125)?;
                candle_nn::ops::softmax_last_dim(&scores)?.matmul(&value)
            })
        });
    }
}

fn quantized(bench: &Bench) {
    let qmm = |type_name: &str, dtype: GgmlDType, [rows, inner, columns]: [usize; 3]| {
        bench.op(&format!("qmm_{type_name}_{rows}x{inner}x{columns}"), || {
            let weight = QTensor::quantize(&values(&[columns, inner])?, dtype)?;
            let weight = QMatMul::from_qtensor(weight)?;
            let x = values(&[rows, inner])?;
            Ok(move || weight.forward(&x))
        });
    };
    qmm("Q8_0", GgmlDType::Q8_0, [1, 576, 1536]);
    qmm("Q4_1", GgmlDType::Q4_1, [1, 576, 1536]);
    let types = [
        ("Q4_K", GgmlDType::Q4K),
        ("Q8_0", GgmlDType::Q8_0),
        ("Q4_0", GgmlDType::Q4_0),
        ("Q4_1", GgmlDType::Q4_1),
        ("Q6_K", GgmlDType::Q6K),
        ("F16", GgmlDType::F16),
    ];
    for (name, dtype) in types {
        qmm(name, dtype, [1, 2048, 2048]);
        qmm(name, dtype, [512, 2048, 2048]);
    }
}
