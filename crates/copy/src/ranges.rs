//! Large files in ranges: where each lies, which of its bytes are data, and the hash of the whole from those of its ranges.
//!
//! A range is a subtree of BLAKE3's tree: hashed alone, in any order, and the ranges' values give the hash that `b3sum` prints.

use std::collections::HashSet;
use std::io;

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use blake3::{Hash, Hasher};

/// Bytes of a range, but for the last of a file: a power of two, as a subtree has.
pub(crate) const RANGE: u64 = 16 << 20;
/// Pieces of data in a range at most; of what is more scattered the smallest holes are sent as zeros.
const MOST_EXTENTS: usize = 128;
/// What is read at once to be hashed: it stays in the processor's nearest cache but one.
const CHUNK: usize = 1 << 16;

/// What stands for a range in the hash of its file; of a file of one range, the hash itself.
pub(crate) type RangeHash = [u8; 32];

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// It is the whole file.
    pub(crate) is_file: bool,
}

/// Ranges of a file of `size` bytes.
pub(crate) const fn count(size: u64) -> u64 {
    size.div_ceil(RANGE)
}

/// Range `index` of a file of `size` bytes; none if it has not so many.
pub(crate) fn range(size: u64, index: u64) -> Option<Range> {
    let start = index.checked_mul(RANGE).filter(|&start| start < size)?;
    Some(Range { start, length: RANGE.min(size - start), is_file: size <= RANGE })
}

impl Range {
    /// The hash of the range, whose bytes `read` gives by their offset in the file.
    pub(crate) fn hash(&self, mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>) -> io::Result<RangeHash> {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(self.start);
        let mut chunk = vec![0; CHUNK.min(self.length as usize)];
        let end = self.start + self.length;
        let mut at = self.start;
        while at < end {
            let part = &mut chunk[..(CHUNK as u64).min(end - at) as usize];
            read(at, part)?;
            hasher.update(part);
            at += part.len() as u64;
        }
        Ok(if self.is_file { *hasher.finalize().as_bytes() } else { hasher.finalize_non_root() })
    }

    /// The hash of the range with this content.
    pub(crate) fn hash_of(&self, content: &[u8]) -> RangeHash {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(self.start);
        hasher.update(content);
        if self.is_file { *hasher.finalize().as_bytes() } else { hasher.finalize_non_root() }
    }
}

