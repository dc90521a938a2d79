//! Notes that the two ends of a copy send each other. Content travels in objects, as listings, bundles and ranges.

use serde::{Deserialize, Serialize};
use visapult_objects::printable;

use crate::error::CopyError;
use crate::report::{Event, Limit, Tally};
use crate::source_id::SourceId;

/// Letters of a reason at most: notes are short.
pub(crate) const MOST_WHY: usize = 1024;

/// How a copy stands that a share fetches from another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchState {
    /// What the share calls it.
    pub number: u64,
    /// Where from, without the secret.
    pub from: String,
    /// Where to, below the share.
    pub to: String,
    /// How far it is.
    pub tally: Tally,
    /// Bytes of content that have arrived.
    pub arrived: u64,
    /// What came of it: `done`, or why not; none while it goes on.
    pub result: Option<String>,
    /// What was told last, since when nothing has come: that the other share is dialled again, and how long ago that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// What is at the destination otherwise than at the source, or not at all; as people read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Differing {
    pub(crate) path: String,
    pub(crate) how: String,
    /// Of a file at the source.
    pub(crate) bytes: Option<u64>,
}

impl Differing {
    /// As it is told here, whatever the other end has written.
    pub(crate) fn event(&self) -> Event {
        let Self { path, how, bytes } = self;
        Event::Differs { path: printable(path.as_bytes()), how: printable(how.as_bytes()), bytes: *bytes }
    }
}

/// A note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub(crate) enum Word {
    /// A share that was dialled: these give the same, too, or take into the same; where a URL has no token it is that of this one.
    Nodes { urls: Vec<String> },
    /// Giver, first of all: the first listing, [`escaped`](visapult_objects::escaped), which is offered as well for those that pass this over.
    Listing { bytes: String },
    /// A share that was asked for a listing: not all of that may be read, but this folder below, [`escaped`](visapult_objects::escaped).
    Granted { path: String },
    /// A share that gives, before anything is listed: which it is.
    Share { source: SourceId },
    /// Giver, before anything is listed: it is a Zarr group, whose arrays and coordinates are called so; none if there are too many to tell.
    Group { arrays: Option<Vec<String>> },
    /// Giver: that was all, so many entries.
    Listed { entries: u64 },
    /// Giver: a file that was listed cannot be had.
    Missing { entry: u64, why: String },
    /// Giver: something was not even listed; it counts as failed, or was left out on purpose.
    Unlisted { path: String, why: String, failed: bool },
    /// Giver: what limits it.
    Limit { by: String },
    /// Taker: it has looked at all entries before `upto`, and wants these files, as first and count; of those for later it says so file by file.
    Wants {
        upto: u64,
        files: Vec<(u64, u64)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        later: Vec<(u64, u64)>,
    },
    /// Taker, before it says so of a listing: these files of it look the same, as first and count; it asks for their hashes.
    Compare { files: Vec<(u64, u64)> },
    /// Giver: hashes of files that were asked for.
    Contents { files: Vec<(u64, String)> },
    /// Taker: of files that were compared, or were for later, it wants these, and not those.
    Compared { wanted: Vec<u64>, same: Vec<u64> },
    /// Taker: of this file that comes in ranges it wants these, as first and end.
    Ranges { entry: u64, ranges: Vec<(u64, u64)> },
    /// Taker: something was not copied, for a reason at either end; other things go on. What was listed has a number.
    Failed { entry: Option<u64>, path: String, why: String },
    /// Taker: something was left out on purpose.
    LeftOut { path: String, why: String },
    /// Either: something that one may want to know.
    Notice { text: String },
    /// Taker: of these files it wants nothing more: they are in their place.
    Done { files: Vec<u64> },
    /// Taker: files as they are in their place, where hashes were wished for: paths below the destination, [`escaped`](visapult_objects::escaped), and BLAKE3.
    Hashes { files: Vec<(String, String)> },
    /// Taker, in a dry run: these would be copied, or made.
    Differ { all: Vec<Differing> },
    /// Taker: these were deleted, or would be; as people read them.
    Deleted { paths: Vec<String> },
    /// A share that fetches: how far it is.
    Fetched { tally: Tally, arrived: u64, is_listed: bool, limit: Option<Limit> },
    /// A share that fetches: it dials the other again, and tells hashes anew.
    Anew,
    /// A share that fetches: it goes on alone, and knows the copy by this number.
    Detached { number: u64 },
    /// A share that is asked what it fetches: this.
    Fetch(FetchState),
    /// Taker: how far it is.
    Tally(Tally),
    /// Taker: all is done that could be.
    Finished(Tally),
    /// Either: it will not go on, whatever is tried.
    Refused { why: String },
    /// Of a later build: passed over.
    #[serde(other)]
    Unknown,
}

impl Word {
    pub(crate) fn to_text(&self) -> String {
        #[expect(clippy::expect_used, reason = "plain data")]
        serde_json::to_string(self).expect("plain data")
    }

    /// # Errors
    /// If it is no word at all.
    pub(crate) fn heard(text: &str) -> Result<Self, CopyError> {
        Self::from_text(text).ok_or_else(|| CopyError::Protocol("it said something that is no word".to_owned()))
    }

    /// None if it is no word at all.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

#[cfg(test)]
mod tests {
    use visapult_objects::escaped;

    use super::*;

    #[test]
    fn words_survive_the_journey() {
        for word in [
            Word::Wants { upto: 5, files: vec![(0, 3)], later: Vec::new() },
            Word::Wants { upto: 9, files: Vec::new(), later: vec![(5, 2)] },
            Word::Nodes { urls: vec!["ripp://b:1/x".to_owned()] },
            Word::Listing { bytes: escaped(b"\x01\0a") },
            Word::Granted { path: "notes/2026".to_owned() },
            Word::Share { source: SourceId::default().below(b"data") },
            Word::Group { arrays: Some(vec!["p".to_owned(), "z".to_owned()]) },
            Word::Ranges { entry: 4, ranges: vec![(0, 9)] },
            Word::Compared { wanted: vec![7], same: Vec::new() },
            Word::Finished(Tally { files: 3, ..Tally::default() }),
        ] {
            assert_eq!(Word::from_text(&word.to_text()), Some(word));
        }
        assert_eq!(Word::from_text(r#"{"word":"stripe","hosts":3}"#), Some(Word::Unknown));
        assert_eq!(Word::from_text("hello"), None);
    }
}
