//! Random choices that can be made again, smaller: what random cases are drawn from.
//!
//! A case is a function of a sequence of numbers. Whoever wants the case again gives the same
//! sequence, and whoever wants a smaller one that fails alike gives a shorter sequence or smaller
//! numbers: the first of a list, the least of a range and the smallest size are always number 0.

use std::fmt::Debug;

/// Sizes of dimensions: 1 and small ones most often; vectors' lengths and one beside; none.
const SIZES: &[usize] = &[
    1, 2, 3, 1, 2, 4, 5, 1, 2, 3, 6, 7, 8, 9, 0, 11, 15, 16, 17, 31, 33, 40, 64, 65, 100, 130,
];

/// Ranks, the likely ones more than once.
const RANKS: &[usize] = &[1, 2, 2, 3, 3, 4, 4, 0, 5, 6, 7, 8, 9];

/// Elements of most operands, and of one in a hundred: several threads share those.
const ELEMENTS: [usize; 2] = [1500, 40_000];

/// A source of choices, which remembers what it gave.
#[derive(Clone, Debug)]
pub struct Draw {
    given: Vec<u64>,
    wanted: Option<Vec<u64>>,
    state: u64,
    notes: String,
}

impl Draw {
    /// Random choices, the same for the same seed.
    pub fn new(seed: u64) -> Self {
        Self {
            given: Vec::new(),
            wanted: None,
            state: seed,
            notes: String::new(),
        }
    }

    /// These choices, each brought into its range; 0 after the last.
    pub fn again(choices: &[u64]) -> Self {
        Self {
            wanted: Some(choices.to_vec()),
            ..Self::new(0)
        }
    }

    /// The choices so far.
    pub fn choices(&self) -> &[u64] {
        &self.given
    }

    /// The named choices so far: `dim 1, stride 2`.
    pub fn notes(&self) -> &str {
        self.notes.trim_start_matches(", ")
    }

    /// One of `count` numbers from 0; 0 if `count` is.
    pub fn below(&mut self, count: usize) -> usize {
        let count = count.max(1) as u64;
        let next = match &self.wanted {
            Some(wanted) => wanted.get(self.given.len()).copied().unwrap_or(0),
            None => super::case::random(&mut self.state),
        };
        self.given.push(next % count);
        (next % count) as usize
    }

    fn note(&mut self, name: &str, value: impl Debug) {
        use std::fmt::Write as _;
        if self.wanted.is_some() {
            // Writing to a string does not fail.
            let _ = write!(self.notes, ", {name} {value:?}");
        }
    }

    /// A number of `least` to `most`, named in the case's description.
    pub fn number(&mut self, name: &str, least: usize, most: usize) -> usize {
        let number = least + self.below(most.saturating_sub(least) + 1);
        self.note(name, number);
        number
    }

    /// One of the list, which must not be empty.
    pub fn pick<T: Copy + Debug>(&mut self, name: &str, list: &[T]) -> T {
        let picked = list[self.below(list.len())];
        self.note(name, picked);
        picked
    }

    /// True once in `times`.
    pub fn rarely(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times && times > 1
    }

    /// True or false.
    pub fn flag(&mut self, name: &str) -> bool {
        self.pick(name, &[false, true])
    }

    /// A size of at least `least`.
    pub fn size(&mut self, least: usize) -> usize {
        SIZES[self.below(SIZES.len())].max(least)
    }

    /// Sizes of a tensor whose rank is within a range, each at least `least`; the elements are few.
    pub fn dims_of(&mut self, ranks: std::ops::RangeInclusive<usize>, least: usize) -> Vec<usize> {
        let likely: Vec<usize> = RANKS
            .iter()
            .copied()
            .filter(|r| ranks.contains(r))
            .collect();
        let rank = match likely.is_empty() {
            true => *ranks.start(),
            false => likely[self.below(likely.len())],
        };
        let mut left = ELEMENTS[usize::from(self.rarely(100))];
        let large = left > ELEMENTS[0] && rank > 0;
        let mut dims: Vec<usize> = (0..rank)
            .map(|_| {
                let size = match self.size(least) {
                    size if size > left => least.max(1),
                    size => size,
                };
                left /= size.max(1);
                size
            })
            .collect();
        if large {
            let grown = self.below(rank);
            dims[grown] *= 1 + self.below(left);
        }
        dims
    }

    /// Sizes of any tensor.
    pub fn dims(&mut self) -> Vec<usize> {
        self.dims_of(0..=9, 0)
    }

    /// Sizes that broadcast to `dims`: leading ones dropped, others made 1.
    pub fn narrower(&mut self, dims: &[usize]) -> Vec<usize> {
        let dropped = if self.rarely(3) {
            self.below(dims.len() + 1)
        } else {
            0
        };
        dims[dropped..]
            .iter()
            .map(|&size| if self.rarely(4) { 1 } else { size })
            .collect()
    }

    /// A choice of the dimensions of a tensor, in any order.
    pub fn some_dims(&mut self, name: &str, rank: usize) -> Vec<usize> {
        let mut left: Vec<usize> = (0..rank).collect();
        let count = self.below(rank + 1);
        let taken = (0..count)
            .map(|_| left.remove(self.below(left.len())))
            .collect();
        self.note(name, &taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_choices_give_the_same_again() {
        for seed in 0..200 {
            let draw = |draw: &mut Draw| {
                let dims = draw.dims();
                let some = draw.some_dims("dims", dims.len());
                (draw.narrower(&dims), some, draw.number("n", 3, 9), dims)
            };
            let mut first = Draw::new(seed);
            let drawn = draw(&mut first);
            let mut second = Draw::again(first.choices());
            assert_eq!(draw(&mut second), drawn);
            assert_eq!(second.choices(), first.choices());
        }
        assert_eq!(Draw::again(&[]).dims(), [1]);
    }
}
