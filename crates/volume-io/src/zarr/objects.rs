//! A Zarr hierarchy in an object store: its documents, and the chunks that were asked for last.
//!
//! What is asked for once is not asked for again while it is kept, and not twice at a time. A server need not list: documents have known names, and
//! consolidated metadata, where there is some, spares asking for them.
//! Invariant: an object that is not there is told from one that cannot be had, and what is kept is bounded.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future;
use object_store::{GetRange, path};
use serde_json::Value;
use visapult_objects::{At, Connection, Fault, ObjectUrl, PATIENCE, location};
use zarrs::storage::Bytes;
use zarrs::storage::byte_range::ByteRange;

use super::array::MAX_CHUNK_BYTES;
use super::store::joined;
use super::{DOCUMENTS, MAX_METADATA};
use crate::SourceError;

/// All metadata of a hierarchy of version 2 in one document.
const CONSOLIDATED: &str = ".zmetadata";
/// Bytes of chunks that are kept.
const MOST_KEPT: usize = 128 << 20;
/// What keeping one costs besides.
const PER_KEPT: usize = 256;

/// Which bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Whole,
    /// From the first, before the second.
    Between(u64, u64),
    Last(u64),
}

/// A hierarchy in a store.
#[derive(Debug)]
pub(super) struct Objects {
    url: ObjectUrl,
    connection: Connection,
    /// Of the bucket, what the keys begin with.
    prefix: String,
    documents: Mutex<Documents>,
    kept: Mutex<Kept>,
    /// Of objects that are read in parts, which version that was.
    versions: Mutex<HashMap<String, String>>,
    missing: AtomicU64,
}

/// Documents by their paths in the hierarchy; none where there is none.
#[derive(Debug, Default)]
struct Documents {
    found: HashMap<String, Option<Bytes>>,
    /// What is not found is not there: one document has told of all.
    are_all: bool,
    /// Names that nothing in this hierarchy has: those of the other version of Zarr.
    without: &'static [&'static str],
    /// The store says that it will not, where it means that there is none.
    denies: bool,
    /// One that was there when the hierarchy was opened.
    witness: String,
}

#[derive(Debug, Default)]
struct Kept {
    chunks: HashMap<(String, Part), Arc<Chunk>>,
    oldest_first: VecDeque<((String, Part), usize)>,
    bytes: usize,
}

/// What was asked for, or is just now; none where there was none.
type Chunk = Mutex<Option<Option<Bytes>>>;

impl Objects {
    /// What `url` names; its own documents are asked for.
    pub(super) fn open(url: &ObjectUrl) -> Result<Self, SourceError> {
        let wrong = |why: String| SourceError::io(url, io::Error::other(why));
        let connection = Connection::new(url, PATIENCE).map_err(wrong)?;
        let prefix = match &url.at {
            At::Bucket { key, .. } => key.clone(),
            At::Web { .. } => String::new(),
        };
        let objects = Self {
            url: url.clone(),
            connection,
            prefix,
            documents: Mutex::default(),
            kept: Mutex::default(),
            versions: Mutex::default(),
            missing: AtomicU64::new(0),
        };
        objects.look()?;
        Ok(objects)
    }

    /// What is one level up in the store.
    pub(super) fn above(&self) -> Result<Option<Self>, SourceError> {
        self.url.above().map(|url| Self::open(&url)).transpose()
    }

