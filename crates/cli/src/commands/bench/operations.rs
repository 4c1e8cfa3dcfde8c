//! The operations that `bench ops` measures: each a name and what makes its inputs.
//!
//! Names and inputs are those of `bench/rivals/README.md`. A family is a function and its line in
//! [`ALL`].

use std::cell::RefCell;

use tallow::ops::{self, AttentionOptions};
use tallow::quantized::{GgmlDType, QMatMul, QTensor};
use tallow::{D, DType, Device, Module, Tensor, Var};
use tallow_nn::{AdamW, Linear, Optimizer};

use super::timing;
use crate::error::Result;

/// The work of one call.
pub(super) type Work = Box<dyn Fn() -> tallow::Result<Tensor>>;

/// One measurement.
pub(super) struct Operation {
    pub(super) name: String,
    /// Makes the inputs and gives the call over them.
    pub(super) prepare: Box<dyn Fn() -> Result<Work>>,
}

/// Every family.
pub(super) const ALL: &[fn() -> Vec<Operation>] = &[
    products,
    elementwise,
    casts,
    reductions,
    rows,
    movement,
    indexing,
    images,
    small,
    contexts,
    training,
    attention,
    quantized,
];

fn operation<W>(
    name: impl Into<String>,
    prepare: impl Fn() -> tallow::Result<W> + 'static,
) -> Operation
where
    W: Fn() -> tallow::Result<Tensor> + 'static,
{
    let prepare = move || {
        let work: Work = Box::new(prepare()?);
        Ok(work)
    };
    Operation {
        name: name.into(),
        prepare: Box::new(prepare),
    }
}

fn values(shape: &[usize]) -> tallow::Result<Tensor> {
    let values = timing::values(shape.iter().product());
    Tensor::from_vec(values, shape, &Device::Cpu)
}

/// 4,194,304 values.
fn large() -> tallow::Result<Tensor> {
    values(&[2048, 2048])
}

fn products() -> Vec<Operation> {
    let types = [
        ("f32", DType::F32),
        ("f16", DType::F16),
        ("bf16", DType::BF16),
        ("f64", DType::F64),
    ];
    let mut found = Vec::new();
    for (type_name, dtype) in types {
        for size in [256, 1024, 2048] {
            found.push(operation(format!("matmul_{type_name}_{size}"), move || {
                let matrix = values(&[size, size])?.to_dtype(dtype)?;
                Ok(move || matrix.matmul(&matrix))
            }));
        }
    }
    found.push(operation("bmm_f32_32x128x64x128", || {
        let (lhs, rhs) = (values(&[32, 128, 64])?, values(&[32, 64, 128])?);
        Ok(move || lhs.matmul(&rhs))
    }));
    for (name, dtype) in [("f32", DType::F32), ("bf16", DType::BF16)] {
        found.push(operation(format!("gemv_{name}_1x2048x2048"), move || {
            let lhs = values(&[1, 2048])?.to_dtype(dtype)?;
            let rhs = large()?.to_dtype(dtype)?;
            Ok(move || lhs.matmul(&rhs))
        }));
    }
    found.push(operation("gemv_f32_1x2048x2048_rhsT", || {
        let (lhs, rhs) = (values(&[1, 2048])?, large()?.t()?);
        Ok(move || lhs.matmul(&rhs))
    }));
    found
}

fn unary(name: &str, call: fn(&Tensor) -> tallow::Result<Tensor>) -> Operation {
    operation(name, move || {
        let x = large()?;
        Ok(move || call(&x))
    })
}

fn binary(name: &str, call: fn(&Tensor, &Tensor) -> tallow::Result<Tensor>) -> Operation {
    operation(name, move || {
        let (lhs, rhs) = (large()?, large()?.t()?.contiguous()?);
        Ok(move || call(&lhs, &rhs))
    })
}

