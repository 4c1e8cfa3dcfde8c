//! Builders over every backend that needs no file of another program, and their errors.

use super::*;
use crate::init;
use tallow::{Error, safetensors};

const CPU: &Device = &Device::Cpu;

fn tensors() -> Result<HashMap<String, Tensor>> {
    let x = Tensor::arange(0f32, 6., CPU)?.reshape((2, 3))?;
    Ok(HashMap::from([
        ("a.x".to_string(), x.clone()),
        ("a.b.y".to_string(), x.affine(2.0, 0.0)?),
        ("ids".to_string(), Tensor::new(&[3u32, 4], CPU)?),
    ]))
}

/// What every builder over [`tensors`] has to give.
fn check(vb: &VarBuilder<'_>) -> Result<()> {
    let rows = |factor: f64| {
        [
            [0., factor, 2. * factor],
            [3. * factor, 4. * factor, 5. * factor],
        ]
    };
    assert_eq!(vb.pp("a").get((2, 3), "x")?.to_vec2::<f64>()?, rows(1.));
    assert_eq!(
        vb.pp("a").pp("b").get_unchecked("y")?.to_vec2::<f64>()?,
        rows(2.)
    );
    assert_eq!(
        vb.get_unchecked_dtype("ids", DType::U32)?
            .to_vec1::<u32>()?,
        [3, 4]
    );
    let hint = init::ONE;
    let ids = vb.get_with_hints_dtype(2, "ids", hint, DType::I64)?;
    assert_eq!(ids.to_vec1::<i64>()?, [3, 4]);
    assert!(vb.contains_tensor("a.x") && vb.pp("a").contains_tensor("b.y"));
    assert!(!vb.contains_tensor("a") && !vb.contains_tensor("x"));
    match vb.pp("a").get((3, 2), "x") {
        Err(Error::UnexpectedShape { msg, expected, got }) => {
            assert!(msg.contains("a.x"), "{msg}");
            assert_eq!((expected.dims(), got.dims()), (&[3, 2][..], &[2, 3][..]));
        }
        other => panic!("{other:?}"),
    }
    let error = vb.pp("b").get(2, "none").unwrap_err().to_string();
    assert!(error.contains("b.none"), "{error}");
    assert!(vb.get_unchecked("none").is_err());
    Ok(())
}

#[test]
fn tensors_of_a_map() -> Result<()> {
    let vb = VarBuilder::from_tensors(tensors()?, DType::F64, CPU);
    check(&vb)?;
    match vb.get(1, "none") {
        Err(Error::CannotFindTensor { path }) => assert_eq!(path, "none"),
        other => panic!("{other:?}"),
    }
    Ok(())
}

#[test]
fn safetensors_mapped_buffered_and_sliced() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (first, second) = (
        folder.path().join("1.safetensors"),
        folder.path().join("2.safetensors"),
    );
    safetensors::save(&tensors()?, &first)?;
    check(&VarBuilder::from_mmaped_safetensors(
        &[&first],
        DType::F64,
        CPU,
    )?)?;
    let bytes = std::fs::read(&first)?;
    check(&VarBuilder::from_slice_safetensors(
        &bytes,
        DType::F64,
        CPU,
    )?)?;
    check(&VarBuilder::from_buffered_safetensors(
        bytes.clone(),
        DType::F64,
        CPU,
    )?)?;
    let more = HashMap::from([("z".to_string(), Tensor::new(&[7f32], CPU)?)]);
    safetensors::save(&more, &second)?;
    let both = VarBuilder::from_mmaped_safetensors(&[&first, &second], DType::F64, CPU)?;
    check(&both)?;
    assert_eq!(both.get(1, "z")?.to_vec1::<f64>()?, [7.]);
    let more = std::fs::read(&second)?;
    let files = vec![
        SliceSafetensors::new(&bytes)?,
        SliceSafetensors::new(&more)?,
    ];
    let routed: Box<dyn SimpleBackend> = Box::new(SafeTensorWithRouting::new(files));
    let routed = VarBuilder::from_backend(routed, DType::F64, Device::Cpu);
    check(&routed)?;
    assert_eq!(routed.get(1, "z")?.to_vec1::<f64>()?, [7.]);
    assert!(
        VarBuilder::from_mmaped_safetensors(&[folder.path().join("3")], DType::F64, CPU).is_err()
    );
    assert!(VarBuilder::from_slice_safetensors(&bytes[..20], DType::F64, CPU).is_err());
    Ok(())
}

