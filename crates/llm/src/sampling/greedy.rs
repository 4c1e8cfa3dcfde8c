//! The largest logit.

use super::candidates::check;
use crate::error::Result;

/// The id of the largest logit, the smallest id on a tie.
///
/// # Errors
/// When a logit is NaN or +∞, or all are −∞.
///
/// ```
/// let id = tallow_llm::sampling::argmax(&[0.5, 2.0, -1.0])?;
/// assert_eq!(id, 1);
/// # Ok::<(), tallow_llm::Error>(())
/// ```
pub fn argmax(logits: &[f32]) -> Result<u32> {
    check(logits)?;
    let mut best = 0;
    for (id, &logit) in logits.iter().enumerate() {
        if logit > logits[best] {
            best = id;
        }
    }
    Ok(best as u32)
}
