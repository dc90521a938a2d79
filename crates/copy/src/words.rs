//! What the two ends of a copy say to each other: the dialler's request, and notes. Content travels in objects, as listings, bundles and ranges.

use serde::{Deserialize, Serialize};
use visapult_objects::printable;
use visapult_ripp_net::RippUrl;

use crate::error::CopyError;
use crate::fields::FieldPart;
use crate::report::{Event, Limit, Tally};

/// What this build speaks: what every build of it understands; with parts of fields, which older ones would take for whole files; and with links
/// followed, which those would take for links.
pub(crate) const VERSION: u32 = 2;
const VERSION_WITH_PARTS: u32 = 3;
const VERSION_THAT_FOLLOWS: u32 = 4;
/// What a dialler is able of that takes from, or gives to, several nodes of a striped share at once.
pub(crate) const STRIPES: &str = "stripes";
/// What a dialler is able of that holds ranges which are offered before it could ask for them, until it knows whether it wants them.
pub(crate) const EARLY: &str = "early";
/// Nodes of a striped share beside the one that was dialled, at most.
pub(crate) const MOST_NODES: usize = 63;
const KIND: &str = "copy";
/// Letters of a reason at most: notes are short.
pub(crate) const MOST_WHY: usize = 1024;

/// What the dialler wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    kind: String,
    pub(crate) version: u32,
    /// What the dialler can beside what every build of this version can.
    #[serde(default)]
    pub(crate) able: Vec<String>,
    /// The same for every session of one copy, and for no other copy.
    pub(crate) job: String,
    /// Of those that share a link with it: this many times as much as one of weight 1.
    #[serde(default = "one")]
    pub(crate) weight: u32,
    #[serde(flatten)]
    pub(crate) verb: Verb,
}

/// Which way things go. Paths are below the share, and [`escaped`](visapult_objects::escaped).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub(crate) enum Verb {
    /// The listener gives these.
    Get {
        /// Files and folders.
        paths: Vec<String>,
        /// Which of what is in them.
        #[serde(default)]
        only: Patterns,
        /// Which bytes of the one file.
        #[serde(default)]
        span: Option<Span>,
        /// Which part of the fields in the one source.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<FieldPart>,
    },
    /// The listener gives what the dialler wants of these, as one node of a striped share, of which another lists and counts.
    Stripe {
        /// Files and folders.
        paths: Vec<String>,
        /// Which of what is in them.
        #[serde(default)]
        only: Patterns,
        /// Which bytes of the one file.
        #[serde(default)]
        span: Option<Span>,
    },
    /// The listener takes what the dialler gives.
    Put {
        /// Where to.
        to: String,
        /// Into a folder of that name, whether it is there or not.
        into: bool,
        #[serde(default)]
        wish: Wish,
    },
    /// The listener takes these from another share.
    Fetch {
        /// The other share, with its token.
        #[serde(with = "url_text")]
        from: RippUrl,
        /// Files and folders there.
        paths: Vec<String>,
        #[serde(default)]
        only: Patterns,
        #[serde(default)]
        span: Option<Span>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<FieldPart>,
        /// Where to, here.
        to: String,
        into: bool,
        #[serde(default)]
        wish: Wish,
        /// Bits per second at most; 0 sets no limit.
        #[serde(default)]
        most_bps: u64,
        /// It goes on when the dialler leaves.
        #[serde(default)]
        detach: bool,
    },
    /// The listener tells what it fetches.
    Fetches {
        /// And stops this one.
        #[serde(default)]
        stop: Option<u64>,
    },
}

impl Verb {
    /// What it is about, below the share.
    pub(crate) fn places(&self) -> &[String] {
        match self {
            Self::Get { paths, .. } | Self::Stripe { paths, .. } => paths,
            Self::Put { to, .. } | Self::Fetch { to, .. } => std::slice::from_ref(to),
            Self::Fetches { .. } => &[],
        }
    }
}

const fn one() -> u32 {
    1
}

/// A URL as text.
mod url_text {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use visapult_ripp_net::RippUrl;

    pub(super) fn serialize<S: Serializer>(url: &RippUrl, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(url)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RippUrl, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

/// What the taking end is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Only tell what would be copied.
    #[serde(default)]
    pub dry_run: bool,
    /// Copy what looks the same, too, and from its beginning.
    #[serde(default)]
    pub anew: bool,
    /// Tell the hash of every file; in a dry run that of the source's, whatever is here.
    #[serde(default)]
    pub hashes: bool,
    /// What is taken for the same.
    #[serde(default)]
    pub alike: Alike,
    /// Delete what the sources do not have.
    #[serde(default)]
    pub delete: Delete,
    /// The source is a part of a file, whose first byte is there.
    #[serde(default)]
    pub start: Option<u64>,
    /// Files get their names before the disk has them.
    #[serde(default)]
    pub unsynced: bool,
    /// Others take the other files at the same time.
    #[serde(default)]
    pub part: Option<Part>,
}

impl Wish {
    /// Two places are held against each other: nothing is to be copied.
    pub(crate) fn is_comparison(&self) -> bool {
        self.dry_run && self.alike == Alike::Content
    }
}

/// A part of the files: those whose paths below the destination fall to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which, from 0 on.
    pub index: u32,
    /// Of so many.
    pub of: u32,
}

