//! A connection to a store: what is there, and reading of it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, future, stream};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, path};
use visapult_objects::{At, Connection, Fault, ObjectUrl, PATIENCE, key_of, location};

use crate::error::CopyError;
use crate::listing::Mtime;
use crate::lock::lock;

/// What is told of an object, as far as copies want to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) size: u64,
    /// In whole seconds: not all that tells it tells more. Of an object without a time, [what stands for one](Mtime::untold).
    pub(crate) mtime: Mtime,
}

impl Told {
    /// An answer is of the object as it was listed. Where it has a version, parts are held against that, and not every store tells its times alike.
    fn is_of(self, meta: &ObjectMeta) -> bool {
        let is_same = match &meta.e_tag {
            Some(version) => !self.mtime.is_untold() || self.mtime == Mtime::untold(version.as_bytes()),
            None => self.mtime.s == meta.last_modified.timestamp(),
        };
        meta.size == self.size && is_same
    }
}

impl From<&ObjectMeta> for Told {
    fn from(meta: &ObjectMeta) -> Self {
        let mtime = match (meta.last_modified.timestamp(), &meta.e_tag) {
            (0, Some(version)) => Mtime::untold(version.as_bytes()),
            // Nothing that is asked for later is known to be the same.
            (0, None) => unknown(SystemTime::now()),
            (s, _) => Mtime { s, ns: 0 },
        };
        Self { size: meta.size, mtime }
    }
}

/// What a store lists.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) key: String,
    /// It can be one below a folder; else it ends with a `/`, or is nothing that can be copied.
    pub(super) is_path: bool,
    pub(super) told: Told,
}

impl From<&ObjectMeta> for Key {
    fn from(meta: &ObjectMeta) -> Self {
        let (key, is_path) = key_of(&meta.location);
        Self { key, is_path, told: Told::from(meta) }
    }
}

impl Key {
    /// What keys begin with that lie in a folder.
    fn of_folder(prefix: &path::Path) -> Self {
        Self { key: format!("{prefix}/"), is_path: false, told: Told { size: 0, mtime: Mtime { s: 0, ns: 0 } } }
    }
}

/// What stands for the time of what has neither time nor version, and is asked for at `moment`.
fn unknown(moment: SystemTime) -> Mtime {
    Mtime::untold(format!("{moment:?}").as_bytes())
}

/// Some bytes of an object, as it was listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) path: &'a Path,
    pub(crate) told: Told,
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// A place in a store, and the connections to it.
pub(crate) struct Store {
    pub(super) connection: Connection,
    /// The one object that is meant; else what is below the key.
    one: Option<Told>,
    /// The server gives parts of files.
    gives_parts: bool,
    /// The versions of objects that are read in parts.
    versions: Mutex<HashMap<path::Path, String>>,
    /// Where it gives no parts: what comes next, and from where on.
    passing: Mutex<Option<Passing>>,
}

struct Passing {
    stream: BoxStream<'static, object_store::Result<Bytes>>,
    at: u64,
    /// Of what came last, what has not been asked for.
    rest: Bytes,
}

impl fmt::Debug for Store {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Store({})", self.url())
    }
}

impl Store {
    /// Connects to what `url` names, and sees that it is there, for a copy that began at `moment`.
    ///
    /// # Errors
    /// If it is not, or cannot be told of.
    pub(crate) fn open(url: &ObjectUrl, moment: SystemTime, stop: &AtomicBool) -> Result<Self, CopyError> {
        let mut store = Self::connect(url, PATIENCE)?;
        let wrong = |store: &Self, fault: &Fault| match fault {
            Fault::Stopped => CopyError::Stopped,
            _ => CopyError::Here(format!("{url}: {}", store.why(fault))),
        };
        let found = match &url.at {
            At::Web { .. } => store.find_file(moment, stop).map(|(told, gives_parts)| {
                store.gives_parts = gives_parts;
                Some(told)
            }),
            At::Bucket { key, .. } => store.find_key(key, url.is_folder, stop),
        };
        match found {
            Ok(one) => store.one = one,
            Err(fault) => return Err(wrong(&store, &fault)),
        }
        Ok(store)
    }