/// The hash of a file from those of all its ranges, one at least.
pub(crate) fn file_hash(ranges: &[RangeHash]) -> Hash {
    match ranges {
        [] => blake3::hash(b""),
        [whole] => Hash::from_bytes(*whole),
        _ => {
            let (left, right) = halves(ranges);
            merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

fn subtree(ranges: &[RangeHash]) -> RangeHash {
    match ranges {
        [one] => *one,
        _ => {
            let (left, right) = halves(ranges);
            merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
}

/// The left subtree is the largest that is complete and leaves something to the right.
fn halves(ranges: &[RangeHash]) -> (&[RangeHash], &[RangeHash]) {
    ranges.split_at(ranges.len().next_power_of_two() / 2)
}

/// Where a range has data, as `(start, length)` from its own start on, in order; the rest are holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extents(Vec<(u64, u64)>);

impl Extents {
    /// Data all over.
    pub(crate) fn dense(length: u64) -> Self {
        Self(vec![(0, length)])
    }

    /// These pieces of a range of `length` bytes; none if they overlap, are out of order, empty, beyond it, or too many.
    pub(crate) fn new(pieces: Vec<(u64, u64)>, length: u64) -> Option<Self> {
        let mut free = 0;
        for &(start, piece) in &pieces {
            if start < free || piece == 0 {
                return None;
            }
            free = start.checked_add(piece).filter(|&end| end <= length)?;
        }
        (pieces.len() <= MOST_EXTENTS).then_some(Self(pieces))
    }

    /// These pieces, in order and apart; where they are too many, the smallest holes between them count as data.
    pub(crate) fn joined(pieces: &[(u64, u64)]) -> Self {
        let end = |&(start, length): &(u64, u64)| start + length;
        let hole = |index: usize| pieces[index].0 - end(&pieces[index - 1]);
        let mut smallest_first: Vec<_> = (1..pieces.len()).collect();
        smallest_first.sort_by_key(|&index| hole(index));
        smallest_first.truncate(pieces.len().saturating_sub(MOST_EXTENTS));
        let filled: HashSet<_> = smallest_first.into_iter().collect();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            match joined.last_mut() {
                Some(last) if filled.contains(&index) => last.1 = end(piece) - last.0,
                _ => joined.push(*piece),
            }
        }
        Self(joined)
    }

    /// Bytes of data.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|(_, length)| length).sum()
    }

    /// Has `write` put `bytes`, which lie from `offset` on in the data, where they belong in the range.
    pub(crate) fn write(
        &self,
        offset: u64,
        bytes: &[u8],
        mut write: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut rest = bytes;
        for (start, length) in self.locate(offset, bytes.len() as u64) {
            let (part, behind) = rest.split_at(length as usize);
            write(start, part)?;
            rest = behind;
        }
        Ok(())
    }

    /// Has `read` fetch `into.len()` bytes from `offset` on in the data from where they lie in the range.
    pub(crate) fn read(
        &self,
        offset: u64,
        into: &mut [u8],
        mut read: impl FnMut(u64, &mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut rest = into;
        for (start, length) in self.locate(offset, rest.len() as u64) {
            let (part, behind) = rest.split_at_mut(length as usize);
            read(start, part)?;
            rest = behind;
        }
        Ok(())
    }

    /// Where `length` bytes from `offset` on, counted in data alone, lie in the range: `(start, length)` each.
    fn locate(&self, offset: u64, length: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (from, to) = (offset, offset + length);
        let mut before = 0;
        self.0.iter().filter_map(move |&(start, extent)| {
            let first = before;
            before += extent;
            let (begin, end) = (from.max(first), to.min(before));
            (begin < end).then(|| (start + begin - first, end - begin))
        })
    }
}

/// What an object of a range is called: `r ENTRY RANGE PIECES`, with `START+LENGTH` of each piece of data, `-` for none, `*` for data all over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeName {
    pub(crate) entry: u64,
    pub(crate) range: u64,
    /// None: data all over.
    pub(crate) extents: Option<Vec<(u64, u64)>>,
}

impl RangeName {
    pub(crate) fn of(entry: u64, range: u64, length: u64, extents: &Extents) -> Self {
        let dense = extents.0 == [(0, length)];
        Self { entry, range, extents: (!dense).then(|| extents.0.clone()) }
    }

    pub(crate) fn to_text(&self) -> String {
        let pieces = match self.extents.as_deref() {
            None => "*".to_owned(),
            Some([]) => "-".to_owned(),
            Some(pieces) => {
                pieces.iter().map(|(start, length)| format!("{start}+{length}")).collect::<Vec<_>>().join(",")
            }
        };
        format!("r {} {} {pieces}", self.entry, self.range)
    }

    /// None if it is no such name.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let ("r", entry, range, pieces, None) =
            (words.next()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?, words.next())
        else {
            return None;
        };
        let extents = match pieces {
            "*" => None,
            "-" => Some(Vec::new()),
            _ => {
                let piece = |text: &str| {
                    let (start, length) = text.split_once('+')?;
                    Some((start.parse().ok()?, length.parse().ok()?))
                };
                Some(pieces.split(',').take(MOST_EXTENTS + 1).map(piece).collect::<Option<_>>()?)
            }
        };
        Some(Self { entry, range, extents })
    }

    /// Where its data lies in a range of `length` bytes; none if it cannot.
    pub(crate) fn extents(&self, length: u64) -> Option<Extents> {
        match &self.extents {
            None => Some(Extents::dense(length)),
            Some(pieces) => Extents::new(pieces.clone(), length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash_of(content: &[u8]) -> Hash {
        let size = content.len() as u64;
        let of = |index| {
            let read = |at: u64, part: &mut [u8]| {
                part.copy_from_slice(&content[at as usize..at as usize + part.len()]);
                Ok(())
            };
            range(size, index).unwrap().hash(read).unwrap()
        };
        // Hashed in another order than they lie in.
        let mut hashes: Vec<_> = (0..count(size)).rev().map(of).collect();
        hashes.reverse();
        file_hash(&hashes)
    }

    #[test]
    fn ranges_give_the_hash_of_the_whole() {
        let content: Vec<u8> = (0..5 * RANGE + 12_345).map(|at| ((at * at) >> 7) as u8).collect();
        for size in [1, RANGE - 1, RANGE, RANGE + 1, 2 * RANGE, 3 * RANGE + 1024, 5 * RANGE + 12_345] {
            let part = &content[..size as usize];
            assert_eq!(hash_of(part), blake3::hash(part), "{size}");
        }
        assert_eq!(file_hash(&[]), blake3::hash(b""));
    }

    #[test]
    fn data_is_found_between_holes() {
        let extents = Extents::new(vec![(10, 5), (20, 100)], 200).unwrap();
        assert_eq!(extents.bytes(), 105);
        assert_eq!(extents.locate(3, 10).collect::<Vec<_>>(), [(13, 2), (20, 8)]);
        assert_eq!(extents.locate(5, 0).count(), 0);
        let mut range = [0; 200];
        let put = |at: u64, part: &[u8]| {
            range[at as usize..][..part.len()].copy_from_slice(part);
            Ok(())
        };
        extents.write(3, b"abcd", put).unwrap();
        assert_eq!((&range[13..15], &range[15..20], &range[20..22]), (&b"ab"[..], &[0; 5][..], &b"cd"[..]));
        let mut back = [0; 4];
        let get = |at: u64, part: &mut [u8]| {
            part.copy_from_slice(&range[at as usize..][..part.len()]);
            Ok(())
        };
        extents.read(3, &mut back, get).unwrap();
        assert_eq!(&back, b"abcd");
        for wrong in [vec![(0, 0)], vec![(5, 5), (9, 1)], vec![(150, 51)], vec![(u64::MAX, 2)], vec![(0, 1); 200]] {
            assert_eq!(Extents::new(wrong, 200), None);
        }
    }

    #[test]
    fn of_too_many_pieces_the_smallest_holes_are_data() {
        // After each piece a hole: of one byte, or, after each third, of nine.
        let starts =
            (0..300).scan(0, |at, index: u64| Some(std::mem::replace(at, *at + if index % 3 == 2 { 10 } else { 2 })));
        let pieces: Vec<_> = starts.map(|start| (start, 1)).collect();
        let end = pieces[299].0 + 1;
        let joined = Extents::joined(&pieces);
        assert_eq!(Extents::new(joined.0.clone(), end), Some(joined.clone()));
        assert_eq!(joined.0.len(), MOST_EXTENTS);
        // No more holes are filled than need be, and no large one.
        assert_eq!(joined.bytes(), 300 + (300 - MOST_EXTENTS as u64));
        assert_eq!(joined.0.iter().zip(&joined.0[1..]).filter(|(one, next)| next.0 - (one.0 + one.1) == 9).count(), 99);
        assert_eq!(Extents::joined(&pieces[..MOST_EXTENTS]).0, pieces[..MOST_EXTENTS]);
        assert_eq!(Extents::joined(&[]).0, []);
    }

    #[test]
    fn names_of_ranges_survive_the_journey() {
        for extents in [None, Some(vec![]), Some(vec![(0, 4096), (8192, 1)])] {
            let name = RangeName { entry: u64::MAX, range: 7, extents };
            assert_eq!(RangeName::from_text(&name.to_text()), Some(name));
        }
        for wrong in ["", "r", "r 1 2", "r 1 2 * 3", "r 1 2 3", "r 1 2 3+", "b 1 2 *", "r -1 2 *"] {
            assert_eq!(RangeName::from_text(wrong), None, "{wrong}");
        }
    }
}
