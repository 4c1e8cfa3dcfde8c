//! Sound safetensors files in memory.

use safetensors::Dtype;
use tallow_formats::safetensors::File;

use crate::raw::{complete_safetensors, safetensors};

#[test]
fn tensors_come_in_the_order_of_their_data() {
    let file = File::from_bytes(complete_safetensors()).unwrap();
    let infos: Vec<_> = file
        .tensors()
        .map(|info| {
            (
                info.name.as_str(),
                info.dtype,
                info.shape.as_slice(),
                info.byte_len,
            )
        })
        .collect();
    assert_eq!(
        infos,
        [
            ("a", Dtype::F32, &[2, 2][..], 16),
            ("b", Dtype::U8, &[3], 3),
            ("c", Dtype::BF16, &[0], 0),
        ]
    );
    assert_eq!(file.bytes("a").unwrap(), (0..16).collect::<Vec<u8>>());
    assert_eq!(*file.shared("b").unwrap(), [16, 17, 18]);
    assert!(file.bytes("c").unwrap().is_empty());
    assert_eq!(file.metadata()["note"], "çé");
    assert_eq!(file.shard_count(), 1);
    assert_eq!(
        file.tensor("d").unwrap_err().to_string(),
        "safetensors: no tensor \"d\""
    );
}

/// What the `safetensors` crate writes, with every dtype that it has bytes for.
#[test]
fn files_of_the_safetensors_crate_are_read() {
    use safetensors::tensor::{TensorView, serialize};
    let data: Vec<u8> = (0..48).collect();
    let dtypes = [
        Dtype::BOOL,
        Dtype::U8,
        Dtype::I8,
        Dtype::F8_E4M3,
        Dtype::F8_E5M2,
        Dtype::F8_E8M0,
        Dtype::I16,
        Dtype::U16,
        Dtype::F16,
        Dtype::BF16,
        Dtype::I32,
        Dtype::U32,
        Dtype::F32,
        Dtype::I64,
        Dtype::U64,
        Dtype::F64,
        Dtype::F4,
        Dtype::F6_E2M3,
        Dtype::F6_E3M2,
    ];
    let views = dtypes.iter().map(|&dtype| {
        let shape = vec![2, 3 * 8 * 8 / dtype.bitsize()];
        let shape = if dtype.bitsize() == 6 {
            vec![2, 32]
        } else {
            shape
        };
        let view = TensorView::new(dtype, shape.clone(), &data);
        (
            format!("{dtype:?}"),
            view.unwrap_or_else(|error| panic!("{dtype:?}: {error}")),
        )
    });
    let file = File::from_bytes(serialize(views, None).unwrap()).unwrap();
    assert_eq!(file.tensors().len(), dtypes.len());
    for dtype in dtypes {
        let name = format!("{dtype:?}");
        assert_eq!(file.tensor(&name).unwrap().dtype, dtype);
        assert_eq!(file.bytes(&name).unwrap(), data);
    }
}

#[test]
fn an_empty_header_is_sound() {
    for header in ["{}", "{}        ", r#"{"__metadata__":{}}"#] {
        let file = File::from_bytes(safetensors(header, &[])).unwrap();
        assert_eq!(file.tensors().len(), 0);
    }
}
