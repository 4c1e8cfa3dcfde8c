//! Where each position of a resized dimension reads.

use super::Method;

/// A position is `(1 − weight) · x[low] + weight · x[high]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Taps {
    pub(super) low: usize,
    pub(super) high: usize,
    /// 0 where only `low` counts.
    pub(super) weight: f64,
}

/// The taps of every position of a dimension that goes from `from` elements to `to`. The sizes
/// were checked: memory holds that many elements.
pub(super) fn table(from: usize, to: usize, method: Method) -> Vec<Taps> {
    let positions = 0..if from == 0 { 0 } else { to };
    let tap = |position: usize| match method {
        Method::Nearest => {
            let (low, _) = quotient(position as u128 * from as u128, to as u128);
            Taps {
                low,
                high: low,
                weight: 0.0,
            }
        }
        Method::AlignedCorners if to == 1 => between((0, 0.0), from),
        Method::AlignedCorners => {
            let parts = position as u128 * (from - 1) as u128;
            between(quotient(parts, (to - 1) as u128), from)
        }
        // (position + ½) · from / to − ½, in parts of 2 · to
        Method::Areas(None) => {
            let parts = (2 * position as u128 + 1) * from as u128;
            between(
                quotient(parts.saturating_sub(to as u128), 2 * to as u128),
                from,
            )
        }
        Method::Areas(Some(scale)) => {
            let at = ((position as f64 + 0.5) / scale - 0.5).clamp(0.0, (from - 1) as f64);
            between((at as usize, at - at.floor()), from)
        }
    };
    positions.map(tap).collect()
}

/// The whole part of a quotient and the rest of it, which is rounded once.
fn quotient(parts: u128, of: u128) -> (usize, f64) {
    ((parts / of) as usize, (parts % of) as f64 / of as f64)
}

/// The taps of a place: the element below, and how far it is from that.
fn between((low, weight): (usize, f64), from: usize) -> Taps {
    match low + 1 < from {
        true => Taps {
            low,
            high: low + 1,
            weight,
        },
        false => Taps {
            low: from - 1,
            high: from - 1,
            weight: 0.0,
        },
    }
}
