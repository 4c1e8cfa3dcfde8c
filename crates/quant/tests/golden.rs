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
    macro_rules! case {
        ($variant:ident, $name:literal) => {
            (
                GgmlDType::$variant,
                golden!("blocks_", $name, ".bin"),
                golden!("unpack_", $name, ".f32"),
            )
        };
    }
    let cases = [
        case!(Q4_0, "Q4_0"),
        case!(Q4_1, "Q4_1"),
        case!(Q5_0, "Q5_0"),
        case!(Q5_1, "Q5_1"),
        case!(Q8_0, "Q8_0"),
        case!(Q2K, "Q2_K"),
        case!(Q3K, "Q3_K"),
        case!(Q4K, "Q4_K"),
        case!(Q5K, "Q5_K"),
        case!(Q6K, "Q6_K"),
        case!(IQ4NL, "IQ4_NL"),
        case!(IQ4XS, "IQ4_XS"),
        case!(MXFP4, "MXFP4"),
        case!(TQ1_0, "TQ1_0"),
        case!(TQ2_0, "TQ2_0"),
        case!(IQ2XXS, "IQ2_XXS"),
        case!(IQ2XS, "IQ2_XS"),
        case!(IQ2S, "IQ2_S"),
        case!(IQ3XXS, "IQ3_XXS"),
        case!(IQ3S, "IQ3_S"),
        case!(IQ1S, "IQ1_S"),
        case!(IQ1M, "IQ1_M"),
    ];
    for (dtype, blocks, expected) in cases {
        let expected = floats(expected);
        let mut values = vec![0.0; expected.len()];
        dequantize(dtype, blocks, &mut values).unwrap();
        assert_eq!(values, expected, "{dtype}");
    }
}