    /// Asks for the documents of the hierarchy's root, all at once, and sees what they spare.
    fn look(&self) -> Result<(), SourceError> {
        let names = [&DOCUMENTS[..], &[CONSOLIDATED]].concat();
        let answers = self.ask(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let is_there = |answer: &Result<Option<Bytes>, Fault>| matches!(answer, Ok(Some(_)));
        // Buckets that one may not list say so of what is not there, too.
        let denies = answers[..3].iter().any(is_there);
        let mut documents = Documents { denies, ..Documents::default() };
        for (name, answer) in names.iter().zip(answers) {
            let found = self.or_denied(name, answer, documents.denies)?;
            if found.is_some() && (documents.witness.is_empty() || documents.witness == CONSOLIDATED) {
                (*name).clone_into(&mut documents.witness);
            }
            documents.found.insert((*name).to_owned(), found);
        }
        documents.adopt();
        *self.documents() = documents;
        Ok(())
    }

    fn documents(&self) -> MutexGuard<'_, Documents> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Documents as the store has them.
    fn ask(&self, keys: &[String]) -> Vec<Result<Option<Bytes>, Fault>> {
        let asked = keys.iter().map(|key| async move {
            let found = self.connection.get(&self.location(key)?, None, MAX_METADATA).await;
            none_if_missing(found.map(|got| got.bytes))
        });
        self.connection.wait(future::join_all(asked))
    }

    fn or_denied(
        &self,
        key: &str,
        answer: Result<Option<Bytes>, Fault>,
        denies: bool,
    ) -> Result<Option<Bytes>, SourceError> {
        answer.or_else(|fault| if denies && fault.is_denied() { Ok(None) } else { Err(self.cannot_read(key, &fault)) })
    }

    fn location(&self, key: &str) -> Result<path::Path, Fault> {
        location(&joined(&self.prefix, key))
    }

    /// As its user calls what is at `below`.
    pub(super) fn shown(&self, below: &str) -> String {
        joined(&self.connection.url().to_string(), below)
    }

    fn cannot_read(&self, key: &str, fault: &Fault) -> SourceError {
        let why = match fault {
            Fault::Changed => "it has changed since it was opened: open it again".to_owned(),
            fault if fault.is_of_ranges() => "it is shorter than it should be, or the server gives no parts of files, as sharded arrays need: copy them first".to_owned(),
            fault => self.connection.why(fault),
        };
        SourceError::io(self.shown(key), io::Error::other(why))
    }

    /// The document at `key`; none if there is none.
    pub(super) fn document(&self, key: &str) -> Result<Option<Bytes>, SourceError> {
        self.load(&[key.to_owned()])?;
        Ok(self.documents().found.get(key).cloned().flatten())
    }

    /// Has all documents of these nodes here.
    pub(super) fn ready(&self, nodes: &[String]) -> Result<(), SourceError> {
        let of_node = |node: &String| DOCUMENTS.map(|name| joined(node, name));
        self.load(&nodes.iter().flat_map(of_node).collect::<Vec<_>>())
    }

    fn load(&self, keys: &[String]) -> Result<(), SourceError> {
        let (wanted, denies) = {
            let documents = self.documents();
            let wanted: Vec<_> = keys.iter().filter(|key| documents.may_have(key)).cloned().collect();
            (wanted, documents.denies)
        };
        for (key, answer) in wanted.iter().zip(self.ask(&wanted)) {
            let found = self.or_denied(key, answer, denies)?;
            self.documents().found.insert(key.clone(), found);
        }
        Ok(())
    }

    /// The names of the nodes in the group at `below`, in order.
    pub(super) fn members(&self, below: &str, most: usize) -> Result<Vec<String>, String> {
        let documents = self.documents();
        if documents.are_all {
            let inside = |key: &str| key.strip_prefix(below).map(|rest| rest.trim_start_matches('/').to_owned());
            let found = documents.found.iter().filter(|(_, bytes)| bytes.is_some());
            let names = found.filter_map(|(key, _)| Some(inside(key)?.split_once('/')?.0.to_owned()));
            return Ok(names.collect::<BTreeSet<_>>().into_iter().take(most).collect());
        }
        drop(documents);
        let prefix = joined(&self.prefix, below);
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        self.connection.wait(self.connection.folders(&prefix, most)).map_err(|fault| {
            let why = self.connection.why(&fault);
            format!("it has no consolidated metadata, and {why}: add '/' and the name of one of its arrays")
        })
    }

    /// A chunk, or some of it; none if there is none.
    pub(super) fn chunk(&self, key: &str, part: Part) -> Result<Option<Bytes>, SourceError> {
        let chunk = Arc::clone(self.kept().chunks.entry((key.to_owned(), part)).or_default());
        // Who wants the same waits here.
        let mut held = chunk.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = &*held {
            return Ok(found.clone());
        }
        match self.connection.wait(self.fetch(key, part)) {
            Ok(found) => {
                if found.is_none() {
                    self.missing.fetch_add(1, Ordering::Relaxed);
                }
                *held = Some(found.clone());
                self.kept().keep((key.to_owned(), part), found.as_ref().map_or(0, Bytes::len));
                Ok(found)
            }
            Err(fault) => {
                self.kept().chunks.remove(&(key.to_owned(), part));
                Err(self.cannot_read(key, &fault))
            }
        }
    }

    async fn fetch(&self, key: &str, part: Part) -> Result<Option<Bytes>, Fault> {
        let range = match part {
            Part::Whole => None,
            Part::Between(start, end) if start >= end => return Ok(Some(Bytes::new())),
            Part::Between(start, end) => Some(GetRange::Bounded(start..end)),
            Part::Last(length) => Some(GetRange::Suffix(length)),
        };
        // What is compressed may be a little longer.
        let most = MAX_CHUNK_BYTES + MAX_CHUNK_BYTES / 8;
        let Some(got) = none_if_missing(self.connection.get(&self.location(key)?, range, most).await)? else {
            return Ok(None);
        };
        if part != Part::Whole
            && let Some(version) = got.version
        {
            let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
            if *versions.entry(key.to_owned()).or_insert_with(|| version.clone()) != version {
                return Err(Fault::Changed);
            }
        }
        Ok(Some(got.bytes))
    }

    /// Some parts of a chunk; those that have a start are asked for together.
    pub(super) fn parts(&self, key: &str, ranges: &[ByteRange]) -> Result<Option<Vec<Bytes>>, SourceError> {
        let span = |range: &ByteRange| match *range {
            ByteRange::FromStart(start, length) => Some((start, start.saturating_add(length.unwrap_or(u64::MAX)))),
            ByteRange::Suffix(_) => None,
        };
        let spans: Vec<_> = ranges.iter().filter_map(span).collect();
        let first = spans.iter().map(|(start, _)| *start).min().unwrap_or(0);
        let end = spans.iter().map(|(_, end)| *end).max().unwrap_or(0);
        let mut parts = Vec::new();
        for range in ranges {
            let (part, skipped, length) = match *range {
                ByteRange::Suffix(length) => (Part::Last(length), 0, Some(length)),
                ByteRange::FromStart(start, length) if end == u64::MAX => (Part::Whole, start, length),
                ByteRange::FromStart(start, length) => (Part::Between(first, end), start - first, length),
            };
            let Some(bytes) = self.chunk(key, part)? else { return Ok(None) };
            let until = length.map_or(bytes.len() as u64, |length| skipped.saturating_add(length));
            if skipped > until || until > bytes.len() as u64 {
                return Err(self.cannot_read(key, &Fault::Short));
            }
            parts.push(bytes.slice(skipped as usize..until as usize));
        }
        Ok(Some(parts))
    }

    pub(super) fn missing_chunks(&self) -> u64 {
        self.missing.load(Ordering::Relaxed)
    }

    /// Sees that what was there when this was opened is there now.
    pub(super) fn check_is_still_there(&self) -> Result<(), SourceError> {
        let witness = self.documents().witness.clone();
        let head = async { self.connection.head(&self.location(&witness)?).await };
        let Err(fault) = self.connection.wait(head) else { return Ok(()) };
        // What is kept as missing may be there another time.
        *self.kept() = Kept::default();
        if !fault.is_missing() {
            return Err(self.cannot_read(&witness, &fault));
        }
        let why = "it is gone since it was opened, and so may be the chunks that are missing: open it again";
        Err(SourceError::io(self.shown(&witness), io::Error::other(why)))
    }
}

impl Documents {
    /// It is worth asking for the document at `key`.
    fn may_have(&self, key: &str) -> bool {
        let name = key.rsplit('/').next().unwrap_or(key);
        !self.are_all && !self.found.contains_key(key) && !self.without.contains(&name)
    }

