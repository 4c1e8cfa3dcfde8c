//! Small models whose weights follow from their names, as Hugging Face would write them.

use std::path::Path;

use serde_json::Value;

/// The settings and shapes of the models, and what they answer.
pub(crate) fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/tiny_models.json")).unwrap()
}

/// Half a uniform number in [-0.5, 0.5) from a hash of the name and the place, as the script has
/// it; 1 more for norms.
fn weight(name: &str, shape: &[usize]) -> Vec<f32> {
    let seed = name.bytes().fold(2_166_136_261_u32, |seed, byte| {
        (seed ^ u32::from(byte)).wrapping_mul(16_777_619)
    });
    let shift = if shape.len() == 1 && name.ends_with("norm.weight") {
        1.0
    } else {
        0.0
    };
    let value = |index: usize| {
        let mut x = seed.wrapping_add((index as u32).wrapping_mul(2_654_435_761));
        x ^= x >> 15;
        x = x.wrapping_mul(2_246_822_519);
        x ^= x >> 13;
        ((x >> 8) as f32 / 16_777_216.0 - 0.5) * 0.5 + shift
    };
    (0..shape.iter().product()).map(value).collect()
}

/// Writes `config.json` and `model.safetensors` as Hugging Face would.
pub(crate) fn write_model(folder: &Path, case: &Value) {
    std::fs::write(folder.join("config.json"), case["config"].to_string()).unwrap();
    let mut header = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, shape) in case["shapes"].as_object().unwrap() {
        let dims: Vec<usize> = shape
            .as_array()
            .unwrap()
            .iter()
            .map(|dim| dim.as_u64().unwrap() as usize)
            .collect();
        let start = data.len();
        for value in weight(name, &dims) {
            data.extend(value.to_le_bytes());
        }
        let entry = serde_json::json!(
            {"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}
        );
        header.insert(name.clone(), entry);
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    std::fs::write(folder.join("model.safetensors"), bytes).unwrap();
}