fn elementwise() -> Vec<Operation> {
    let mut found = vec![
        unary("exp_4M", Tensor::exp),
        binary("add_4M", Tensor::add),
        binary("mul_4M", Tensor::mul),
        operation("sqrt_4M", || {
            let x = large()?.abs()?;
            Ok(move || x.sqrt())
        }),
        unary("gelu_4M", Tensor::gelu),
        unary("gelu_erf_4M", Tensor::gelu_erf),
        unary("silu_4M", Tensor::silu),
        unary("tanh_4M", Tensor::tanh),
        unary("relu_4M", Tensor::relu),
        unary("affine_4M", |x| x.affine(2.0, 1.0)),
        binary("gt_4M", |lhs, rhs| lhs.gt(rhs)),
    ];
    for (name, shape) in [("2048", [1, 2048]), ("2048x1", [2048, 1])] {
        let name = format!("broadcast_add_2048x2048+{name}");
        found.push(operation(name, move || {
            let (lhs, rhs) = (large()?, values(&shape)?);
            Ok(move || lhs.broadcast_add(&rhs))
        }));
    }
    found
}

fn casts() -> Vec<Operation> {
    let mut found = Vec::new();
    for (name, dtype) in [("f16", DType::F16), ("bf16", DType::BF16)] {
        found.push(operation(format!("to_{name}_4M"), move || {
            let x = large()?;
            Ok(move || x.to_dtype(dtype))
        }));
        found.push(operation(format!("{name}_to_f32_4M"), move || {
            let x = large()?.to_dtype(dtype)?;
            Ok(move || x.to_dtype(DType::F32))
        }));
    }
    found
}

fn reductions() -> Vec<Operation> {
    vec![
        unary("sum_all_4M", Tensor::sum_all),
        unary("sum_lastdim_2048x2048", |x| x.sum(D::Minus1)),
        unary("sum_dim0_2048x2048", |x| x.sum(0)),
        unary("max_lastdim_2048x2048", |x| x.max(D::Minus1)),
        unary("max_all_4M", Tensor::max_all),
        unary("argmax_lastdim_2048x2048", |x| x.argmax(D::Minus1)),
    ]
}

fn rows() -> Vec<Operation> {
    vec![
        unary("softmax_last_dim_2048x2048", ops::softmax_last_dim),
        operation("rms_norm_2048x1024", || {
            let (x, weight) = (values(&[2048, 1024])?, values(&[1024])?);
            Ok(move || ops::rms_norm(&x, &weight, 1e-5))
        }),
        operation("layer_norm_2048x1024", || {
            let x = values(&[2048, 1024])?;
            let (weight, bias) = (values(&[1024])?, values(&[1024])?);
            Ok(move || ops::layer_norm(&x, &weight, &bias, 1e-5))
        }),
        operation("sort_last_dim_1024x1024", || {
            let x = values(&[1024, 1024])?;
            Ok(move || Ok(x.sort_last_dim(true)?.0))
        }),
    ]
}

fn movement() -> Vec<Operation> {
    let mut found = vec![
        operation("transpose_contiguous_2048x2048", || {
            let x = large()?.t()?;
            Ok(move || x.contiguous())
        }),
        operation("index_select_2048_of_49152x576", || {
            let table = values(&[49_152, 576])?;
            let ids: Vec<u32> = (0..2048).map(|index| index * 7919 % 49_152).collect();
            let ids = Tensor::from_vec(ids, 2048, &Device::Cpu)?;
            Ok(move || table.index_select(&ids, 0))
        }),
    ];
    for dim in [0_usize, 1] {
        found.push(operation(format!("cat_dim{dim}_2x1024x2048"), move || {
            let (first, second) = (values(&[1024, 2048])?, values(&[1024, 2048])?);
            Ok(move || Tensor::cat(&[&first, &second], dim))
        }));
    }
    found
}

/// Indexes in no order, each below `below`.
fn ids(shape: &[usize], below: u32) -> tallow::Result<Tensor> {
    let count = shape.iter().product::<usize>() as u32;
    let ids = (0..count).map(|index| index.wrapping_mul(7919) % below);
    Tensor::from_vec(ids.collect(), shape, &Device::Cpu)
}

