//! A bit for each cube of a block, 64 in a word: what is asked of all cubes at once costs an eighth of a byte of memory each.

use rayon::prelude::*;

/// Cubes in a word.
const WORD: usize = u64::BITS as usize;
/// Planes that one thread takes at least.
const LEAST_PLANES: usize = 16;

/// A set of cubes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cubes {
    counts: [usize; 3],
    /// Rows along x, each in words of its own; bits beyond a row's end say nothing.
    words: Vec<u64>,
}

impl Cubes {
    /// Those of which `is_in` tells so, by index with x fastest.
    pub(super) fn of(counts: [usize; 3], is_in: impl Fn(usize) -> bool + Sync) -> Self {
        let mut cubes = Self { counts, words: vec![0; counts[0].div_ceil(WORD) * counts[1] * counts[2]] };
        let in_row = cubes.in_row();
        cubes.words.par_chunks_mut(in_row).with_min_len(LEAST_PLANES).enumerate().for_each(|(row, words)| {
            let (first, end) = (row * counts[0], (row + 1) * counts[0]);
            for (word, from) in words.iter_mut().zip((first..end).step_by(WORD)) {
                let bits = (from..end.min(from + WORD)).map(|cube| u64::from(is_in(cube)) << (cube - from));
                *word = bits.fold(0, |word, bit| word | bit);
            }
        });
        cubes
    }

    /// Those that are in, or the next of which along `axis` is.
    pub(super) fn before(&self, axis: usize) -> Self {
        self.with_neighbours(axis, [false, true])
    }

    /// Those that are in, or a neighbour of which along `axis` is.
    pub(super) fn beside(&self, axis: usize) -> Self {
        self.with_neighbours(axis, [true, true])
    }

    /// Those that are in, or of which one of those before and behind along `axis` is, as far as these are asked for.
    fn with_neighbours(&self, axis: usize, [before, behind]: [bool; 2]) -> Self {
        let mut words = self.words.clone();
        let in_row = self.in_row();
        let in_plane = in_row * self.counts[1];
        let planes = words.par_chunks_mut(in_plane).with_min_len(LEAST_PLANES).enumerate();
        planes.for_each(|(z, plane)| {
            let own = &self.words[z * in_plane..][..in_plane];
            if axis == 0 {
                let rows = plane.chunks_exact_mut(in_row).zip(own.chunks_exact(in_row));
                rows.for_each(|(row, own)| spread_row(row, own, before, behind));
                return;
            }
            let (near, whole) = if axis == 1 { (in_row, own) } else { (in_plane, &self.words[..]) };
            let first = if axis == 1 { 0 } else { z * in_plane };
            if before {
                // The first has none before it.
                let skipped = near.saturating_sub(first).min(plane.len());
                let others = &whole[first + skipped - near..];
                plane[skipped..].iter_mut().zip(others).for_each(|(word, other)| *word |= other);
            }
            if behind {
                let others = whole.get(first + near..).unwrap_or_default();
                plane.iter_mut().zip(others).for_each(|(word, other)| *word |= other);
            }
        });
        Self { counts: self.counts, words }
    }

    fn in_row(&self) -> usize {
        self.counts[0].div_ceil(WORD).max(1)
    }
}

fn spread_row(row: &mut [u64], own: &[u64], before: bool, behind: bool) {
    for (i, word) in row.iter_mut().enumerate() {
        if before {
            let carried = if i > 0 { own[i - 1] >> (WORD - 1) } else { 0 };
            *word |= own[i] << 1 | carried;
        }
        if behind {
            let carried = own.get(i + 1).map_or(0, |next| next << (WORD - 1));
            *word |= own[i] >> 1 | carried;
        }
    }
}

/// For each cube, by index with x fastest, a byte of which bit `m` tells whether set `m` has it.
pub(super) fn bytes_of(sets: &[&Cubes; 8]) -> Vec<u8> {
    let (counts, in_row) = (sets[0].counts, sets[0].in_row());
    let mut bytes = vec![0; counts.iter().product()];
    bytes.par_chunks_mut(counts[0].max(1)).with_min_len(LEAST_PLANES).enumerate().for_each(|(row, bytes)| {
        for (place, bytes) in bytes.chunks_mut(8).enumerate() {
            let (word, shift) = (row * in_row + place / 8, place % 8 * 8);
            let eight = sets.map(|set| (set.words[word] >> shift) as u8);
            bytes.copy_from_slice(&transposed(u64::from_le_bytes(eight)).to_le_bytes()[..bytes.len()]);
        }
    });
    bytes
}