#[test]
fn arrays_of_numpy() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.npz");
    let arrays: Vec<(String, Tensor)> = tensors()?.into_iter().collect();
    Tensor::write_npz(&arrays, &path)?;
    check(&VarBuilder::from_npz(&path, DType::F64, CPU)?)?;
    assert!(VarBuilder::from_npz(folder.path().join("none.npz"), DType::F64, CPU).is_err());
    Ok(())
}

#[test]
fn tensors_of_pytorch() -> Result<()> {
    let golden = |name: &str| {
        format!(
            "{}/../formats/tests/golden/{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let vb = VarBuilder::from_pth(golden("state.pth"), DType::F64, CPU)?;
    assert_eq!(vb.get(2, "parameter")?.to_vec1::<f64>()?, [1.5, -2.5]);
    assert_eq!(vb.get((3, 2), "columns")?.to_vec2::<f64>()?[2], [9., 10.]);
    assert!(vb.contains_tensor("whole") && !vb.contains_tensor("none"));
    assert!(vb.get(3, "parameter").is_err());
    match vb.get(3, "none") {
        Err(Error::CannotFindTensor { path }) => assert_eq!(path, "none"),
        other => panic!("{other:?}"),
    }
    let nested = VarBuilder::from_pth_with_state(golden("nested.pth"), DType::F32, "model", CPU)?;
    assert_eq!(
        nested.get((2, 4), "w")?.to_vec2::<f32>()?[0],
        [4., 5., 6., 7.]
    );
    assert!(VarBuilder::from_pth_with_state(golden("nested.pth"), DType::F32, "x", CPU).is_err());
    Ok(())
}

#[test]
fn parts_of_tensors() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("x.safetensors");
    safetensors::save(&tensors()?, &path)?;
    let vb = ShardedSafeTensors::var_builder(&[&path], DType::F64, CPU)?.pp("a");
    let part = |dim, rank, world_size| {
        vb.get_with_hints(
            (),
            "x",
            Shard {
                dim,
                rank,
                world_size,
            },
        )
    };
    assert_eq!(vb.get((2, 3), "x")?.dims(), [2, 3]);
    assert_eq!(part(0, 1, 2)?.to_vec2::<f64>()?, [[3., 4., 5.]]);
    assert_eq!(part(1, 2, 3)?.to_vec2::<f64>()?, [[2.], [5.]]);
    assert!(part(0, 0, 3).is_err() && part(0, 2, 2).is_err() && part(2, 0, 2).is_err());
    assert!(part(0, 0, 0).is_err() && vb.get((), "none").is_err());
    assert!(vb.contains_tensor("x") && !vb.contains_tensor("none"));
    assert_eq!(vb.get_unchecked("x")?.dims(), [2, 3]);
    Ok(())
}

#[test]
fn zeros_of_every_name() -> Result<()> {
    let vb = VarBuilder::zeros(DType::F16, CPU).pp("anything");
    assert!(vb.contains_tensor("x") && vb.get_unchecked("x").is_err());
    let x = vb.get_with_hints((2, 0), "x", init::ONE)?;
    assert_eq!((x.dims(), x.dtype()), (&[2, 0][..], DType::F16));
    Ok(())
}

#[test]
fn places_in_the_tree() {
    let vb = VarBuilder::zeros(DType::F32, CPU);
    let below = vb.pp("layers").pp(3).push_prefix("mlp");
    assert_eq!(below.prefix(), "layers.3.mlp");
    assert_eq!(vb.prefix(), "");
    assert_eq!(below.root().prefix(), "");
    assert_eq!(below.set_prefix("x.y").pp("z").prefix(), "x.y.z");
    assert_eq!(below.clone().set_dtype(DType::F64).prefix(), "layers.3.mlp");
    assert_eq!(
        (below.to_dtype(DType::F16).dtype(), below.dtype),
        (DType::F16, DType::F32)
    );
    assert!(below.set_device(Device::Cpu).device().is_cpu());
}

#[test]
fn renaming() -> Result<()> {
    let vb = VarBuilder::from_tensors(tensors()?, DType::F64, CPU);
    let renamed = vb.clone().rename_f(|name| name.replace("old", "a"));
    check(&renamed)?;
    assert_eq!(renamed.pp("old").get((2, 3), "x")?.dims(), [2, 3]);
    assert!(renamed.contains_tensor("old.b.y") && !renamed.contains_tensor("old"));
    // The inner builder's place stays in front of the new name.
    let inner = vb.pp("a").rename_f(|name| name.replace("c.", "b."));
    assert_eq!(inner.pp("c").get((2, 3), "y")?.dims(), [2, 3]);
    assert_eq!(
        inner.set_dtype(DType::F32).get((2, 3), "x")?.dtype(),
        DType::F32
    );
    Ok(())
}