fn indexing() -> Vec<Operation> {
    let mut found = vec![operation("index_add_49152_of_2048x576", || {
        let (table, source) = (values(&[2048, 576])?, values(&[49_152, 576])?);
        let ids = ids(&[49_152], 2048)?;
        Ok(move || table.index_add(&ids, &source, 0))
    })];
    for dim in [0_usize, 1] {
        found.push(operation(format!("gather_dim{dim}_1024x1024"), move || {
            let (x, ids) = (values(&[1024, 1024])?, ids(&[1024, 1024], 1024)?);
            Ok(move || x.gather(&ids, dim))
        }));
        found.push(operation(
            format!("scatter_dim{dim}_1024x1024"),
            move || {
                let (x, ids) = (values(&[1024, 1024])?, ids(&[1024, 1024], 1024)?);
                Ok(move || x.scatter(&ids, &x, dim))
            },
        ));
        found.push(operation(
            format!("scatter_add_dim{dim}_1024x1024"),
            move || {
                let (x, ids) = (values(&[1024, 1024])?, ids(&[1024, 1024], 1024)?);
                Ok(move || x.scatter_add(&ids, &x, dim))
            },
        ));
        found.push(operation(format!("cumsum_dim{dim}_1024x1024"), move || {
            let x = values(&[1024, 1024])?;
            Ok(move || x.cumsum(dim))
        }));
    }
    found.push(operation("rand_4M", || {
        Ok(|| Tensor::rand(0f32, 1., (2048, 2048), &Device::Cpu))
    }));
    found.push(operation("randn_4M", || {
        Ok(|| Tensor::randn(0f32, 1., (2048, 2048), &Device::Cpu))
    }));
    found
}

