//! Importance matrices, for [`QTensor::quantize_imatrix`](super::QTensor::quantize_imatrix).

use std::collections::HashMap;
use std::path::Path;

use crate::Result;

/// Reads a file: for the name of each weight, a value for each of its columns, the mean square of
/// what met it. Both the older format and the one over GGUF are read; see
/// [`tallow_formats::imatrix`].
pub fn load_imatrix<P: AsRef<Path>>(fname: P) -> Result<HashMap<String, Vec<f32>>> {
    Ok(tallow_formats::imatrix::open(fname)?.into_iter().collect())
}
