//! Convolutions beside loops over the definition, their names, and what a batch norm leaves in
//! them.

use super::*;
use crate::VarMap;
use crate::differences::{assert_near, check_gradients, numbers, values};
use tallow::{DType, Device, ModuleT};

/// A convolution of x `[1, channels, size, size]` by w `[out, in / groups, k, k]`.
fn by_a_loop(x: &Tensor, w: &Tensor, b: &[f64], cfg: Conv2dConfig) -> Result<(usize, Vec<f64>)> {
    let Conv2dConfig {
        padding,
        stride,
        dilation,
        groups,
        ..
    } = cfg;
    let ((_, channels, size, _), (out, group, k, _)) = (x.dims4()?, w.dims4()?);
    let (x, w) = (values(x)?, values(w)?);
    let side = (size + 2 * padding - dilation * (k - 1) - 1) / stride + 1;
    let at = |c: usize, row: usize, column: usize| {
        let place = |at: usize| at.checked_sub(padding).filter(|&at| at < size);
        match (place(row), place(column)) {
            (Some(row), Some(column)) => x[(c * size + row) * size + column],
            _ => 0.0,
        }
    };
    let mut y = Vec::new();
    for (o, row, column) in (0..out)
        .flat_map(|o| (0..side).flat_map(move |row| (0..side).map(move |column| (o, row, column))))
    {
        let mut sum = b[o];
        for (i, r, c) in
            (0..group).flat_map(|i| (0..k).flat_map(move |r| (0..k).map(move |c| (i, r, c))))
        {
            let channel = o / (out / groups) * (channels / groups) + i;
            let (row, column) = (row * stride + r * dilation, column * stride + c * dilation);
            sum += w[((o * group + i) * k + r) * k + c] * at(channel, row, column);
        }
        y.push(sum);
    }
    Ok((side, y))
}

#[test]
fn conv2d_by_a_loop() -> Result<()> {
    let x = numbers(&[1, 4, 6, 6], DType::F64)?;
    let bias = numbers(&[6], DType::F64)?;
    for (padding, stride, dilation, groups) in [(0, 1, 1, 1), (1, 2, 1, 2), (2, 1, 2, 1)] {
        let cfg = Conv2dConfig {
            padding,
            stride,
            dilation,
            groups,
            cudnn_fwd_algo: None,
        };
        let weight = numbers(&[6, 4 / groups, 3, 3], DType::F64)?;
        let (side, want) = by_a_loop(&x, &weight, &values(&bias)?, cfg)?;
        let layer = Conv2d::new(weight, Some(bias.clone()), cfg);
        assert_near(&layer.forward(&x)?, &[1, 6, side, side], &want, 1e-12);
    }
    Ok(())
}

#[test]
fn conv1d_is_a_row_of_conv2d() -> Result<()> {
    let x = numbers(&[2, 4, 9], DType::F64)?;
    let (weight, bias) = (numbers(&[2, 2, 3], DType::F64)?, numbers(&[2], DType::F64)?);
    let cfg = Conv1dConfig {
        stride: 2,
        dilation: 2,
        groups: 2,
        ..Default::default()
    };
    let row = Conv1d::new(weight.clone(), Some(bias.clone()), cfg).forward(&x)?;
    let wide = x
        .unsqueeze(2)?
        .conv2d(&weight.unsqueeze(2)?, 0, 2, 2, 2)?
        .squeeze(2)?;
    let want = wide.broadcast_add(&bias.reshape((2, 1))?)?;
    assert_near(&row, want.dims(), &values(&want)?, 1e-12);
    let plain = Conv1d::new(weight, None, cfg).forward(&x)?;
    assert_near(&plain, wide.dims(), &values(&wide)?, 1e-12);
    Ok(())
}

#[test]
fn transposed_convolutions_spread_by_hand() -> Result<()> {
    let x = Tensor::new(&[[[1f32, 2.]]], &Device::Cpu)?;
    let weight = Tensor::new(&[[[1f32, 10., 100.]]], &Device::Cpu)?;
    let cfg = ConvTranspose1dConfig {
        stride: 2,
        output_padding: 1,
        ..Default::default()
    };
    let bias = Tensor::new(&[0.5f32], &Device::Cpu)?;
    let y = ConvTranspose1d::new(weight.clone(), Some(bias.clone()), cfg).forward(&x)?;
    assert_near(&y, &[1, 1, 6], &[1.5, 10.5, 102.5, 20.5, 200.5, 0.5], 1e-6);
    let cfg = ConvTranspose2dConfig {
        stride: 2,
        padding: 1,
        ..Default::default()
    };
    let square = weight
        .reshape((1, 1, 3, 1))?
        .broadcast_mul(&weight.unsqueeze(0)?)?;
    let y = ConvTranspose2d::new(square, Some(bias), cfg).forward(&x.unsqueeze(0)?)?;
    assert_near(&y, &[1, 1, 1, 3], &[100.5, 1020.5, 200.5], 1e-6);
    Ok(())
}

