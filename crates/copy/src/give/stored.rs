//! Reads what is in an object store: small objects many at one time, large ones by ranges.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use blake3::Hash;

use super::lister::Listed;
use crate::bundle::{Builder, Item};
use crate::objects::{Store, Told, Wanted};
use crate::ranges::{Range, count, file_hash, range as range_of};

/// Adds small objects of one store to a bundle.
pub(super) fn add_all(store: &Arc<Store>, files: &[(u64, Listed)], over: &AtomicBool, builder: &mut Builder) {
    let wanted: Vec<_> = files
        .iter()
        .map(|(_, listed)| Wanted { path: &listed.path, told: told(listed), start: start(listed), length: listed.size })
        .collect();
    for ((entry, listed), outcome) in files.iter().zip(store.read_all(&wanted, over)) {
        match outcome {
            Ok(content) => {
                let hash = *blake3::hash(&content).as_bytes();
                builder.add(*entry, &Item::Here { mtime: listed.mtime, hash, content: &content });
            }
            Err(fault) => builder.add(*entry, &Item::Not { why: format!("cannot be read: {}", store.why(&fault)) }),
        }
    }
}

/// A range of an object.
pub(super) fn range(listed: &Listed, range: &Range, over: &AtomicBool) -> Result<Vec<u8>, String> {
    let Some(store) = listed.root.store() else { return Err("is in no store".to_owned()) };
    let first = start(listed) + range.start;
    let outcome = store.read(&listed.path, told(listed), first..first + range.length, over);
    outcome.map_err(|fault| format!("cannot be read: {}", store.why(&fault)))
}

/// The hash of all of an object.
pub(super) fn hash(listed: &Listed, over: &AtomicBool) -> Result<Hash, String> {
    let ranges = (0..count(listed.size)).filter_map(|index| range_of(listed.size, index));
    let hashes = ranges.map(|one| {
        let content = range(listed, &one, over)?;
        Ok(one.hash_of(&content))
    });
    Ok(file_hash(&hashes.collect::<Result<Vec<_>, String>>()?))
}

/// What the whole object was when it was listed, of which a part may be meant.
fn told(listed: &Listed) -> Told {
    let one = listed.root.store().and_then(|store| store.one());
    one.unwrap_or(Told { size: listed.size, mtime: listed.mtime })
}

fn start(listed: &Listed) -> u64 {
    listed.root.span.map_or(0, |(start, _)| start)
}
