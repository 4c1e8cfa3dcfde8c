//! The search for a smaller sequence of choices that fails too.

/// Of the sequences that `fails` gives something for, a small one's: choices are left out or made
/// smaller as long as it does. It gets a sequence, and gives back the choices that were really made
/// of it. At most `tries` calls. None if not even the first fails.
pub fn smallest<T>(
    choices: &[u64],
    tries: usize,
    mut fails: impl FnMut(&[u64]) -> Option<(Vec<u64>, T)>,
) -> Option<T> {
    let mut left = tries;
    let (mut choices, mut found) = fails(choices)?;
    let mut progress = true;
    while progress {
        progress = false;
        let mut at = choices.len();
        while at > 0 {
            at -= 1;
            for candidate in candidates(&choices, at) {
                if left == 0 {
                    return Some(found);
                }
                left -= 1;
                if let Some((same, smaller)) = fails(&candidate)
                    && simpler(&same, &choices)
                {
                    (choices, found, progress) = (same, smaller, true);
                    at = at.min(choices.len());
                    break;
                }
            }
        }
    }
    Some(found)
}

/// The sequence without some choices from `at` on, or with a smaller one there.
fn candidates(choices: &[u64], at: usize) -> Vec<Vec<u64>> {
    let without = |count: usize| {
        let end = (at + count).min(choices.len());
        [&choices[..at], &choices[end..]].concat()
    };
    let with = |value: u64| {
        let mut changed = choices.to_vec();
        changed[at] = value;
        changed
    };
    let mut all = vec![without(8), without(2), without(1)];
    if let Some(value @ 1..) = choices.get(at).copied() {
        all.extend([0, value / 2, value - 1].map(with));
    }
    all
}

/// Fewer choices, or as many that are smaller in the order of words.
fn simpler(these: &[u64], those: &[u64]) -> bool {
    (these.len(), these) < (those.len(), those)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let fails = |choices: &[u64]| {
            let large = choices.iter().any(|&choice| choice > 40);
            large.then(|| (choices.to_vec(), choices.to_vec()))
        };
        assert_eq!(smallest(&[3, 90, 0, 77, 5], 1000, fails), Some(vec![41]));
        assert_eq!(smallest(&[3, 9], 1000, fails), None);
    }
}
