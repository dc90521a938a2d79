//! What comes from the other end, from disks and from who shares, given arbitrary bytes: what the fuzz targets run, and the tests replay.
//!
//! Errors are fine; a panic is not, nor is a value that does not survive being written and read again.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use visapult_objects::{escaped, unescaped};

use crate::endpoint::Endpoint;
use crate::listing::Mtime;
use crate::log::{self, Origin};
use crate::people::written::{Place, Text};
use crate::ranges::{RANGE, RangeName};
use crate::request::Request;
use crate::source_id::SourceId;
use crate::words::Word;
use crate::{bundle, listing, manifest};

/// A decoder with its name.
pub type Decoder = (&'static str, fn(&[u8]));

/// All of them: the names are those of the fuzz targets and their corpora.
pub const ALL: [Decoder; 5] = [
    ("copy_listing", listing),
    ("copy_bundle", bundle),
    ("copy_words", words),
    ("copy_log", log),
    ("copy_policy", policy),
];

/// A listing of a tree.
///
/// # Panics
/// If what was read is written otherwise.
pub fn listing(bytes: &[u8]) {
    let Ok(entries) = listing::read(bytes) else { return };
    let mut again = Vec::new();
    entries.iter().for_each(|entry| entry.write(&mut again));
    assert_eq!(again, bytes);
}

/// A bundle of files.
///
/// # Panics
/// If what was read cannot be written and read again.
pub fn bundle(bytes: &[u8]) {
    let Some(items) = bundle::read(bytes) else { return };
    let mut builder = bundle::Builder::default();
    items.iter().for_each(|(entry, item)| builder.add(*entry, item));
    assert_eq!(bundle::read(&builder.finish()).map(|again| again.len()), Some(items.len()));
}

/// A request, a note, the name of a range, a path, a line of a manifest, or where something is.
///
/// # Panics
/// If what was read is written otherwise.
pub fn words(bytes: &[u8]) {
    assert_eq!(unescaped(&escaped(bytes)).as_deref(), Some(bytes));
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(request) = Request::from_text(text) {
        assert_eq!(Request::from_text(&request.to_text()), Some(request));
    }
    if let Some(word) = Word::from_text(text).filter(|word| *word != Word::Unknown) {
        assert_eq!(Word::from_text(&word.to_text()), Some(word));
    }
    if let Some(name) = RangeName::from_text(text) {
        let _ = name.extents(RANGE);
        assert_eq!(RangeName::from_text(&name.to_text()), Some(name));
    }
    let _ = text.parse::<Endpoint>();
    if let Some((path, hash)) = manifest::read_line(bytes) {
        let line = manifest::manifest_line(&path, hash.to_hex().as_str());
        assert_eq!(manifest::read_line(line.strip_suffix(b"\n").unwrap_or_default()), Some((path, hash)));
    }
}

/// A restart log, as a disk may have kept it.
///
/// # Panics
/// If it holds more than its bytes can tell.
pub fn log(bytes: &[u8]) {
    let origin = Origin { size: 100 * RANGE, mtime: Mtime { s: 1, ns: 2 }, start: 0, source: SourceId::default() };
    if let Some((held, end)) = log::held(bytes, &origin) {
        assert!(end <= bytes.len() && held.len() <= bytes.len() / 48);
    }
}

/// The policy file of a share.
///
/// # Panics
/// If it names somebody twice, or a folder that is not below the share.
pub fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(plan) = (Text { file: Path::new("people.toml"), text }).plan() else { return };
    let names: BTreeSet<&str> = plan.people.iter().map(|person| person.name.as_str()).collect();
    assert_eq!(names.len(), plan.people.len());
    let folders = plan.people.iter().flat_map(|person| person.read.iter().chain(&person.write));
    let is_below = |place: &Place| place.path.components().all(|part| matches!(part, Component::Normal(_)));
    folders.for_each(|place| assert!(is_below(place), "{}", place.path.display()));
}
