//! What a tree holds, entry by entry, as the giving end tells it: folders before what is in them.
//!
//! ```text
//! 0  kind (1): 0 folder, 1 file, 2 link, 3 file with holes     7  mtime, s (8, signed)   19 size of a file, else 0 (8)
//! 1  depth (2)                                                 15 mtime, ns (4)          27 bytes of the name (1)
//! 3  mode (4)                                                                            28 bytes of the target (2), then both
//! ```

use std::fs::FileTimes;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thiserror::Error;
use visapult_objects::MOST_PATH;

use crate::bytes::Reader;
use crate::names::Name;

/// Entries of one listing, and its bytes, at most.
pub(crate) const MOST_ENTRIES: usize = 4096;
pub(crate) const MOST_LISTING: u64 = 2 << 20;
/// Bytes of the first at most, which is short enough to be told in a note.
pub(crate) const MOST_FIRST_LISTING: u64 = 16 << 10;
/// Files up to this size travel whole, many in one object; larger ones in ranges.
pub(crate) const MOST_WHOLE: u64 = 1 << 20;
/// Folders in folders at most: more do not fit a path.
pub(crate) const MOST_DEPTH: u16 = 2048;

/// When a file's content was changed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mtime {
    pub(crate) s: i64,
    pub(crate) ns: u32,
}

impl Mtime {
    /// `here` is this time, as far as the file system keeps it: in whole seconds, or in tenths, hundredths and so on.
    pub(crate) fn is_kept_as(self, here: Self) -> bool {
        let steps = std::iter::successors(Some(1_u32), |step| step.checked_mul(10));
        let step = steps.take_while(|step| here.ns.is_multiple_of(*step)).last().unwrap_or(1);
        self.s == here.s && self.ns - self.ns % step == here.ns
    }

    /// What stands for the time of what has none, but is of a `version`: 1970, and nanoseconds that depend on that.
    pub(crate) fn untold(version: &[u8]) -> Self {
        let hash = blake3::hash(version);
        let start: [u8; 4] = std::array::from_fn(|at| hash.as_bytes()[at]);
        Self { s: 0, ns: 1 + u32::from_le_bytes(start) % 999_999_999 }
    }

    /// It stands for a time that nobody has told.
    pub(crate) const fn is_untold(self) -> bool {
        self.s == 0 && self.ns > 0
    }

    /// As files take it.
    pub(crate) fn times(self) -> FileTimes {
        let ns = Duration::from_nanos(self.ns.into());
        let at = if self.s >= 0 {
            UNIX_EPOCH.checked_add(Duration::from_secs(self.s.unsigned_abs()))
        } else {
            UNIX_EPOCH.checked_sub(Duration::from_secs(self.s.unsigned_abs()))
        };
        at.and_then(|at: SystemTime| at.checked_add(ns))
            .map_or_else(FileTimes::new, |at| FileTimes::new().set_modified(at))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File {
        size: u64,
        has_holes: bool,
    },
    /// With what it points to, whatever that is.
    Link {
        target: Vec<u8>,
    },
}

/// One thing of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Folders above it, of those listed: an entry lies in the last folder before it that is less deep by one.
    pub(crate) depth: u16,
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    /// Who may do what, as Unix has it: nine bits.
    pub(crate) mode: u32,
    pub(crate) mtime: Mtime,
}

impl Entry {
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let (kind, size, target) = match &self.kind {
            Kind::Folder => (0, 0, &[][..]),
            Kind::File { size, has_holes } => (if *has_holes { 3 } else { 1 }, *size, &[][..]),
            Kind::Link { target } => (2, 0, &target[..]),
        };
        to.push(kind);
        to.extend(self.depth.to_be_bytes());
        to.extend(self.mode.to_be_bytes());
        to.extend(self.mtime.s.to_be_bytes());
        to.extend(self.mtime.ns.to_be_bytes());
        to.extend(size.to_be_bytes());
        to.push(self.name.bytes().len() as u8);
        to.extend((target.len() as u16).to_be_bytes());
        to.extend(self.name.bytes());
        to.extend(target);
    }
}

/// Bytes that are no listing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("its listing is damaged at entry {0}")]
pub(crate) struct DamagedListing(usize);

