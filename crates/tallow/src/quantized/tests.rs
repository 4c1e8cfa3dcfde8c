//! Faults of the callers.

use super::*;
use crate::{Device, Result, Tensor};

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    let cpu = &Device::Cpu;
    assert!(QTensor::from_bytes(GgmlDType::Q8_0, (2, 32), vec![0; 67]).is_err());
    assert!(QTensor::from_bytes(GgmlDType::Q8_0, (2, 33), vec![0; 68]).is_err());
    assert!(QTensor::from_bytes(GgmlDType::Q8_0, (usize::MAX, 32), vec![0; 34]).is_err());
    assert!(
        QTensor::quantize(
            &Tensor::from_vec(vec![1f32; 40], (2, 20), cpu)?,
            GgmlDType::Q8_0
        )
        .is_err()
    );
    let packed = QTensor::from_bytes(GgmlDType::Q8_0, (2, 32), vec![0; 68])?;
    assert_eq!(packed.dequantize_rows(&[1, 0, 1], cpu)?.dims(), [3, 32]);
    let error = packed
        .dequantize_rows(&[2], cpu)
        .expect_err("row 2 of 2")
        .to_string();
    assert_eq!(
        error,
        "dequantize_rows: index 2 is out of range; the dim has 2"
    );
    let weight = QMatMul::from_qtensor(packed)?;
    assert!(
        weight
            .forward(&Tensor::from_vec(vec![0f32; 33], 33, cpu)?)
            .is_err()
    );
    assert!(
        weight
            .forward(&Tensor::from_vec(vec![0f64; 32], 32, cpu)?)
            .is_err()
    );
    Ok(())
}

/// Values that look random, in −0.5 to 0.5.
fn values(dims: &[usize]) -> Result<Tensor> {
    let count: usize = dims.iter().product();
    let value = |i: usize| ((i * 37 + 11) % 101) as f32 / 101.0 - 0.5;
    Tensor::from_vec((0..count).map(value).collect(), dims, &Device::Cpu)
}

#[test]
fn gguf_files_keep_keys_and_tensors() -> Result<()> {
    use gguf_file::{Content, Value, ValueType, VersionedMagic, write};
    use std::io::{Cursor, Seek, SeekFrom};
    let cpu = &Device::Cpu;
    let nested = Value::Array(vec![
        Value::Array(vec![Value::U8(1)]),
        Value::Array(vec![Value::Bool(true)]),
    ]);
    let keys = [
        ("a.text", Value::String("çé".to_string())),
        ("a.list", Value::Array([1, -2].map(Value::I64).to_vec())),
        ("a.nested", nested),
        ("a.float", Value::F64(0.1)),
        ("a.empty", Value::Array(vec![])),
    ];
    let keys: Vec<(&str, &Value)> = keys.iter().map(|(key, value)| (*key, value)).collect();
    let q4 = QTensor::quantize(&values(&[3, 64])?, GgmlDType::Q4_0)?;
    let one = QTensor::quantize(&values(&[5])?, GgmlDType::F32)?;
    // The file may stand anywhere in what it is read from.
    let mut file = Cursor::new(vec![7; 64]);
    file.seek(SeekFrom::End(0))?;
    write(&mut file, &keys, &[("q4", &q4), ("one", &one)])?;
    file.set_position(64);
    let content = Content::read(&mut file)?;
    assert_eq!(content.magic, VersionedMagic::GgufV3);
    for (key, value) in keys {
        assert_eq!(&content.metadata[key], value);
    }
    assert_eq!(content.metadata["a.text"].value_type(), ValueType::String);
    assert!(content.metadata["a.text"].to_u32().is_err());
    for (name, tensor) in [("q4", &q4), ("one", &one)] {
        let found = content.tensor(&mut file, name, cpu)?;
        assert_eq!(
            (found.shape(), found.data()?),
            (tensor.shape(), tensor.data()?)
        );
    }
    assert!(content.tensor(&mut file, "two", cpu).is_err());
    let mixed = Value::Array(vec![Value::U8(1), Value::I8(1)]);
    assert!(write(&mut Cursor::new(vec![]), &[("mixed", &mixed)], &[]).is_err());
    Ok(())
}

