//! npy and npz files: those that NumPy wrote (`golden/make_golden.py`), and our own.

use tallow_formats::Element;
use tallow_formats::npy::{self, Array, Npz};

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../golden/", $name)).to_vec()
    };
}

/// The elements as numbers; floats must be whole.
fn numbers(array: &Array) -> Vec<i64> {
    let data = array.data();
    let element = array.header().element;
    data.chunks(element.byte_len())
        .map(|bytes| match element {
            Element::F16 => [0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500]
                .iter()
                .position(|bits: &u16| bits.to_le_bytes() == bytes)
                .unwrap() as i64,
            Element::F32 => f32::from_le_bytes(bytes.try_into().unwrap()) as i64,
            Element::F64 => f64::from_le_bytes(bytes.try_into().unwrap()) as i64,
            _ => {
                let mut wide = [0; 8];
                wide[..bytes.len()].copy_from_slice(bytes);
                i64::from_le_bytes(wide)
            }
        })
        .collect()
}

#[test]
fn every_dtype_of_numpy_is_read() {
    let elements = [
        ("?", Element::Bool),
        ("u1", Element::U8),
        ("i1", Element::I8),
        ("u2", Element::U16),
        ("i2", Element::I16),
        ("u4", Element::U32),
        ("i4", Element::I32),
        ("u8", Element::U64),
        ("i8", Element::I64),
        ("f2", Element::F16),
        ("f4", Element::F32),
        ("f8", Element::F64),
    ];
    for bytes in [golden!("stored.npz"), golden!("deflated.npz")] {
        let file = Npz::from_bytes(bytes).unwrap();
        assert_eq!(file.names().count(), elements.len() + 2);
        for (name, element) in elements {
            let array = file.array(name).unwrap();
            assert_eq!(array.header(), &file.header(name).unwrap());
            assert_eq!(array.header().element, element, "{name}");
            assert_eq!(array.header().shape, [2, 3]);
            let expected = match element {
                Element::Bool => vec![0, 1, 1, 1, 1, 1],
                _ => vec![0, 1, 2, 3, 4, 5],
            };
            assert_eq!(numbers(&array), expected, "{name}");
        }
        assert_eq!(file.header("scalar").unwrap().shape, [0; 0]);
        assert_eq!(numbers(&file.array("scalar").unwrap()), [7]);
        assert_eq!(file.header("empty").unwrap().shape, [0, 4]);
        assert!(file.array("empty").unwrap().data().is_empty());
        assert!(file.contains("?") && !file.contains("?.npy"));
        let error = file.array("none").unwrap_err().to_string();
        assert_eq!(error, "npz: no tensor \"none.npy\"");
    }
}

#[test]
fn orders_of_bytes_and_of_elements_are_told() {
    let file = Npz::from_bytes(golden!("order.npz")).unwrap();
    for (name, fortran_order, big_endian, expected) in [
        ("fortran", true, false, [0, 3, 1, 4, 2, 5]),
        ("big", false, true, [0, 1, 2, 3, 4, 5]),
        ("both", true, true, [0, 3, 1, 4, 2, 5]),
    ] {
        let array = file.array(name).unwrap();
        let header = array.header();
        assert_eq!(
            (header.fortran_order, header.big_endian),
            (fortran_order, big_endian)
        );
        assert_eq!(numbers(&array), expected, "{name}");
    }
}

#[test]
fn headers_are_aligned_and_read_back() {
    for shape in [&[][..], &[3], &[2, 3], &[1; 40], &[usize::MAX; 8000]] {
        let bytes = npy::header(Element::I16, shape);
        assert!(bytes.len().is_multiple_of(64) && bytes.ends_with(b"\n"));
        let wide = shape.len() == 8000;
        assert_eq!(bytes[6], if wide { 2 } else { 1 });
        if !wide {
            let array = Array::from_bytes([bytes, vec![0; 12]].concat()).unwrap();
            assert_eq!(array.header().shape, shape);
        }
    }
}

#[cfg(not(miri))]
#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.npz");
    let mut writer = npy::NpzWriter::create(&path).unwrap();
    writer
        .add("a", &npy::header(Element::U8, &[2]), &[1, 2])
        .unwrap();
    writer
        .add(
            "b/c",
            &npy::header(Element::F32, &[]),
            &1.5_f32.to_le_bytes(),
        )
        .unwrap();
    writer.finish().unwrap();
    let file = Npz::open(&path).unwrap();
    assert_eq!(file.names().collect::<Vec<_>>(), ["a", "b/c"]);
    assert_eq!(*file.array("a").unwrap().data(), [1, 2]);
    assert_eq!(*file.array("b/c").unwrap().data(), 1.5_f32.to_le_bytes());
}