/// The entries of a listing.
///
/// # Errors
/// If it is none.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Entry>, DamagedListing> {
    let mut entries = Vec::new();
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let entry = if entries.len() < MOST_ENTRIES { read_entry(&mut reader) } else { None };
        entries.push(entry.ok_or(DamagedListing(entries.len()))?);
    }
    Ok(entries)
}

fn read_entry(reader: &mut Reader<'_>) -> Option<Entry> {
    let kind = reader.u8()?;
    let depth = reader.u16()?;
    let mode = reader.u32()?;
    let mtime = Mtime { s: reader.i64()?, ns: reader.u32()? };
    let size = reader.u64()?;
    let (name_len, target_len) = (reader.u8()?, reader.u16()?);
    let name = Name::new(reader.take(name_len.into())?)?;
    let target = reader.take(target_len.into())?;
    let kind = match kind {
        0 if size == 0 && target.is_empty() => Kind::Folder,
        1 | 3 if target.is_empty() && i64::try_from(size).is_ok() => Kind::File { size, has_holes: kind == 3 },
        2 if size == 0 && is_target(target) => Kind::Link { target: target.to_vec() },
        _ => return None,
    };
    let is_sound = depth <= MOST_DEPTH && mode <= 0o777 && mtime.ns < 1_000_000_000;
    is_sound.then_some(Entry { depth, name, kind, mode, mtime })
}

/// What a link may point to.
pub(crate) fn is_target(target: &[u8]) -> bool {
    (1..MOST_PATH).contains(&target.len()) && !target.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let mtime = Mtime { s: -7, ns: 999_999_999 };
        let entry =
            |depth, name: &[u8], kind| Entry { depth, name: Name::new(name).unwrap(), kind, mode: 0o640, mtime };
        vec![
            entry(0, b"run", Kind::Folder),
            entry(1, b"\xff.raw", Kind::File { size: 1 << 40, has_holes: true }),
            entry(1, &[b'x'; 255], Kind::File { size: 0, has_holes: false }),
            entry(1, b"latest", Kind::Link { target: b"../\xfe".to_vec() }),
        ]
    }

    #[test]
    fn listings_survive_the_journey() {
        let mut bytes = Vec::new();
        for entry in entries() {
            entry.write(&mut bytes);
        }
        assert_eq!(read(&bytes), Ok(entries()));
        for end in 0..bytes.len() {
            let _ = read(&bytes[..end]);
        }
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn names_that_lead_elsewhere_and_endless_lists_are_damage() {
        let mut bytes = Vec::new();
        entries()[0].write(&mut bytes);
        let many = bytes.repeat(MOST_ENTRIES + 1);
        assert_eq!(read(&many), Err(DamagedListing(MOST_ENTRIES)));
        let at = bytes.len() - 3;
        bytes[at..].copy_from_slice(b"a/b");
        assert!(read(&bytes).is_err());
    }

    #[test]
    fn what_stands_for_a_time_depends_on_the_version_and_is_no_time() {
        let (one, other) = (Mtime::untold(b"one"), Mtime::untold(b"other"));
        assert_eq!(one, Mtime::untold(b"one"));
        assert!(one != other && one.is_untold() && other.is_untold());
        assert!(![Mtime { s: 0, ns: 0 }, Mtime { s: 1, ns: 1 }].into_iter().any(Mtime::is_untold));
    }

    #[test]
    fn times_are_compared_as_coarsely_as_they_are_kept() {
        let there = Mtime { s: 5, ns: 7 };
        assert!(there.is_kept_as(there) && there.is_kept_as(Mtime { s: 5, ns: 0 }));
        assert!(!there.is_kept_as(Mtime { s: 5, ns: 8 }) && !there.is_kept_as(Mtime { s: 6, ns: 7 }));
        let there = Mtime { s: 5, ns: 123_456_789 };
        for (ns, is_kept) in [
            // NTFS and SMB; exFAT; others.
            (123_456_700, true),
            (120_000_000, true),
            (123_000_000, true),
            (0, true),
            (123_456_800, false),
            (123_456_780, true),
            (123_456_788, false),
            (130_000_000, false),
            (100_000_000, true),
        ] {
            assert_eq!(there.is_kept_as(Mtime { s: 5, ns }), is_kept, "{ns}");
        }
    }
}