    /// Makes ready to ask for what `url` names, which may be silent for so long.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub(crate) fn connect(url: &ObjectUrl, patience: Duration) -> Result<Self, CopyError> {
        let connection = Connection::new(url, patience).map_err(|why| CopyError::Here(format!("{url}: {why}")))?;
        Ok(Self { connection, one: None, gives_parts: true, versions: Mutex::default(), passing: Mutex::default() })
    }

    /// The file of a server, and whether that gives parts of it.
    fn find_file(&self, moment: SystemTime, stop: &AtomicBool) -> Result<(Told, bool), Fault> {
        let ask = |range| {
            let options = GetOptions { range, ..GetOptions::default() };
            let told = async {
                let meta = self.connection.objects().get_opts(&path::Path::ROOT, options).await?.meta;
                let told = Told::from(&meta);
                let is_known = meta.e_tag.is_some() || !told.mtime.is_untold();
                // As often as one copy asks, it is the same to that.
                let told = if is_known { told } else { Told { mtime: unknown(moment), ..told } };
                Ok((told, is_known))
            };
            self.connection.run(told, stop)
        };
        match ask(Some(GetRange::Bounded(0..1))) {
            // Of a file without time and version nobody could tell whether two parts are of the same.
            Ok(outcome) => Ok(outcome),
            Err(fault) if fault.is_of_ranges() => ask(None).map(|(told, _)| (told, false)),
            Err(fault) => Err(fault),
        }
    }

    /// The object of a key, or none if others are below it.
    fn find_key(&self, key: &str, is_folder: bool, stop: &AtomicBool) -> Result<Option<Told>, Fault> {
        let mut missing = None;
        if !key.is_empty() && !is_folder {
            match self.look(key, stop) {
                Ok(told) => return Ok(Some(told)),
                // Of one object stores say no more than that they will not; of a list they say why.
                Err(fault) if fault.is_answer() => missing = Some(fault),
                Err(fault) => return Err(fault),
            }
        }
        let prefix = self.prefix();
        let prefix = Some(prefix.as_str()).filter(|prefix| !prefix.is_empty());
        let first = PaginatedListOptions { max_keys: Some(1), ..PaginatedListOptions::default() };
        let Some(bucket) = self.connection.bucket() else { return Ok(None) };
        let found = self.connection.run(async { Ok(bucket.list_paginated(prefix, first).await?) }, stop)?;
        let is_there = key.is_empty() || !found.result.objects.is_empty();
        if is_there { Ok(None) } else { Err(missing.unwrap_or(Fault::Missing)) }
    }

    /// What there is under a key.
    pub(super) fn look(&self, key: &str, stop: &AtomicBool) -> Result<Told, Fault> {
        let location = location(key)?;
        let options = GetOptions { head: true, ..GetOptions::default() };
        self.connection
            .run(async { Ok(Told::from(&self.connection.objects().get_opts(&location, options).await?.meta)) }, stop)
    }

    /// What all keys begin with of what is meant.
    pub(super) fn prefix(&self) -> String {
        match &self.url().at {
            At::Bucket { key, .. } if !key.is_empty() => format!("{key}/"),
            _ => String::new(),
        }
    }

    /// All objects of a bucket below the prefix, as the store lists them.
    pub(super) fn list(&self) -> BoxStream<'static, object_store::Result<Key>> {
        let below = match &self.url().at {
            At::Bucket { key, .. } => path::Path::parse(key).ok(),
            At::Web { .. } => None,
        };
        self.connection.objects().list(below.as_ref()).map_ok(|meta| Key::from(&meta)).boxed()
    }

    /// The same without what lies in folders: of those the store tells no more than that they are there.
    pub(super) fn list_top(&self) -> BoxStream<'static, object_store::Result<Key>> {
        let Some(bucket) = self.connection.bucket().cloned() else { return stream::empty().boxed() };
        let prefix = self.prefix();
        let first: Option<Option<String>> = Some(None);
        let pages = stream::try_unfold(first, move |token| {
            let (bucket, prefix) = (bucket.clone(), prefix.clone());
            async move {
                let Some(page_token) = token else { return Ok::<_, object_store::Error>(None) };
                let options =
                    PaginatedListOptions { delimiter: Some("/".into()), page_token, ..PaginatedListOptions::default() };
                let prefix = Some(prefix.as_str()).filter(|prefix| !prefix.is_empty());
                let page = bucket.list_paginated(prefix, options).await?;
                let folders = page.result.common_prefixes.iter().map(Key::of_folder);
                let mut keys: Vec<Key> = page.result.objects.iter().map(Key::from).chain(folders).collect();
                keys.sort_unstable_by(|one, other| one.key.cmp(&other.key));
                Ok(Some((stream::iter(keys.into_iter().map(Ok)), page.page_token.map(Some))))
            }
        });
        pages.try_flatten().boxed()
    }

    /// Nobody wants anything of it any more.
    pub(crate) fn close(&self) {
        self.connection.close();
    }

    pub(crate) const fn url(&self) -> &ObjectUrl {
        self.connection.url()
    }

    /// The one object that is meant; none if all below the key are.
    pub(crate) const fn one(&self) -> Option<Told> {
        self.one
    }

    /// Several parts of a file can be read at one time.
    pub(crate) const fn gives_parts(&self) -> bool {
        self.gives_parts
    }

    pub(crate) fn why(&self, fault: &Fault) -> String {
        self.connection.why(fault)
    }

    /// Where the object at `path` below what is meant is.
    fn location_of(&self, path: &Path) -> Result<path::Path, Fault> {
        match (&self.url().at, self.one) {
            (At::Web { .. }, _) => Ok(path::Path::ROOT),
            (At::Bucket { key, .. }, Some(_)) => location(key),
            (At::Bucket { .. }, None) => location(&(self.prefix() + path.to_str().ok_or(Fault::Missing)?)),
        }
    }

    /// Small objects as they were listed, several at one time: what is wanted of each, or why there is none.
    pub(crate) fn read_all(&self, wanted: &[Wanted<'_>], over: &AtomicBool) -> Vec<Result<Vec<u8>, Fault>> {
        if !self.gives_parts {
            let read = |one: &Wanted<'_>| self.read(one.path, one.told, one.start..one.start + one.length, over);
            return wanted.iter().map(read).collect();
        }
        let reads = wanted.iter().map(|wanted| self.get(wanted));
        let all = async { Ok(future::join_all(reads).await) };
        self.connection.run(all, over).unwrap_or_else(|_| wanted.iter().map(|_| Err(Fault::Stopped)).collect())
    }

    /// Some bytes of an object as it was listed.
    pub(crate) fn read(&self, path: &Path, told: Told, part: Range<u64>, over: &AtomicBool) -> Result<Vec<u8>, Fault> {
        let location = self.location_of(path)?;
        if !self.gives_parts {
            return self.read_on(&location, told, part, over);
        }
        let work = async {
            let _turn = self.connection.turn().await;
            let range = Some(GetRange::Bounded(part.clone()));
            let found =
                self.connection.objects().get_opts(&location, GetOptions { range, ..GetOptions::default() }).await?;
            if let Some(version) = &found.meta.e_tag {
                let mut versions = lock(&self.versions);
                if versions.entry(location.clone()).or_insert_with(|| version.clone()) != version {
                    return Err(Fault::Changed);
                }
            }
            gathered(found, told, part.clone()).await
        };
        self.connection.run(work, over)
    }

    async fn get(&self, wanted: &Wanted<'_>) -> Result<Vec<u8>, Fault> {
        let &Wanted { path, told, start, length } = wanted;
        let location = self.location_of(path)?;
        let _turn = self.connection.turn().await;
        let whole = start == 0 && length == told.size;
        let range = (!whole).then_some(GetRange::Bounded(start..start + length));
        let found =
            self.connection.objects().get_opts(&location, GetOptions { range, ..GetOptions::default() }).await?;
        gathered(found, told, start..start + length).await
    }

    /// The same of a server that gives all or nothing: parts are to be asked for in order.
    fn read_on(
        &self,
        location: &path::Path,
        told: Told,
        part: Range<u64>,
        over: &AtomicBool,
    ) -> Result<Vec<u8>, Fault> {
        let mut passing = lock(&self.passing);
        let before = passing.take().filter(|passing| passing.at <= part.start);
        let work = async {
            let mut now = match before {
                Some(before) => before,
                None => {
                    let found = self.connection.objects().get_opts(location, GetOptions::default()).await?;
                    if !told.is_of(&found.meta) {
                        return Err(Fault::Changed);
                    }
                    Passing { stream: found.into_stream(), at: 0, rest: Bytes::new() }
                }
            };
            let mut bytes = Vec::new();
            while now.at < part.end {
                if now.rest.is_empty() {
                    now.rest = now.stream.next().await.ok_or(Fault::Short)??;
                }
                let (until, wanted) = if now.at < part.start { (part.start, false) } else { (part.end, true) };
                let taken = now.rest.split_to(now.rest.len().min((until - now.at) as usize));
                now.at += taken.len() as u64;
                if wanted {
                    bytes.extend_from_slice(&taken);
                }
            }
            Ok((bytes, now))
        };
        let (bytes, now) = self.connection.run(work, over)?;
        *passing = Some(now);
        Ok(bytes)
    }
}

/// All of an answer, which is to be of the object as it was listed.
async fn gathered(found: GetResult, told: Told, part: Range<u64>) -> Result<Vec<u8>, Fault> {
    if !told.is_of(&found.meta) {
        return Err(Fault::Changed);
    }
    let length = part.end - part.start;
    let mut bytes = Vec::with_capacity(length as usize);
    let mut stream = found.into_stream();
    while let Some(some) = stream.next().await {
        bytes.extend_from_slice(&some?);
        if bytes.len() as u64 > length {
            return Err(Fault::Changed);
        }
    }
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(Fault::Short) }
}
