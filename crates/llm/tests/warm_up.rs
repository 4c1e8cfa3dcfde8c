//! After a warm-up no prompt compiles anything: on a GPU where there is one (OpenCL), and on paper
//! for every length.
#![allow(
    clippy::unwrap_used,
    reason = "functions of a test may panic as the test does"
)]

#[path = "../../tallow/tests/clang/mod.rs"]
mod clang;
mod tiny;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tallow::quantized::{GgmlDType, QTensor};
use tallow::{Device, GpuDevice, Tensor};
use tallow_formats::gguf::{Contents, File, Metadata, Writer};
use tallow_gpu::{Api, DeviceInfo, Settings, drivers};
use tallow_llm::{Error, Model};

/// A small model of an architecture with a context of so many positions.
fn model(case: &str, context_len: usize, device: &Device) -> Model {
    let mut case: Value = tiny::golden()["cases"][case].clone();
    case["config"]["max_position_embeddings"] = json!(context_len);
    let folder = tempfile::tempdir().unwrap();
    tiny::write_model(folder.path(), &case);
    Model::from_safetensors_folder(folder.path(), device).unwrap()
}

/// A llama of two layers, the second with other types than the first.
fn quantized(path: &Path, types: [GgmlDType; 2], context_len: u32) {
    quantized_of(path, types, context_len, [4, 2]);
}

/// The same with so many heads of 64 features, of queries and of keys.
fn quantized_of(path: &Path, types: [GgmlDType; 2], context_len: u32, heads: [usize; 2]) {
    let (hidden, mlp, vocabulary) = (256, 256, 320);
    let [inner, keys] = heads.map(|count| count * 64);
    let mut metadata = Metadata::new();
    metadata.set("general.architecture", "llama");
    for (key, value) in [
        ("context_length", context_len),
        ("embedding_length", hidden as u32),
        ("block_count", 2),
        ("feed_forward_length", mlp as u32),
        ("attention.head_count", heads[0] as u32),
        ("attention.head_count_kv", heads[1] as u32),
        ("attention.key_length", 64),
    ] {
        metadata.set(format!("llama.{key}"), value);
    }
    metadata.set("llama.attention.layer_norm_rms_epsilon", 1e-5_f32);
    let matrix = |name: &str, rows: usize, columns: usize, dtype: GgmlDType| {
        let values = (0..rows * columns).map(|at| (at * 7919 % 211) as f32 / 211.0 - 0.5);
        let values = Tensor::from_iter(values, &Device::Cpu).unwrap();
        let packed = QTensor::quantize(&values.reshape((rows, columns)).unwrap(), dtype).unwrap();
        let bytes = packed.data().unwrap().into_owned();
        (name.to_string(), vec![rows, columns], dtype.to_u32(), bytes)
    };
    let norm = |name: &str| {
        let bytes: Vec<u8> = (0..hidden).flat_map(|_| 1f32.to_le_bytes()).collect();
        (name.to_string(), vec![hidden], 0, bytes)
    };
    let mut tensors = vec![
        matrix("token_embd.weight", vocabulary, hidden, types[0]),
        norm("output_norm.weight"),
    ];
    for (layer, dtype) in types.into_iter().enumerate() {
        let name = |part: &str| format!("blk.{layer}.{part}.weight");
        for (part, rows, columns) in [
            ("attn_q", inner, hidden),
            ("attn_k", keys, hidden),
            ("attn_v", keys, hidden),
            ("attn_output", hidden, inner),
            ("ffn_gate", mlp, hidden),
            ("ffn_up", mlp, hidden),
            ("ffn_down", hidden, mlp),
        ] {
            tensors.push(matrix(&name(part), rows, columns, dtype));
        }
        tensors.extend(["attn_norm", "ffn_norm"].map(|part| norm(&name(part))));
    }
    let mut contents = Contents::new(metadata);
    for (name, shape, type_id, _) in &tensors {
        contents.push_tensor(name, shape, *type_id).unwrap();
    }
    let mut writer = Writer::create(path, contents).unwrap();
    for (name, _, _, bytes) in &tensors {
        writer.write(name, bytes).unwrap();
    }
    writer.finish().unwrap();
}

/// One test at a time has a device: pocl 3.1 aborts now and then where one kernel runs on two
/// devices of a process side by side.
static ONE_DEVICE: Mutex<()> = Mutex::new(());

