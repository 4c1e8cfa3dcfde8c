//! Looks names up without keeping them twice: positions sorted by the name that stands there.
//!
//! A sorted list rather than a hash map, because the names are already owned by the entries, and
//! because a file of a stranger cannot make a binary search slow.

/// Positions `0..len` of some list of names, in the order of the names.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameIndex {
    order: Vec<usize>,
}

impl NameIndex {
    /// Indexes `len` names; `Err(position)` is the second holder of a name that comes twice.
    pub(crate) fn build<'a>(len: usize, name: impl Fn(usize) -> &'a str) -> Result<Self, usize> {
        let mut order: Vec<usize> = (0..len).collect();
        order.sort_unstable_by(|&a, &b| name(a).cmp(name(b)).then(a.cmp(&b)));
        match order.windows(2).find(|pair| name(pair[0]) == name(pair[1])) {
            Some(pair) => Err(pair[1]),
            None => Ok(NameIndex { order }),
        }
    }

    /// The position of `wanted`; `name` is as it was for [`NameIndex::build`].
    pub(crate) fn find<'a>(&self, wanted: &str, name: impl Fn(usize) -> &'a str) -> Option<usize> {
        self.slot(wanted, name).ok().map(|slot| self.order[slot])
    }

    /// Adds the position that comes next, under `added`; false, and no change, if it is a twin.
    pub(crate) fn push<'a>(&mut self, added: &str, name: impl Fn(usize) -> &'a str) -> bool {
        match self.slot(added, name) {
            Ok(_) => false,
            Err(slot) => {
                self.order.insert(slot, self.order.len());
                true
            }
        }
    }

    fn slot<'a>(&self, wanted: &str, name: impl Fn(usize) -> &'a str) -> Result<usize, usize> {
        self.order
            .binary_search_by(|&position| name(position).cmp(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::NameIndex;

    #[test]
    fn finds_each_name_and_nothing_else() {
        let names = ["q", "a", "zz", ""];
        let index = NameIndex::build(names.len(), |i| names[i]).unwrap();
        for (position, name) in names.iter().enumerate() {
            assert_eq!(index.find(name, |i| names[i]), Some(position));
        }
        assert_eq!(index.find("b", |i| names[i]), None);
    }

    #[test]
    fn build_names_the_second_of_two_equal_names() {
        let names = ["b", "a", "b"];
        assert_eq!(NameIndex::build(3, |i| names[i]).unwrap_err(), 2);
    }

    #[test]
    fn push_keeps_the_order_and_refuses_a_twin() {
        let names = ["m", "a", "z"];
        let mut index = NameIndex::default();
        for name in names {
            assert!(index.push(name, |i| names[i]));
            assert!(!index.push(name, |i| names[i]));
        }
        assert_eq!(index.find("z", |i| names[i]), Some(2));
    }
}
