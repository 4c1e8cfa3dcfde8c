//! [`Split`]: a length cut into parts that differ by at most one.

/// `len` items in `parts` parts, the longer ones first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    len: usize,
    parts: usize,
}

impl Split {
    /// As few parts as keep each at most `longest` items.
    pub(crate) fn at_most(longest: usize, len: usize) -> Self {
        Self {
            len,
            parts: len.div_ceil(longest),
        }
    }

    /// `parts` parts, or one of each item where there are fewer.
    pub(crate) fn into_parts(parts: usize, len: usize) -> Self {
        Self {
            len,
            parts: parts.min(len),
        }
    }

    /// How many parts there are.
    pub(crate) fn parts(self) -> usize {
        self.parts
    }

    /// First item of part `index`; the end of all items when `index` is the number of parts.
    #[inline]
    pub(crate) fn start(self, index: usize) -> usize {
        let (short, longer) = (self.len / self.parts, self.len % self.parts);
        index * short + index.min(longer)
    }

    /// Items of part `index`.
    #[inline]
    pub(crate) fn range(self, index: usize) -> std::ops::Range<usize> {
        self.start(index)..self.start(index + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_differ_by_at_most_one() {
        for len in 1..40 {
            for longest in 1..20 {
                let split = Split::at_most(longest, len);
                let sizes: Vec<usize> = (0..split.parts()).map(|i| split.range(i).len()).collect();
                assert_eq!(sizes.iter().sum::<usize>(), len);
                assert!(
                    sizes
                        .iter()
                        .all(|size| *size <= longest && size + 1 >= sizes[0])
                );
                assert_eq!(split.start(split.parts()), len);
            }
        }
        assert_eq!(Split::into_parts(8, 3).parts(), 3);
        assert_eq!(Split::at_most(8, 0).parts(), 0);
    }
}