/// A device of OpenCL's that keeps no kernels on disk; `None` on a machine without one, which is
/// then said.
#[allow(clippy::print_stderr)] // a test that is skipped says so
fn opencl() -> Option<(GpuDevice, MutexGuard<'static, ()>)> {
    let one = ONE_DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    match drivers::open(Api::OpenCl, 0) {
        Ok(driver) => Some((GpuDevice::with_driver(driver, &Settings::plain()), one)),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn on_paper(api: Api) -> Device {
    let cuda = drivers::cuda_plan("sm_90a");
    let driver = match api {
        Api::Cuda => cuda,
        api => drivers::plan(DeviceInfo {
            api,
            has_f64: false,
            tensor_cores: false,
            simdgroup_matrices: api == Api::Metal,
            units: 8,
            ..cuda.info().clone()
        }),
    };
    Device::from_gpu(GpuDevice::with_driver(driver, &Settings::plain()))
}

/// Prompts of these lengths, each with a token after it, make no kernel.
fn assert_that_nothing_compiles(model: &Model, gpu: &GpuDevice) {
    let before = gpu.statistics().kernels;
    for len in [1, 2, 17, 128, 129, 2048] {
        let mut cache = model.new_cache();
        let ids: Vec<u32> = (0..len).map(|at| at % 40).collect();
        for ids in [&ids[..], &[7]] {
            let logits = model.forward(ids, &mut cache).unwrap();
            assert!(logits.iter().all(|logit| logit.is_finite()), "{len}");
        }
        assert_eq!(gpu.statistics().kernels, before, "a prompt of {len} tokens");
    }
}

#[test]
fn after_a_warm_up_prompts_of_any_length_compile_nothing() {
    let Some((gpu, _one)) = opencl() else {
        return;
    };
    let model = model("llama", 2100, &Device::from_gpu(gpu.clone()));
    // Loading asks for no kernel.
    assert_eq!(gpu.statistics().kernels.compiled, 0);
    let report = model.warm_up(usize::MAX, 1).unwrap();
    assert!(report.compiled > 5, "{report:?}");
    let listed = model.variants(usize::MAX, 1).unwrap().len();
    assert_eq!(report.compiled, listed as u64);
    assert_that_nothing_compiles(&model, &gpu);
    // A second one finds everything there.
    assert_eq!(model.warm_up(usize::MAX, 1).unwrap().compiled, 0);
}

#[test]
fn kernels_of_quantized_weights_are_made_while_they_load() {
    let Some((gpu, _one)) = opencl() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    quantized(&path, [GgmlDType::Q8_0, GgmlDType::Q4K], 2100);
    let device = Device::from_gpu(gpu.clone());
    let model = Model::from_gguf(&File::open(&path).unwrap(), &device).unwrap();
    assert_eq!(gpu.statistics().kernels.compiled, 0);
    model.warm_up(2100, 1).unwrap();
    assert_that_nothing_compiles(&model, &gpu);
}

/// Whatever the length of a prompt and of what went before it, the list has its kernels.
#[test]
fn the_list_has_the_kernels_of_every_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    // More than goes through the layers at once.
    const LEN: usize = 2200;
    quantized(&path, [GgmlDType::Q4_1, GgmlDType::Q6K], 2200);
    for api in [Api::Cuda, Api::Metal, Api::OpenCl] {
        let plain = ["llama", "qwen3", "gemma3"].map(|case| model(case, LEN, &on_paper(api)));
        let packed = Model::from_gguf(&File::open(&path).unwrap(), &on_paper(api)).unwrap();
        for model in plain.into_iter().chain([packed]) {
            let gpu = model.device().gpu().unwrap();
            let listed = model.variants(LEN, 1).unwrap();
            for before in [0, 1, 63, 64, 100, 300, 600] {
                let some = |len: &usize| match (before, *len) {
                    (_, ..10) | (0, ..=640) => true,
                    (0, len) => len % 7 == 1,
                    (_, len) => len % 37 == 1,
                };
                for len in (1..=LEN - before).filter(some) {
                    let mut cache = model.new_cache();
                    for count in [before, len, 1.min(LEN - before - len)] {
                        if count > 0 {
                            model.forward(&vec![0; count], &mut cache).unwrap();
                        }
                    }
                }
            }
            let asked = gpu.asked();
            assert!(asked.len() > 5);
            let missing: Vec<_> = asked.iter().filter(|one| !listed.contains(one)).collect();
            assert!(
                missing.is_empty(),
                "{api} {}: {missing:?}",
                model.architecture()
            );
        }
    }
}

/// The Metal text of every kernel that models ask for, those of a decode step among them, through
/// clang.
#[test]
#[allow(clippy::print_stderr)] // a test that is skipped says so
fn every_kernel_of_a_model_is_metals_language() {
    if !clang::is_there() {
        eprintln!("skipped: no {}", clang::PROGRAM);
        return;
    }
    clang::finds_faults();
    let device = on_paper(Api::Metal);
    let cases = ["llama", "qwen2", "qwen3", "gemma3"];
    let mut models: Vec<_> = cases.map(|case| model(case, 640, &device)).into();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    for (types, context_len, heads) in [
        ([GgmlDType::Q4_1, GgmlDType::Q6K], 640, [4, 2]),
        ([GgmlDType::F16, GgmlDType::BF16], 640, [4, 2]),
        // Positions enough for the attention's other form, heads enough to join its parts apart.
        ([GgmlDType::Q8_0, GgmlDType::F32], 5000, [32, 8]),
    ] {
        quantized_of(&path, types, context_len, heads);
        models.push(Model::from_gguf(&File::open(&path).unwrap(), &device).unwrap());
    }
    let mut variants = Vec::new();
    for model in &models {
        let listed = model.variants(usize::MAX, 1).unwrap();
        let new = listed.into_iter().filter(|one| !variants.contains(one));
        variants.extend(new.collect::<Vec<_>>());
    }
    for step in ["embed", "project", "attend", "join", "mix", "gated", "pick"] {
        let name = format!("step_{step}");
        let has = variants.iter().any(|one| one.source.name() == name);
        assert!(has, "{name} was not asked for");
    }
    let driver = drivers::checked_on_paper(Api::Metal, "metal", clang::check);
    let checking = GpuDevice::with_driver(driver, &Settings::plain());
    checking.prepare(&variants).unwrap();
    let checked = checking.statistics().kernels.compiled;
    assert_eq!(checked, variants.len() as u64);
}

#[test]
fn a_warm_up_for_nothing_is_an_error_and_on_the_processor_it_is_nothing() {
    let on_gpu = model("llama", 100, &on_paper(Api::Cuda));
    for (max_len, batch) in [(0, 1), (1, 0)] {
        let error = on_gpu.warm_up(max_len, batch).unwrap_err();
        assert!(matches!(error, Error::Model(_)), "{error}");
    }
    let model = model("llama", 100, &Device::Cpu);
    assert!(model.variants(100, 1).unwrap().is_empty());
    assert_eq!(model.warm_up(100, 1).unwrap(), Default::default());
}
