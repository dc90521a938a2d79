//! Sets of times: unions of half-open intervals, in nanoseconds.

/// From and to.
type Interval = (i64, i64);

/// Intervals that neither touch nor overlap, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Intervals(Vec<Interval>);

impl Intervals {
    /// The union of any intervals.
    pub(crate) fn union(any: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut sorted: Vec<_> = any.into_iter().filter(|(start, end)| start < end).collect();
        sorted.sort_unstable();
        let mut joined: Vec<Interval> = Vec::new();
        for (start, end) in sorted {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        Self(joined)
    }

    /// What lies between them.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = (i64, i64)> {
        self.0.windows(2).map(|pair| (pair[0].1, pair[1].0))
    }

    /// The parts of `start..end` that belong to the set, and those that do not.
    pub(crate) fn divide(&self, start: i64, end: i64) -> (Vec<Interval>, Vec<Interval>) {
        let (mut within, mut without, mut at) = (Vec::new(), Vec::new(), start);
        let first = self.0.partition_point(|(_, to)| *to <= start);
        for (from, to) in self.0[first..].iter().take_while(|(from, _)| *from < end) {
            let (from, to) = ((*from).max(start), (*to).min(end));
            without.push((at, from));
            within.push((from, to));
            at = to;
        }
        without.push((at, end.max(at)));
        without.retain(|(from, to)| from < to);
        (within, without)
    }

    /// Total length.
    pub(crate) fn total(&self) -> i64 {
        total(&self.0)
    }

    pub(crate) fn as_slice(&self) -> &[Interval] {
        &self.0
    }
}

/// Total length of intervals that do not overlap.
pub(crate) fn total(intervals: &[Interval]) -> i64 {
    intervals.iter().map(|(start, end)| end - start).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_joins_what_touches_and_knows_what_lies_between() {
        let set = Intervals::union([(5, 6), (0, 2), (1, 3), (3, 4), (9, 9)]);
        assert_eq!(set.as_slice(), [(0, 4), (5, 6)]);
        assert_eq!(set.gaps().collect::<Vec<_>>(), [(4, 5)]);
        assert_eq!(set.total(), 5);
    }

    #[test]
    fn the_two_parts_of_a_division_make_up_the_whole() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..2000 {
            let mut any = || {
                let start = rng.i64(0..60);
                (start, start + rng.i64(0..20))
            };
            let set = Intervals::union((0..6).map(|_| any()));
            let (start, end) = any();
            let (within, without) = set.divide(start, end);
            for at in start..end {
                let belongs = set.as_slice().iter().any(|(from, to)| (*from..*to).contains(&at));
                assert_eq!(within.iter().any(|(from, to)| (*from..*to).contains(&at)), belongs);
                assert_eq!(without.iter().any(|(from, to)| (*from..*to).contains(&at)), !belongs);
            }
            assert_eq!(total(&within) + total(&without), (end - start).max(0));
        }
    }
}
