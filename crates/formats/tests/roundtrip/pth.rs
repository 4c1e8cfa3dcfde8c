//! pth files that PyTorch wrote (`golden/make_golden.py`).

use tallow_formats::Element;
use tallow_formats::pth::File;

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../golden/", $name)).to_vec()
    };
}

/// The elements of a tensor of f32, in the order of its indexes.
fn floats(file: &File, name: &str) -> Vec<f32> {
    file.with_span(name, |info, span| {
        assert_eq!(info.element, Element::F32);
        let count: usize = info.shape.iter().product();
        let place = |flat: usize| {
            let (mut rest, mut place) = (flat, 0);
            for (&dim, &stride) in info.shape.iter().zip(&info.strides).rev() {
                place += rest % dim * stride;
                rest /= dim;
            }
            place
        };
        (0..count)
            .map(|flat| f32::from_le_bytes(span[4 * place(flat)..][..4].try_into().unwrap()))
            .collect()
    })
    .unwrap()
}

#[test]
fn views_of_one_storage_are_told_apart() {
    let file = File::from_bytes(golden!("state.pth"), None).unwrap();
    let whole: Vec<f32> = (0..12).map(|i| i as f32).collect();
    assert_eq!(floats(&file, "whole"), whole);
    let transposed = [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11].map(|i| i as f32);
    assert_eq!(floats(&file, "transposed"), transposed);
    assert_eq!(floats(&file, "columns"), [1., 2., 5., 6., 9., 10.]);
    assert_eq!(floats(&file, "last_row"), [8., 9., 10., 11.]);
    assert_eq!(floats(&file, "parameter"), [1.5, -2.5]);
    assert!(floats(&file, "empty").is_empty());
    let info = file.tensor("columns").unwrap();
    assert_eq!(
        (info.shape.as_slice(), info.strides.as_slice()),
        (&[3, 2][..], &[4, 1][..])
    );
    assert_eq!((info.offset, info.storage_len), (1, 12));
    let expanded = file.with_span("expanded", |info, span| (info.shape.clone(), span.len()));
    assert_eq!(expanded.unwrap(), (vec![1000, 1000], 4));
}

#[test]
fn every_dtype_of_pytorch_is_read() {
    let file = File::from_bytes(golden!("state.pth"), None).unwrap();
    for (name, element, one) in [
        ("bool", Element::Bool, &[1][..]),
        ("uint8", Element::U8, &[1]),
        ("int8", Element::I8, &[1]),
        ("int16", Element::I16, &[1, 0]),
        ("int32", Element::I32, &[1, 0, 0, 0]),
        ("float16", Element::F16, &[0, 0x3c]),
        ("bfloat16", Element::BF16, &[0x80, 0x3f]),
        ("float64", Element::F64, &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
        ("uint16", Element::U16, &[1, 0]),
        ("uint32", Element::U32, &[1, 0, 0, 0]),
        ("uint64", Element::U64, &[1, 0, 0, 0, 0, 0, 0, 0]),
        ("float8_e4m3fn", Element::F8E4M3, &[0x38]),
        ("float8_e5m2", Element::F8E5M2, &[0x3c]),
    ] {
        let size = element.byte_len();
        file.with_span(name, |info, span| {
            assert_eq!(
                (info.element, info.shape.as_slice()),
                (element, &[3][..]),
                "{name}"
            );
            assert_eq!(
                (span.len(), &span[size..2 * size]),
                (3 * size, one),
                "{name}"
            );
        })
        .unwrap();
    }
    let scalar = file.with_span("scalar", |info, span| (info.shape.clone(), span.to_vec()));
    assert_eq!(scalar.unwrap(), (vec![], 3_i64.to_le_bytes().to_vec()));
}

#[test]
fn a_tensor_that_cannot_be_read_leaves_the_others() {
    let file = File::from_bytes(golden!("state.pth"), None).unwrap();
    assert_eq!(file.unusable().collect::<Vec<_>>(), ["complex"]);
    let error = file.tensor("complex").unwrap_err().to_string();
    assert_eq!(
        error,
        "pth: tensor \"complex\": storage class \"ComplexFloatStorage\" cannot be read"
    );
    let error = file.tensor("none").unwrap_err().to_string();
    assert_eq!(error, "pth: no tensor \"none\"");
}

#[test]
fn a_key_picks_a_dictionary_within() {
    let file = File::from_bytes(golden!("nested.pth"), Some("model")).unwrap();
    assert_eq!(
        floats(&file, "w"),
        (4..12).map(|i| i as f32).collect::<Vec<_>>()
    );
    assert_eq!(
        File::from_bytes(golden!("nested.pth"), None)
            .unwrap()
            .tensors()
            .len(),
        0
    );
    for (key, problem) in [
        ("modal", "pth: no key \"modal\" in the dictionary"),
        ("epoch", "pth: the pickle is no dictionary of tensors"),
    ] {
        let error = File::from_bytes(golden!("nested.pth"), Some(key)).unwrap_err();
        assert_eq!(error.to_string(), problem);
    }
}
