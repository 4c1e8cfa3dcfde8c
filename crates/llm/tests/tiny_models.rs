//! Small models of every architecture and kind of rope scaling, against Hugging Face's
//! (golden/make_tiny_models.py), from safetensors in f32.
//!
//! The weights follow from their names, so that none are stored; 40 tokens go through at once and
//! one by one.
#![allow(
    clippy::unwrap_used,
    reason = "functions of a test may panic as the test does"
)]

mod tiny;

use serde_json::Value;
use tallow_llm::Model;
use tallow_llm::sampling::argmax;
use tiny::{golden, write_model};

fn assert_close(case: &str, position: usize, found: &[f32], expected: &Value) {
    let expected: Vec<f64> = expected
        .as_array()
        .unwrap()
        .iter()
        .map(|logit| logit.as_f64().unwrap())
        .collect();
    assert_eq!(found.len(), expected.len());
    let largest = expected
        .iter()
        .fold(0.0_f64, |largest, logit| largest.max(logit.abs()));
    for (id, (found, expected)) in found.iter().zip(&expected).enumerate() {
        // Keys and values are kept in f16, which rounds each by up to 2^-11; four layers of random
        // weights make ten times that of it. The rest is f32.
        let error = (f64::from(*found) - expected).abs() / largest;
        assert!(
            error < 5e-3,
            "{case}, position {position}, id {id}: {found} for {expected}"
        );
    }
}

#[test]
fn small_models_agree_with_hugging_face() {
    agree_on(&tallow::Device::Cpu);
}

/// The first GPU of OpenCL, if there is one: what goes through a recorded step there goes layer by
/// layer on the CPU.
#[test]
fn small_models_agree_on_a_gpu() {
    match tallow::Device::new_opencl(0) {
        Ok(device) => agree_on(&device),
        Err(error) => println!("not run: {error}"),
    }
}

fn agree_on(device: &tallow::Device) {
    let golden = golden();
    let ids: Vec<u32> = golden["ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_u64().unwrap() as u32)
        .collect();
    let positions: Vec<usize> = golden["positions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|position| position.as_u64().unwrap() as usize)
        .collect();
    let cases = golden["cases"].as_object().unwrap();
    assert!(cases.len() >= 9);
    for (name, case) in cases {
        let folder = tempfile::tempdir().unwrap();
        write_model(folder.path(), case);
        let model = Model::from_safetensors_folder(folder.path(), device).unwrap();
        let mut compare = |position: usize, logits: &[f32]| {
            if let Some(row) = positions.iter().position(|&wanted| wanted == position) {
                assert_close(name, position, logits, &case["logits"][row]);
            }
            Ok(())
        };
        model
            .forward_all(&ids, &mut model.new_cache(), 0, &mut compare)
            .unwrap();
        let (mut cache, mut greedy) = (model.new_cache(), model.new_cache());
        for (position, id) in ids.iter().enumerate() {
            let before = commands(device);
            let logits = model.forward(&[*id], &mut cache).unwrap();
            let recorded = commands(device) - before;
            assert!(
                position == 0 || recorded < 8,
                "{name}: {recorded} commands for a token"
            );
            compare(position, &logits).unwrap();
            let best = model.forward_greedy(&[*id], &mut greedy).unwrap();
            assert_eq!(
                best,
                argmax(&logits).unwrap(),
                "{name}, position {position}"
            );
        }
    }
}

/// Commands that were recorded on the device: few for a token that goes through a recorded step.
fn commands(device: &tallow::Device) -> u64 {
    device.gpu().map_or(0, |gpu| gpu.statistics().commands)
}

#[test]
fn a_tensor_that_is_missing_or_misshapen_is_named() {
    let golden = golden();
    let case = &golden["cases"]["llama"];
    let name = "model.layers.1.mlp.up_proj.weight";
    let mut missing = case.clone();
    missing["shapes"].as_object_mut().unwrap().remove(name);
    let mut misshapen = case.clone();
    misshapen["shapes"][name] = serde_json::json!([64, 96]);
    for case in [missing, misshapen] {
        let folder = tempfile::tempdir().unwrap();
        write_model(folder.path(), &case);
        let error = Model::from_safetensors_folder(folder.path(), &tallow::Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(error.contains(name), "{error}");
    }
}
