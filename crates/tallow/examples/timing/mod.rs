//! How long a call of an operation takes in a stream of them.

use std::time::Instant;
use tallow::{Device, Result, Tensor};

/// Seconds of a batch that is timed.
const BATCH_SECONDS: f64 = 0.02;

/// Seconds of one call: the median of seven batches that end with `synchronize`.
pub(crate) fn seconds(device: &Device, call: &dyn Fn() -> Result<Tensor>) -> Result<f64> {
    let batch = |calls: usize| -> Result<f64> {
        let start = Instant::now();
        for _ in 0..calls {
            call()?;
        }
        device.synchronize()?;
        Ok(start.elapsed().as_secs_f64())
    };
    batch(3)?;
    let calls = (BATCH_SECONDS * 3.0 / batch(3)?).ceil().clamp(1.0, 2000.0) as usize;
    let mut times = (0..7).map(|_| batch(calls)).collect::<Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[3] / calls as f64)
}
