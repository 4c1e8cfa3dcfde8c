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
        (GgmlDType::MXFP4, golden!("pack_MXFP4.bin")),
        (GgmlDType::TQ1_0, golden!("pack_TQ1_0.bin")),
        (GgmlDType::TQ2_0, golden!("pack_TQ2_0.bin")),
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
        (
            GgmlDType::IQ4NL,
            golden!("blocks_IQ4_NL.bin"),
            golden!("unpack_IQ4_NL.f32"),
        ),
        (
            GgmlDType::IQ4XS,
            golden!("blocks_IQ4_XS.bin"),
            golden!("unpack_IQ4_XS.f32"),
        ),
        (
            GgmlDType::MXFP4,
            golden!("blocks_MXFP4.bin"),
            golden!("unpack_MXFP4.f32"),
        ),
        (
            GgmlDType::TQ1_0,
            golden!("blocks_TQ1_0.bin"),
            golden!("unpack_TQ1_0.f32"),
        ),
        (
            GgmlDType::TQ2_0,
            golden!("blocks_TQ2_0.bin"),
            golden!("unpack_TQ2_0.f32"),
        ),
        (
            GgmlDType::IQ2XXS,
            golden!("blocks_IQ2_XXS.bin"),
            golden!("unpack_IQ2_XXS.f32"),
        ),
        (
            GgmlDType::IQ2XS,
            golden!("blocks_IQ2_XS.bin"),
            golden!("unpack_IQ2_XS.f32"),
        ),
        (
            GgmlDType::IQ2S,
            golden!("blocks_IQ2_S.bin"),
            golden!("unpack_IQ2_S.f32"),
        ),
        (
            GgmlDType::IQ3XXS,
            golden!("blocks_IQ3_XXS.bin"),
            golden!("unpack_IQ3_XXS.f32"),
        ),
        (
            GgmlDType::IQ3S,
            golden!("blocks_IQ3_S.bin"),
            golden!("unpack_IQ3_S.f32"),
        ),
        (
            GgmlDType::IQ1S,
            golden!("blocks_IQ1_S.bin"),
            golden!("unpack_IQ1_S.f32"),
        ),
        (
            GgmlDType::IQ1M,
            golden!("blocks_IQ1_M.bin"),
            golden!("unpack_IQ1_M.f32"),
        ),
    ];
    for (dtype, blocks, expected) in cases {
        let expected = floats(expected);
        let mut values = vec![0.0; expected.len()];
        dequantize(dtype, blocks, &mut values).unwrap();
        assert_eq!(values, expected, "{dtype}");
    }
}