#[test]
fn builders_ask_for_the_shapes_of_checkpoints() -> Result<()> {
    let map = VarMap::new();
    let vb = VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu);
    let groups = |groups| Conv1dConfig {
        groups,
        ..Default::default()
    };
    conv1d(4, 6, 3, groups(2), vb.pp("a"))?;
    conv1d_no_bias(4, 6, 3, groups(1), vb.pp("b"))?;
    conv2d(4, 6, 3, Default::default(), vb.pp("c"))?;
    conv2d_no_bias(
        4,
        6,
        3,
        Conv2dConfig {
            groups: 2,
            ..Default::default()
        },
        vb.pp("d"),
    )?;
    let cfg = ConvTranspose1dConfig {
        groups: 2,
        ..Default::default()
    };
    conv_transpose1d(4, 6, 3, cfg, vb.pp("e"))?;
    conv_transpose1d_no_bias(4, 6, 3, cfg, vb.pp("f"))?;
    conv_transpose2d(4, 6, 3, Default::default(), vb.pp("g"))?;
    conv_transpose2d_no_bias(4, 6, 3, Default::default(), vb.pp("h"))?;
    let map = map.data().lock().unwrap();
    let mut shapes: Vec<(&str, &[usize])> = map
        .iter()
        .map(|(name, var)| (name.as_str(), var.dims()))
        .collect();
    shapes.sort_unstable();
    let want: [(&str, &[usize]); 12] = [
        ("a.bias", &[6]),
        ("a.weight", &[6, 2, 3]),
        ("b.weight", &[6, 4, 3]),
        ("c.bias", &[6]),
        ("c.weight", &[6, 4, 3, 3]),
        ("d.weight", &[6, 2, 3, 3]),
        ("e.bias", &[6]),
        ("e.weight", &[4, 3, 3]),
        ("f.weight", &[4, 3, 3]),
        ("g.bias", &[6]),
        ("g.weight", &[4, 6, 3, 3]),
        ("h.weight", &[4, 6, 3, 3]),
    ];
    assert_eq!(shapes, want);
    Ok(())
}

#[test]
fn groups_that_do_not_divide_are_errors() {
    let vb = VarBuilder::zeros(DType::F32, &Device::Cpu);
    for groups in [0, 3] {
        let cfg = Conv1dConfig {
            groups,
            ..Default::default()
        };
        assert!(conv1d(4, 6, 3, cfg, vb.clone()).is_err());
        let cfg = Conv2dConfig {
            groups,
            ..Default::default()
        };
        assert!(conv2d_no_bias(4, 6, 3, cfg, vb.clone()).is_err());
        let cfg = ConvTranspose1dConfig {
            groups: groups + 4 * (groups / 3),
            ..Default::default()
        };
        assert!(conv_transpose1d(4, 6, 3, cfg, vb.clone()).is_err());
    }
}

#[test]
fn a_batch_norm_is_absorbed() -> Result<()> {
    let x = numbers(&[2, 3, 4, 4], DType::F64)?;
    let (weight, bias) = (
        numbers(&[2, 3, 2, 2], DType::F64)?,
        numbers(&[2], DType::F64)?,
    );
    let (mean, variance) = (bias.affine(0.3, 0.1)?, bias.sqr()?.affine(1.0, 0.5)?);
    let scales = (bias.affine(2.0, 0.4)?, bias.affine(-1.0, 0.2)?);
    let norms = [
        BatchNorm::new(2, mean.clone(), variance.clone(), scales.0, scales.1, 1e-3)?,
        BatchNorm::new_no_bias(2, mean, variance, 1e-3)?,
    ];
    for (norm, bias) in norms
        .iter()
        .flat_map(|norm| [(norm, None), (norm, Some(&bias))])
    {
        let layer = Conv2d::new(weight.clone(), bias.cloned(), Default::default());
        let want = norm.forward_t(&layer.forward(&x)?, false)?;
        let got = layer.absorb_bn(norm)?.forward(&x)?;
        assert_near(&got, want.dims(), &values(&want)?, 1e-12);
    }
    Ok(())
}

#[test]
fn gradients() -> Result<()> {
    let bias = numbers(&[2], DType::F64)?;
    let with = |x: &[usize], w: &[usize]| -> Result<[Tensor; 3]> {
        Ok([
            numbers(x, DType::F64)?,
            numbers(w, DType::F64)?,
            bias.clone(),
        ])
    };
    let cfg = Conv2dConfig {
        padding: 1,
        stride: 2,
        groups: 2,
        ..Default::default()
    };
    check_gradients(&with(&[1, 2, 3, 3], &[2, 1, 2, 2])?, |x| {
        Conv2d::new(x[1].clone(), Some(x[2].clone()), cfg).forward(&x[0])
    })?;
    check_gradients(&with(&[2, 2, 5], &[2, 2, 3])?, |x| {
        Conv1d::new(x[1].clone(), Some(x[2].clone()), Default::default()).forward(&x[0])
    })?;
    let cfg = ConvTranspose1dConfig {
        stride: 2,
        padding: 1,
        ..Default::default()
    };
    check_gradients(&with(&[1, 2, 3], &[2, 2, 3])?, |x| {
        ConvTranspose1d::new(x[1].clone(), Some(x[2].clone()), cfg).forward(&x[0])
    })?;
    let cfg = ConvTranspose2dConfig {
        stride: 2,
        ..Default::default()
    };
    check_gradients(&with(&[1, 2, 2, 2], &[2, 2, 2, 2])?, |x| {
        ConvTranspose2d::new(x[1].clone(), Some(x[2].clone()), cfg).forward(&x[0])
    })
}
