//! The index of a model in several files: which tensor is in which file.
//!
//! ```text
//! {"metadata": {…}, "weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors", …}}
//! ```
//!
//! File names are those of files beside the index, and nothing else: a name with a path in it is
//! refused, so that an index cannot make a program open files elsewhere.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::header::MAX_HEADER_BYTES;
use super::malformed;
use super::unique_map::UniqueMap;
use crate::error::{Quoted, Result, printable};

/// What an index says.
pub(super) struct WeightMap {
    /// The files, in the order of their names.
    pub(super) shard_names: Vec<String>,
    /// The position in `shard_names` of each tensor's file.
    pub(super) shard_of: BTreeMap<String, usize>,
}

#[derive(Deserialize)]
struct Index {
    weight_map: UniqueMap<String>,
}

pub(super) fn decode(bytes: &[u8]) -> Result<WeightMap> {
    if bytes.len() > MAX_HEADER_BYTES {
        let len = bytes.len();
        return Err(malformed(format!(
            "index: {len} bytes; {MAX_HEADER_BYTES} at most"
        )));
    }
    let index: Index = serde_json::from_slice(bytes)
        .map_err(|error| malformed(format!("index: {}", printable(&error))))?;
    let UniqueMap(weight_map) = index.weight_map;
    let mut shard_names: Vec<String> = weight_map.values().cloned().collect();
    shard_names.sort_unstable();
    shard_names.dedup();
    for name in &shard_names {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\\', ':', '\0']) {
            let problem = format!(
                "index: {} is not the name of a file beside it",
                Quoted(name)
            );
            return Err(malformed(problem));
        }
    }
    let shard_of = weight_map
        .into_iter()
        .map(|(name, shard)| {
            let position = shard_names
                .binary_search(&shard)
                .expect("every shard is in the list");
            (name, position)
        })
        .collect();
    Ok(WeightMap {
        shard_names,
        shard_of,
    })
}