#[test]
fn a_gguf_tensor_that_cannot_be_read_leaves_the_others() -> Result<()> {
    use gguf_file::Content;
    use std::io::Cursor;
    let cpu = &Device::Cpu;
    let whole = QTensor::quantize(&values(&[4])?, GgmlDType::F32)?;
    let mut file = Cursor::new(Vec::new());
    gguf_file::write(&mut file, &[], &[("a", &whole), ("b", &whole)])?;
    let mut bytes = file.into_inner();
    // The type id of b stands before its offset, which is 32.
    let at = bytes
        .windows(8)
        .rposition(|eight| eight == 32u64.to_le_bytes());
    let at = at.expect("the offset of b") - 4;
    bytes[at] = 99;
    let mut file = Cursor::new(&bytes);
    let content = Content::read(&mut file)?;
    assert_eq!(content.tensor_infos.len(), 1);
    assert_eq!(content.tensor(&mut file, "a", cpu)?.data()?, whole.data()?);
    let error = content
        .tensor(&mut file, "b", cpu)
        .expect_err("type 99")
        .to_string();
    assert!(error.contains("unknown block type 99"), "{error}");
    // A file that is cut after it was opened.
    let mut cut = Cursor::new(&bytes[..bytes.len() - 60]);
    assert!(content.tensor(&mut cut, "a", cpu).is_err());
    Ok(())
}

#[test]
fn ggml_files_are_read_whole() -> Result<()> {
    use ggml_file::{Content, VersionedMagic, qtensor_from_ggml};
    let cpu = &Device::Cpu;
    let weight = QTensor::quantize(&values(&[2, 32])?, GgmlDType::Q4_0)?;
    let words =
        |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let mut file = words(&[0x6767_6a74, 3, 1, 32, 5, 6, 7, 8, 2, 3]);
    file.extend(b"abc");
    file.extend(1.5f32.to_le_bytes());
    file.extend(words(&[2, 1, 2, 32, 2]));
    file.push(b'w');
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(weight.data()?.as_ref());
    let mut content = Content::read(&mut std::io::Cursor::new(&file), cpu)?;
    assert_eq!(content.magic, VersionedMagic::GgjtV3);
    assert_eq!((content.hparams.n_embd, content.hparams.ftype), (32, 2));
    assert_eq!(content.vocab.token_score_pairs, [(b"abc".to_vec(), 1.5)]);
    let found = content.remove("w")?;
    assert_eq!(
        (found.shape().dims(), found.data()?),
        (&[2, 32][..], weight.data()?)
    );
    assert!(content.remove("w").is_err());
    assert!(Content::read(&mut std::io::Cursor::new(&file[..60]), cpu).is_err());
    let raw = qtensor_from_ggml(GgmlDType::Q4_0, &weight.data()?, vec![2, 32], cpu)?;
    assert_eq!(raw.data()?, weight.data()?);
    assert!(qtensor_from_ggml(GgmlDType::Q4_0, &[0; 35], vec![2, 32], cpu).is_err());
    Ok(())
}

#[test]
fn columns_that_matter_come_out_nearer() -> Result<()> {
    let x = values(&[4, 256])?;
    let heavy = |j: usize| j.is_multiple_of(8);
    let importance: Vec<f32> = (0..256)
        .map(|j| if heavy(j) { 50.0 } else { 1.0 })
        .collect();
    let error = |packed: &QTensor| -> Result<f32> {
        let difference = packed.dequantize(&Device::Cpu)?.sub(&x)?;
        let squares = difference.sqr()?.flatten_all()?.to_vec1::<f32>()?;
        Ok(squares.iter().step_by(8).sum())
    };
    let plain = QTensor::quantize(&x, GgmlDType::Q3K)?;
    let weighted = QTensor::quantize_imatrix(&x, &importance, GgmlDType::Q3K)?;
    assert!(error(&weighted)? < error(&plain)?);
    assert!(QTensor::quantize_imatrix(&x, &importance[1..], GgmlDType::Q3K).is_err());
    Ok(())
}

