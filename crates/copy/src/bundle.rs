//! Bundles: many small files as one object, each with its own hash.
//!
//! ```text
//! 0  files (4)                                             then the contents, in the same order
//! 4  each: entry (8), state (1), and
//!    state 0, here:  bytes (4), mtime s (8), mtime ns (4), BLAKE3 (32)
//!    state 1, not:   bytes of the reason (2), the reason
//! ```

use visapult_objects::{cut, printable};

use crate::bytes::Reader;
use crate::listing::{MOST_ENTRIES, MOST_WHOLE, Mtime};
use crate::ranges::{RangeHash, RangeName};

/// A bundle is closed when it has so many files or bytes of content.
pub(crate) const FULL_FILES: usize = 1024;
pub(crate) const FULL_BYTES: u64 = 4 << 20;
/// Bytes of a bundle at most.
pub(crate) const MOST_BUNDLE: u64 = FULL_BYTES + MOST_WHOLE + (FULL_FILES as u64) * 1100 + 4;
const MOST_REASON: usize = 1024;
/// What an object of files that were asked for is called.
pub(crate) const BUNDLE: &str = "b";
/// Bundles under way that were not asked for, and their bytes, at most: the other half of the memory for bundles is for those that were.
pub(crate) const MOST_UNASKED: usize = 64;
pub(crate) const MOST_UNASKED_BYTES: u64 = 32 << 20;
/// The number of a range that no file has.
const NO_RANGE: u64 = u64::MAX;

/// What a bundle is called that was not asked for, with which of the entries may be in it, and how many files are.
///
/// It is the name of a range that no file has: a build that does not know of such bundles refuses it, and asks for the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnaskedName {
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) files: u64,
}

impl UnaskedName {
    pub(crate) fn to_text(self) -> String {
        let Self { first, end, files } = self;
        RangeName { entry: first, range: NO_RANGE, extents: Some(vec![(end, files)]) }.to_text()
    }

    /// None if it is the name of something else.
    pub(crate) fn of(name: &RangeName) -> Option<Self> {
        let (first, &[(end, files)]) = (name.entry, name.extents.as_deref()?) else { return None };
        let entries = end.checked_sub(first).filter(|&entries| entries <= MOST_ENTRIES as u64)?;
        let is_one = name.range == NO_RANGE && files > 0 && files <= entries.min(FULL_FILES as u64);
        is_one.then_some(Self { first, end, files })
    }
}

/// A small file as it was read, or why it was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Here { mtime: Mtime, hash: RangeHash, content: &'a [u8] },
    Not { why: String },
}

/// Puts a bundle together.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    files: u32,
    header: Vec<u8>,
    contents: Vec<u8>,
}

impl Builder {
    pub(crate) fn add(&mut self, entry: u64, item: &Item<'_>) {
        self.files += 1;
        self.header.extend(entry.to_be_bytes());
        match item {
            Item::Here { mtime, hash, content } => {
                self.header.push(0);
                self.header.extend((content.len() as u32).to_be_bytes());
                self.header.extend(mtime.s.to_be_bytes());
                self.header.extend(mtime.ns.to_be_bytes());
                self.header.extend(hash);
                self.contents.extend(*content);
            }
            Item::Not { why } => {
                let reason = cut(why, MOST_REASON);
                self.header.push(1);
                self.header.extend((reason.len() as u16).to_be_bytes());
                self.header.extend(reason.as_bytes());
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 + self.header.len() + self.contents.len());
        bytes.extend(self.files.to_be_bytes());
        bytes.extend(self.header);
        bytes.extend(self.contents);
        bytes
    }
}

/// The files of a bundle; none if it is damaged.
pub(crate) fn read(bytes: &[u8]) -> Option<Vec<(u64, Item<'_>)>> {
    let mut reader = Reader::new(bytes);
    let files = reader.u32()? as usize;
    let mut items = Vec::new();
    let mut lengths = Vec::new();
    for _ in 0..files.min(FULL_FILES + 1) {
        let entry = reader.u64()?;
        let item = match reader.u8()? {
            0 => {
                lengths.push(reader.u32()? as usize);
                let mtime = Mtime { s: reader.i64()?, ns: reader.u32().filter(|&ns| ns < 1_000_000_000)? };
                Item::Here { mtime, hash: reader.array()?, content: &[] }
            }
            1 => {
                let length = reader.u16().filter(|&length| usize::from(length) <= MOST_REASON)?;
                Item::Not { why: printable(reader.take(length.into())?) }
            }
            _ => return None,
        };
        items.push((entry, item));
    }
    let mut lengths = lengths.into_iter();
    for (_, item) in &mut items {
        if let Item::Here { content, .. } = item {
            *content = reader.take(lengths.next()?)?;
        }
    }
    (files <= FULL_FILES && reader.is_empty()).then_some(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_is_named_as_a_range_that_no_file_has() {
        let of = |text: &str| UnaskedName::of(&RangeName::from_text(text).unwrap());
        let name = UnaskedName { first: 7, end: 900, files: 800 };
        assert_eq!(of(&name.to_text()), Some(name));
        let none = u64::MAX;
        for other in ["r 7 0 *", "r 7 0 900+800", &format!("r 7 {none} *"), &format!("r 7 {none} -")] {
            assert_eq!(of(other), None, "{other}");
        }
        for wrong in ["7+0", "7+1", "900+0", "900+894", "2000+1025", "9000+1", "9+1,20+1"] {
            assert_eq!(of(&format!("r 7 {none} {wrong}")), None, "{wrong}");
        }
    }

    #[test]
    fn bundles_survive_the_journey_whole_or_not_at_all() {
        let here =
            |content| Item::Here { mtime: Mtime { s: 1, ns: 2 }, hash: *blake3::hash(content).as_bytes(), content };
        let items = [(7, here(&b"seven"[..])), (9, Item::Not { why: "is gone".to_owned() }), (u64::MAX, here(b""))];
        let mut builder = Builder::default();
        items.iter().for_each(|(entry, item)| builder.add(*entry, item));
        let bytes = builder.finish();
        assert_eq!(read(&bytes).unwrap(), items);
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end]), None);
        }
        assert_eq!(read(&[&bytes[..], b"x"].concat()), None);
        assert_eq!(read(&u32::MAX.to_be_bytes()), None);
    }
}