/// How many of some sets have each cube, at most 15.
pub(super) struct Tally([Cubes; 4]);

impl Tally {
    pub(super) fn new(counts: [usize; 3]) -> Self {
        let none = Cubes::of(counts, |_| false);
        Self([none.clone(), none.clone(), none.clone(), none])
    }

    /// Counts the cubes that `set` has not.
    pub(super) fn add_others(&mut self, set: &Cubes) {
        let [ones, twos, fours, eights] = &mut self.0;
        let sums = ones.words.iter_mut().zip(&mut twos.words).zip(&mut fours.words).zip(&mut eights.words);
        for ((((ones, twos), fours), eights), word) in sums.zip(&set.words) {
            let mut carried = !word;
            for sum in [ones, twos, fours, eights] {
                (*sum, carried) = (*sum ^ carried, *sum & carried);
            }
        }
    }

    /// The count of each cube, by index with x fastest.
    pub(super) fn counts(&self) -> Vec<u8> {
        let [ones, twos, fours, eights] = &self.0;
        let none = Cubes { counts: ones.counts, words: vec![0; ones.words.len()] };
        bytes_of(&[ones, twos, fours, eights, &none, &none, &none, &none])
    }
}

/// Bit j of byte i becomes bit i of byte j.
const fn transposed(mut bits: u64) -> u64 {
    let swapped = (bits ^ (bits >> 7)) & 0x00aa_00aa_00aa_00aa;
    bits ^= swapped ^ (swapped << 7);
    let swapped = (bits ^ (bits >> 14)) & 0x0000_cccc_0000_cccc;
    bits ^= swapped ^ (swapped << 14);
    let swapped = (bits ^ (bits >> 28)) & 0x0000_0000_f0f0_f0f0;
    bits ^ swapped ^ (swapped << 28)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    const COUNTS: [[usize; 3]; 6] = [[1, 1, 1], [5, 3, 2], [64, 2, 3], [65, 4, 1], [130, 3, 20], [7, 1, 40]];

    fn at(counts: [usize; 3], cube: usize) -> [usize; 3] {
        [cube % counts[0], cube / counts[0] % counts[1], cube / (counts[0] * counts[1])]
    }

    #[test]
    fn neighbours_are_those_that_a_search_finds() {
        let mut random = Random::new(31);
        for counts in COUNTS {
            let all: usize = counts.iter().product();
            let chosen: Vec<bool> = (0..all).map(|_| random.unit() < 0.1).collect();
            let set = Cubes::of(counts, |cube| chosen[cube]);
            for axis in 0..3 {
                let stride: usize = counts[..axis].iter().product();
                let has = |cube: usize, up: bool, down: bool| {
                    let place = at(counts, cube)[axis];
                    chosen[cube]
                        || (up && place + 1 < counts[axis] && chosen[cube + stride])
                        || (down && place > 0 && chosen[cube - stride])
                };
                let told = |set: &Cubes| bytes_of(&[set; 8]).into_iter().map(|byte| byte == 255).collect::<Vec<_>>();
                assert_eq!(told(&set.before(axis)), (0..all).map(|cube| has(cube, true, false)).collect::<Vec<_>>());
                assert_eq!(told(&set.beside(axis)), (0..all).map(|cube| has(cube, true, true)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_lies_beyond_a_row_does_not_come_back_into_it() {
        let set = Cubes::of([3, 1, 1], |cube| cube == 0);
        let mut grown = set;
        for _ in 0..2 {
            grown = grown.beside(0).beside(1);
        }
        assert_eq!(bytes_of(&[&grown; 8]), [255; 3]);
        let none = Cubes::of([3, 2, 2], |_| false);
        assert_eq!(bytes_of(&[&none.beside(0).beside(1).beside(2); 8]), [0; 12]);
    }

    #[test]
    fn bits_become_bytes_and_counts() {
        let counts = [70, 2, 1];
        let sets: Vec<Cubes> = (0..8).map(|m| Cubes::of(counts, |cube| (cube * 37) >> m & 1 == 1)).collect();
        let wanted: Vec<u8> = (0..140).map(|cube| (cube * 37) as u8).collect();
        assert_eq!(bytes_of(&std::array::from_fn(|m| &sets[m])), wanted);
        let mut tally = Tally::new(counts);
        (0..15).for_each(|least| tally.add_others(&Cubes::of(counts, |cube| cube % 16 <= least)));
        assert_eq!(tally.counts(), (0..140).map(|cube| (cube % 16) as u8).collect::<Vec<_>>());
    }
}