/// The input's sizes, the kernel's, and `[padding, stride, groups]`; the first are layers of
/// ResNet-50, the one with groups of MobileNet, those of rank 3 of Whisper-base.
type Convolution = (&'static str, &'static [usize], &'static [usize], [usize; 3]);

const CONVOLUTIONS: [Convolution; 8] = [
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

fn images() -> Vec<Operation> {
    let mut found = Vec::new();
    for (name, input, kernel, [padding, stride, groups]) in CONVOLUTIONS {
        found.push(operation(name, move || {
            let (x, kernel) = (values(input)?, values(kernel)?);
            Ok(move || match input.len() {
                3 => x.conv1d(&kernel, padding, stride, 1, groups),
                _ => x.conv2d(&kernel, padding, stride, 1, groups),
            })
        }));
    }
    let image = |name: &str, call: fn(&Tensor) -> tallow::Result<Tensor>| {
        operation(name, move || {
            let x = values(&[1, 64, 56, 56])?;
            Ok(move || call(&x))
        })
    };
    found.push(operation("conv_transpose1d_1x512x100_256x16s8p4", || {
        let (x, kernel) = (values(&[1, 512, 100])?, values(&[512, 256, 16])?);
        Ok(move || x.conv_transpose1d(&kernel, 4, 0, 8, 1, 1))
    }));
    found.push(operation("conv_transpose2d_1x64x56x56_64x2x2s2", || {
        let (x, kernel) = (values(&[1, 64, 56, 56])?, values(&[64, 64, 2, 2])?);
        Ok(move || x.conv_transpose2d(&kernel, 0, 0, 2, 1))
    }));
    found.extend([
        image("max_pool2d_1x64x56x56_2x2", |x| x.max_pool2d(2)),
        image("max_pool2d_1x64x56x56_3x3s2", |x| {
            x.max_pool2d_with_stride(3, 2)
        }),
        image("avg_pool2d_1x64x56x56_2x2", |x| x.avg_pool2d(2)),
        image("upsample_nearest2d_1x64x56x56_x2", |x| {
            x.upsample_nearest2d(112, 112)
        }),
        image("upsample_bilinear2d_1x64x56x56_x2", |x| {
            x.upsample_bilinear2d(112, 112, false)
        }),
    ]);
    found
}

/// What is left of a call when there is next to nothing to compute.
fn small() -> Vec<Operation> {
    vec![operation("add_64", || {
        let (lhs, rhs) = (values(&[64])?, values(&[64])?);
        Ok(move || lhs.add(&rhs))
    })]
}

fn contexts() -> Vec<Operation> {
    let mut found = Vec::new();
    for size in [64, 256, 1024] {
        found.push(operation(
            format!("context_plain_matmul_{size}"),
            move || {
                let matrix = values(&[size, size])?;
                Ok(move || matrix.matmul(&matrix))
            },
        ));
        found.push(operation(
            format!("context_inside_matmul_{size}"),
            move || {
                let matrix = values(&[size, size])?;
                Ok(move || Device::Cpu.with_context(|| matrix.matmul(&matrix)))
            },
        ));
    }
    found
}

/// One step of training: forward, gradients, AdamW. The classes are `i mod 10`.
fn training() -> Vec<Operation> {
    let steps = [[64, 64, 100], [64, 784, 256]].map(|[batch, inputs, hidden]| {
        operation(
            format!("mlp_step_{batch}x{inputs}x{hidden}x10"),
            move || {
                let weight = |rows: usize, columns: usize| {
                    let scale = (columns as f64).sqrt().recip();
                    Var::from_tensor(&values(&[rows, columns])?.affine(scale, 0.)?)
                };
                let zeros = |count| Var::zeros(count, DType::F32, &Device::Cpu);
                let (w1, b1) = (weight(hidden, inputs)?, zeros(hidden)?);
                let (w2, b2) = (weight(10, hidden)?, zeros(10)?);
                let vars = vec![w1.clone(), b1.clone(), w2.clone(), b2.clone()];
                let linear = |w: &Var, b: &Var| {
                    Linear::new(w.as_tensor().clone(), Some(b.as_tensor().clone()))
                };
                let (first, second) = (linear(&w1, &b1), linear(&w2, &b2));
                let classes = (0..batch as u32).map(|index| index % 10).collect();
                let classes = Tensor::from_vec(classes, batch, &Device::Cpu)?;
                let x = values(&[batch, inputs])?;
                let optimizer = RefCell::new(AdamW::new_lr(vars, 1e-3)?);
                Ok(move || {
                    let logits = second.forward(&first.forward(&x)?.relu()?)?;
                    let loss = tallow_nn::loss::cross_entropy(&logits, &classes)?;
                    optimizer.borrow_mut().backward_step(&loss)?;
                    Ok(loss)
                })
            },
        )
    });
    steps.into()
}

/// The shapes of the rivals' composed attention and of PyTorch's fused one; ours is one operation.
fn attention() -> Vec<Operation> {
    let shapes = [
        ("attn_1x9x512x64_naive", 512, 512, false),
        ("attn_decode_kv2048_naive", 1, 2048, false),
        ("sdpa_1x9x512x64", 512, 512, false),
        ("sdpa_causal_1x9x512x64", 512, 512, true),
        ("sdpa_decode_kv2048", 1, 2048, false),
    ];
    let mut found = Vec::new();
    for (name, queries, keys, causal) in shapes {
        found.push(operation(name, move || {
            let query = values(&[1, 9, queries, 64])?;
            let (key, value) = (values(&[1, 9, keys, 64])?, values(&[1, 9, keys, 64])?);
            let options = match causal {
                true => AttentionOptions::causal(0.125),
                false => AttentionOptions::new(0.125),
            };
            Ok(move || ops::attention(&query, &key, &value, options))
        }));
    }
    found
}

fn quantized() -> Vec<Operation> {
    let qmm = |type_name: &str, dtype: GgmlDType, [rows, inner, columns]: [usize; 3]| {
        operation(
            format!("qmm_{type_name}_{rows}x{inner}x{columns}"),
            move || {
                let weight = QTensor::quantize(&values(&[columns, inner])?, dtype)?;
                let weight = QMatMul::from_qtensor(weight)?;
                let x = values(&[rows, inner])?;
                Ok(move || weight.forward(&x))
            },
        )
    };
    let mut found = vec![
        qmm("Q8_0", GgmlDType::Q8_0, [1, 576, 1536]),
        qmm("Q4_1", GgmlDType::Q4_1, [1, 576, 1536]),
    ];
    let types = [
        ("Q4_K", GgmlDType::Q4K),
        ("Q8_0", GgmlDType::Q8_0),
        ("Q4_0", GgmlDType::Q4_0),
        ("Q4_1", GgmlDType::Q4_1),
        ("Q6_K", GgmlDType::Q6K),
        ("F16", GgmlDType::F16),
    ];
    for (name, dtype) in types {
        found.push(qmm(name, dtype, [1, 2048, 2048]));
        found.push(qmm(name, dtype, [512, 2048, 2048]));
    }
    found
}
