//! Bytes and values of the `gguf` package, the reference (`golden/make_golden.py` made the files).

use tallow_quant::{GgmlDType, dequantize, quantize};

macro_rules! golden {
    ($($part:expr),*) => {
        include_bytes!(concat!("golden/", $($part),*)).as_slice()
    };
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}

#[test]
fn packing_gives_the_bytes_of_the_reference() {
    let values = floats(golden!("values.f32"));
    let cases = [
        (GgmlDType::F16, golden!("pack_F16.bin")),
        (GgmlDType::BF16, golden!("pack_BF16.bin")),
        (GgmlDType::Q4_0, golden!("pack_Q4_0.bin")),
        (GgmlDType::Q4_1, golden!("pack_Q4_1.bin")),
        (GgmlDType::Q5_0, golden!("pack_Q5_0.bin")),
        (GgmlDType::Q5_1, golden!("pack_Q5_1.bin")),
        (GgmlDType::Q8_0, golden!("pack_Q8_0.bin")),
    ];
    for (dtype, expected) in cases {
        let mut bytes = vec![0; expected.len()];
        quantize(dtype, &values, &mut bytes).unwrap();
        let first = bytes.iter().zip(expected).position(|(a, b)| a != b);
        assert_eq!(first, None, "{dtype}: first byte that differs");
    }
}

#[test]
fn unpacking_gives_the_values_of_the_reference() {
    let cases = [
        (
            GgmlDType::Q4_0,
            golden!("blocks_Q4_0.bin"),
            golden!("unpack_Q4_0.f32"),
        ),
        (
            GgmlDType::Q4_1,
            golden!("blocks_Q4_1.bin"),
            golden!("unpack_Q4_1.f32"),
        ),
        (
            GgmlDType::Q5_0,
            golden!("blocks_Q5_0.bin"),
            golden!("unpack_Q5_0.f32"),
        ),
        (
            GgmlDType::Q5_1,
            golden!("blocks_Q5_1.bin"),
            golden!("unpack_Q5_1.f32"),
        ),
        (
            GgmlDType::Q8_0,
            golden!("blocks_Q8_0.bin"),
            golden!("unpack_Q8_0.f32"),
        ),
        (
            GgmlDType::Q2K,
            golden!("blocks_Q2_K.bin"),
            golden!("unpack_Q2_K.f32"),
        ),
        (
            GgmlDType::Q3K,
            golden!("blocks_Q3_K.bin"),
            golden!("unpack_Q3_K.f32"),
        ),
        (
            GgmlDType::Q4K,
            golden!("blocks_Q4_K.bin"),
            golden!("unpack_Q4_K.f32"),
        ),
        (
            GgmlDType::Q5K,
            golden!("blocks_Q5_K.bin"),
            golden!("unpack_Q5_K.f32"),
        ),
        (
            GgmlDType::Q6K,
            golden!("blocks_Q6_K.bin"),
            golden!("unpack_Q6_K.f32"),
        ),
    ];
    for (dtype, blocks, expected) in cases {
        let expected = floats(expected);
        let mut values = vec![0.0; expected.len()];
        dequantize(dtype, blocks, &mut values).unwrap();
        assert_eq!(values, expected, "{dtype}");
    }
}