impl Part {
    /// What is at this path is of the part.
    pub(crate) fn holds(self, path: &[u8]) -> bool {
        let mut number = [0; 8];
        blake3::Hasher::new().update(path).finalize_xof().fill(&mut number);
        u64::from_be_bytes(number) % u64::from(self.of.max(1)) == u64::from(self.index)
    }
}

/// Which files are taken for the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Alike {
    /// Those with the same size and time.
    #[default]
    SizeAndTime,
    /// Those with the same size, time and content.
    All,
    /// Those with the same content.
    Content,
}

/// Where the taking end deletes what the sources do not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delete {
    /// Nowhere.
    #[default]
    Nothing,
    /// In the folders that are copied.
    InFolders,
    /// There and in the destination itself, which stands for a source written `SRC/.`.
    InDestination,
}

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
}

/// Some bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first.
    pub start: u64,
    /// After the last; none is the end of the file.
    pub end: Option<u64>,
}

/// Which things of a tree are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patterns {
    /// Files that match one of these; all if there is none.
    #[serde(default)]
    pub include: Vec<String>,
    /// But neither files nor folders that match one of these.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// And what links in folders lead to, in place of the links.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow: bool,
}

impl Request {
    pub(crate) fn new(job: &str, verb: Verb) -> Self {
        let version = match &verb {
            Verb::Get { only, .. } | Verb::Stripe { only, .. } | Verb::Fetch { only, .. } if only.follow => {
                VERSION_THAT_FOLLOWS
            }
            Verb::Get { part: Some(_), .. } | Verb::Fetch { part: Some(_), .. } => VERSION_WITH_PARTS,
            _ => VERSION,
        };
        Self { kind: KIND.to_owned(), version, able: Vec::new(), job: job.to_owned(), weight: 1, verb }
    }

    /// Whoever dialled can do this.
    pub(crate) fn is_able(&self, what: &str) -> bool {
        self.able.iter().any(|able| able == what)
    }

    /// The same with this weight.
    pub(crate) fn weighing(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    pub(crate) fn to_text(&self) -> String {
        #[expect(clippy::expect_used, reason = "plain data")]
        serde_json::to_string(self).expect("plain data")
    }

    /// Why it is not understood here, if so.
    pub(crate) fn misfit(&self) -> Option<String> {
        let theirs = self.version;
        let is_known = (VERSION..=VERSION_THAT_FOLLOWS).contains(&theirs);
        (!is_known).then(|| {
            format!("it speaks version {VERSION_THAT_FOLLOWS} of the copy protocol, you {theirs}: update the older one")
        })
    }

    /// None if the dialler wants something else.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str::<Self>(text).ok().filter(|request| request.kind == KIND)
    }
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
    fn requests_and_words_survive_the_journey() {
        let only = Patterns { include: vec!["*.h5".to_owned()], ..Patterns::default() };
        for verb in [
            Verb::Get { paths: vec![escaped(b"a b/\xff")], only, span: Some(Span { start: 5, end: None }), part: None },
            Verb::Get {
                paths: vec![String::new()],
                only: Patterns::default(),
                span: None,
                part: Some(FieldPart::default()),
            },
            Verb::Put { to: String::new(), into: true, wish: Wish { dry_run: true, ..Wish::default() } },
        ] {
            let request = Request::new("1f", verb);
            assert_eq!(Request::from_text(&request.to_text()), Some(request));
        }
        assert_eq!(Request::from_text(r#"{"kind":"perf","version":1,"job":"","verb":"get","paths":[]}"#), None);
        for word in [
            Word::Wants { upto: 5, files: vec![(0, 3)], later: Vec::new() },
            Word::Wants { upto: 9, files: Vec::new(), later: vec![(5, 2)] },
            Word::Nodes { urls: vec!["ripp://b:1/x".to_owned()] },
            Word::Listing { bytes: escaped(b"\x01\0a") },
            Word::Ranges { entry: 4, ranges: vec![(0, 9)] },
            Word::Compared { wanted: vec![7], same: Vec::new() },
            Word::Finished(Tally { files: 3, ..Tally::default() }),
        ] {
            assert_eq!(Word::from_text(&word.to_text()), Some(word));
        }
        assert_eq!(Word::from_text(r#"{"word":"stripe","hosts":3}"#), Some(Word::Unknown));
        assert_eq!(Word::from_text("hello"), None);
    }

    #[test]
    fn everything_falls_to_one_part() {
        let all = |path: &str| (0..3).filter(|&index| Part { index, of: 3 }.holds(path.as_bytes())).count();
        let falls = |index| (0..3000).filter(|at| Part { index, of: 3 }.holds(format!("run/{at}").as_bytes())).count();
        assert!((0..100).all(|at| all(&at.to_string()) == 1));
        assert!((0..3).all(|index| (900..1100).contains(&falls(index))));
        assert!(!Part { index: 1, of: 0 }.holds(b"a"));
    }
}
