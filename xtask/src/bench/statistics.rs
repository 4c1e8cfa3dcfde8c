//! The median, and an interval that holds it with 95 % probability.
//!
//! The interval is read off the ordered samples (a sign test turned round) and assumes nothing of
//! their distribution: the k-th smallest and the k-th largest of n enclose the true median unless
//! fewer than k samples fall on one side of it, and each sample falls on a given side with
//! probability 1/2. So the interval misses with probability 2·P(B < k), where B is binomial with n
//! and 1/2; k is the largest for which that is at most 5 %. Six samples are the fewest that allow
//! one.

/// The middle of the samples and the interval around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Median {
    /// The middle sample, or the mean of the two in the middle.
    pub(super) value: f64,
    /// The lower end of the interval.
    pub(super) low: f64,
    /// The upper end of the interval.
    pub(super) high: f64,
}

/// The most that the interval may miss the median.
const MISS_MAX: f64 = 0.05;

/// The median of the samples with its interval; none for fewer than six samples.
pub(super) fn median(samples: &[f64]) -> Option<Median> {
    let rank = interval_rank(samples.len())?;
    let mut ordered = samples.to_vec();
    ordered.sort_by(f64::total_cmp);
    let count = ordered.len();
    Some(Median {
        value: f64::midpoint(ordered[(count - 1) / 2], ordered[count / 2]),
        low: ordered[rank - 1],
        high: ordered[count - rank],
    })
}

/// The largest k for which the k-th smallest and k-th largest of `count` samples miss the median
/// with at most 5 % probability.
fn interval_rank(count: usize) -> Option<usize> {
    let mut term = 0.5_f64.powi(i32::try_from(count).ok()?);
    let mut below = 0.0;
    let mut rank = 0;
    // `term` is P(B = rank), `below` is P(B < rank).
    while rank < count {
        below += term;
        if 2.0 * below > MISS_MAX {
            break;
        }
        term *= (count - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::{Median, interval_rank, median};

    #[test]
    fn ranks_are_those_of_the_published_table() {
        // n and k of the two-sided 5 % sign test.
        let table = [
            (6, 1),
            (8, 1),
            (9, 2),
            (11, 2),
            (12, 3),
            (15, 4),
            (20, 6),
            (25, 8),
        ];
        for (count, rank) in table {
            assert_eq!(interval_rank(count), Some(rank), "{count} samples");
        }
    }

    #[test]
    fn too_few_samples_give_no_interval() {
        for count in 0..6 {
            assert_eq!(median(&vec![1.0; count]), None, "{count} samples");
        }
    }

    #[test]
    fn seven_samples_span_from_the_least_to_the_greatest() {
        let found = median(&[1.2, 0.9, 1.0, 1.1, 5.0, 1.05, 0.95]);
        let expected = Median {
            value: 1.05,
            low: 0.9,
            high: 5.0,
        };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn an_even_count_takes_the_mean_of_the_two_in_the_middle() {
        let found = median(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).map(|median| median.value);
        assert_eq!(found, Some(3.5));
    }
}