#[test]
fn plain_matrices_multiply_like_blocks() -> Result<()> {
    let cpu = &Device::Cpu;
    let (weight, x) = (values(&[3, 32])?, values(&[2, 5, 32])?);
    let blocks = QMatMul::from_qtensor(QTensor::quantize(&weight, GgmlDType::F32)?)?;
    let expected = blocks.forward(&x)?;
    let near = |found: &Tensor, bound: f32| -> Result<()> {
        assert_eq!(found.dims(), expected.dims());
        let worst = found.sub(&expected)?.abs()?.max_all()?.to_scalar::<f32>()?;
        assert!(worst < bound, "{worst}");
        Ok(())
    };
    near(&QMatMul::Tensor(weight.clone()).forward(&x)?, 1e-5)?;
    let half = weight.to_dtype(crate::DType::F16)?;
    near(&QMatMul::TensorF16(half).forward(&x)?, 1e-2)?;
    near(&blocks.forward_via_f16(&x)?, 1e-2)?;
    let ids = Tensor::new(&[[2i64, 0]], cpu)?;
    for matrix in [blocks, QMatMul::Tensor(weight.clone())] {
        let rows = matrix.embedding(&ids)?;
        assert_eq!(rows.dims(), [1, 2, 32]);
        assert_eq!(
            rows.get(0)?.get(1)?.to_vec1::<f32>()?,
            weight.get(0)?.to_vec1::<f32>()?
        );
        assert!(matrix.embedding(&Tensor::new(&[3u32], cpu)?).is_err());
        assert_eq!(matrix.forward(&values(&[32])?)?.dims(), [3]);
    }
    let packed = QTensor::quantize(&weight, GgmlDType::Q8_0)?;
    let custom = x.apply_op1_no_bwd(&packed)?.to_vec3::<f32>()?;
    let matmul = QMatMul::from_qtensor(packed)?;
    assert_eq!(custom, matmul.forward(&x)?.to_vec3::<f32>()?);
    Ok(())
}

#[test]
fn experts_that_are_not_there_are_errors() -> Result<()> {
    let cpu = &Device::Cpu;
    let experts = QTensor::quantize(&values(&[2, 3, 32])?, GgmlDType::Q8_0)?;
    let x = values(&[4, 1, 32])?;
    let run = |x: &Tensor, ids: &[[i64; 2]]| {
        let ids = Tensor::from_vec(ids.concat(), (ids.len(), 2), cpu)?;
        experts.indexed_moe_forward(x, &ids)
    };
    assert_eq!(run(&x, &[[0, 1]; 4])?.dims(), [4, 2, 3]);
    for (x, ids) in [
        (&x, &[[0, 2]; 4][..]),
        (&x, &[[0, -1]; 4]),
        (&x, &[[0, 1]; 3]),
        (&values(&[4, 3, 32])?, &[[0, 1]; 4]),
        (&values(&[4, 1, 64])?, &[[0, 1]; 4]),
        (&values(&[4, 32])?, &[[0, 1]; 4]),
    ] {
        assert!(run(x, ids).is_err(), "{:?}", x.dims());
    }
    Ok(())
}

#[test]
fn joined_products_have_the_bits_of_each() -> Result<()> {
    let cpu = &Device::Cpu;
    let matmul = |rows: usize, dtype| {
        let weight = Tensor::randn(0f32, 1.0, (rows, 64), cpu)?;
        QMatMul::from_qtensor(QTensor::quantize(&weight, dtype)?)
    };
    let matrices = [
        matmul(64, GgmlDType::Q4_1)?,
        matmul(32, GgmlDType::Q8_0)?,
        matmul(7, GgmlDType::Q4_1)?,
        matmul(5, GgmlDType::F16)?,
    ];
    for rows in [0, 1, 3, 20] {
        let x = Tensor::randn(0f32, 1.0, (rows, 64), cpu)?;
        for count in 1..=matrices.len() {
            let some: Vec<&QMatMul> = matrices[..count].iter().collect();
            let joined = QMatMul::forward_joined(&some, &x)?;
            for (matrix, joined) in some.iter().zip(joined) {
                let alone = matrix.forward(&x)?;
                assert_eq!(joined.to_vec2::<f32>()?, alone.to_vec2::<f32>()?);
            }
        }
        assert!(QMatMul::forward_joined(&[&matrices[0]], &x.t()?).is_err());
    }
    Ok(())
}