    /// Takes what the root's documents say of all others.
    fn adopt(&mut self) {
        let parsed = |bytes: &Option<Bytes>| serde_json::from_slice::<Value>(bytes.as_ref()?).ok();
        let root = self.found.get("zarr.json").and_then(parsed);
        let is_version_3 = root.is_some();
        self.without = if is_version_3 { &DOCUMENTS[1..] } else { &DOCUMENTS[..1] };
        let nodes = match root {
            Some(root) => root.get("consolidated_metadata").and_then(|found| found.get("metadata")).cloned(),
            None => self.found.get(CONSOLIDATED).and_then(parsed).and_then(|found| found.get("metadata").cloned()),
        };
        let Some(Value::Object(nodes)) = nodes else { return };
        for (path, document) in nodes {
            let key = if is_version_3 { joined(&path, DOCUMENTS[0]) } else { path };
            self.found.entry(key).or_insert_with(|| Some(document.to_string().into()));
        }
        self.are_all = true;
    }
}

impl Kept {
    /// From now on it has so many bytes; the oldest go.
    fn keep(&mut self, key: (String, Part), bytes: usize) {
        self.bytes += bytes + PER_KEPT;
        self.oldest_first.push_back((key, bytes + PER_KEPT));
        while self.bytes > MOST_KEPT
            && let Some((oldest, bytes)) = self.oldest_first.pop_front()
        {
            self.chunks.remove(&oldest);
            self.bytes -= bytes;
        }
    }
}

fn none_if_missing<T>(found: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(fault) if fault.is_missing() => Ok(None),
        Err(fault) => Err(fault),
    }
}
