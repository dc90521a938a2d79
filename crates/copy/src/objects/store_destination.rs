//! A place in a bucket, or on a server of WebDAV, that things are copied into: what is there, putting more there, and deleting.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, future, stream};
use object_store::aws::AmazonS3;
use object_store::multipart::MultipartStore;
use object_store::{Attribute, Attributes, GetRange, MultipartId, PutOptions, PutPayload, path};

use visapult_objects::{Fault, ObjectUrl, SENDING_PATIENCE, location};

use super::store::{Key, Store, Told};
use crate::error::CopyError;
use crate::listing::{MOST_DEPTH, Mtime};
use crate::lock::lock;
use crate::names::Name;
use crate::ranges::{RangeHash, count, file_hash, range};
use crate::wish::{Delete, Wish};

/// Parts of an object at most, as stores have it: each is a range.
const MOST_PARTS: u64 = 10_000;
/// Ranges of a file that is put there at once: they are in memory until then, beside those of another.
const MOST_AT_ONCE: u64 = 8;
/// Unfinished uploads are given up within this time in the end, and what was not read back is taken away.
const LAST_PATIENCE: Duration = Duration::from_secs(10);
/// What rclone calls the time of a file, too.
const MTIME: &str = "mtime";

/// A place in a bucket, or on a server.
pub(crate) struct StoreDestination {
    pub(super) store: Store,
    /// None of a server, which takes files whole and has folders.
    pub(super) bucket: Option<AmazonS3>,
    /// What keys of what is copied begin with.
    prefix: String,
    there: BTreeMap<String, Told>,
    /// Uploads that are not finished, by their keys.
    begun: Mutex<HashMap<path::Path, MultipartId>>,
    /// Files that were put onto a server, of which it is not known that they are what was sent.
    unread: Mutex<HashSet<path::Path>>,
    /// Folders of a server that are there.
    folders: tokio::sync::Mutex<HashSet<String>>,
}

impl fmt::Debug for StoreDestination {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "StoreDestination({})", self.store.url())
    }
}

impl StoreDestination {
    /// Looks what there is at `url`, unless all is copied anew and nothing deleted; tells the name of the one thing, if the URL has it.
    ///
    /// # Errors
    /// If nothing can be copied there.
    pub(crate) fn open(
        url: &ObjectUrl,
        into: bool,
        wish: Wish,
        stop: &AtomicBool,
    ) -> Result<(Self, Option<Name>), CopyError> {
        let no_text = || CopyError::Here(format!("{url}: the path is none that a folder can hold, in text of UTF-8"));
        let (holder, key) = url.apart().ok_or_else(no_text)?;
        let store = Store::connect(&holder, SENDING_PATIENCE)?;
        let mut found = Found::default();
        if !wish.anew || wish.delete != Delete::Nothing {
            found.look(&store, &key, into || url.is_folder, stop).map_err(|fault| match fault {
                Fault::Stopped => CopyError::Stopped,
                fault => {
                    let why = store.why(&fault);
                    CopyError::Here(format!(
                        "{url}: what is there cannot be told (a copy without resume does not look): {why}"
                    ))
                }
            })?;
        }
        let Found { there, folders } = found;
        let below = if key.is_empty() { String::new() } else { format!("{key}/") };
        let is_folder = into || url.is_folder || key.is_empty() || there.keys().any(|key| key.starts_with(&below));
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", &key));
        let (prefix, rename) = match Name::new(name.as_bytes()).filter(|_| !is_folder) {
            Some(name) => (if folder.is_empty() { String::new() } else { format!("{folder}/") }, Some(name)),
            None => (below, None),
        };
        let bucket = store.connection.bucket().cloned();
        let folders = tokio::sync::Mutex::new(folders);
        let (begun, unread) = (Mutex::default(), Mutex::default());
        Ok((Self { store, bucket, prefix, there, begun, unread, folders }, rename))
    }

    fn key(&self, path: &Path) -> io::Result<String> {
        let text = path.to_str().filter(|text| !text.contains(|sign: char| sign.is_ascii_control()));
        let text = text.ok_or_else(|| io::Error::other("the name is no text, as a key has to be"))?;
        let key = format!("{}{text}", self.prefix);
        if key.len() > 1024 { Err(io::Error::other("the key would have more than 1024 bytes")) } else { Ok(key) }
    }

    /// What there was at `path` when we looked.
    ///
    /// # Errors
    /// If nothing can be there.
    pub(crate) fn there(&self, path: &Path) -> io::Result<Option<Told>> {
        self.key(path).map(|key| self.there.get(&key).copied())
    }

    /// The names of what there was in the folder `path` when we looked.
    ///
    /// # Errors
    /// If nothing can be there.
    pub(crate) fn names(&self, path: &Path) -> io::Result<BTreeSet<Name>> {
        let key = self.key(path)?;
        let below = if path.as_os_str().is_empty() { key } else { key + "/" };
        Ok(names_below(&self.there, &below))
    }

    pub(crate) fn why(&self, fault: &Fault) -> String {
        self.store.why(fault)
    }

    /// Why a file of so many bytes cannot be put there, if so.
    pub(crate) fn too_large(&self, size: u64) -> Option<String> {
        match &self.bucket {
            Some(_) if count(size) > MOST_PARTS => {
                Some("is larger than 167 GB, which are 10 000 parts of 16 MiB: no store takes more".to_owned())
            }
            None if count(size) > MOST_AT_ONCE => Some(
                "is larger than 134 MB (128 MiB), and servers of https:// take no file in parts: put it into a bucket or a share"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    pub(super) fn begun(&self) -> MutexGuard<'_, HashMap<path::Path, MultipartId>> {
        lock(&self.begun)
    }

    fn unread(&self) -> MutexGuard<'_, HashSet<path::Path>> {
        lock(&self.unread)
    }

    pub(super) fn location(&self, path: &Path) -> Result<path::Path, Fault> {
        location(&self.key(path).map_err(|_| Fault::Missing)?)
    }

    /// Puts small files there, several at one time.
    pub(crate) fn put_all(&self, files: &[(PathBuf, Mtime, &[u8])], over: &AtomicBool) -> Vec<Result<(), Fault>> {
        let puts = files.iter().map(|(path, mtime, content)| {
            let hash = *blake3::hash(content).as_bytes();
            self.put(path, *mtime, Bytes::copy_from_slice(content).into(), hash)
        });
        self.all(puts, over)
    }

    /// Puts a file there at once. A store holds what it receives against what was signed; of what a server has received nothing is known before it is read.
    pub(super) async fn put(
        &self,
        path: &Path,
        mtime: Mtime,
        content: PutPayload,
        hash: RangeHash,
    ) -> Result<(), Fault> {
        let location = self.location(path)?;
        let size = content.content_length() as u64;
        let options = PutOptions { attributes: attributes(mtime), ..PutOptions::default() };
        let is_bucket = self.bucket.is_some();
        let mut new = if is_bucket { None } else { self.new_folder(&location).await };
        if let Some(folders) = &new {
            self.make_folders(folders, &location).await?;
        }
        let turn = self.store.connection.turn().await;
        self.store.connection.objects().put_opts(&location, content, options).await?;
        drop(turn);
        if let Some(folders) = &mut new {
            folders.extend(folders_of(location.as_ref()));
        }
        drop(new);
        if is_bucket { Ok(()) } else { self.read_back(location, size, hash).await }
    }

    /// Sees that what was put there is what was sent. What is not is taken away: by its size and time it would be taken for the same.
    async fn read_back(&self, location: path::Path, size: u64, hash: RangeHash) -> Result<(), Fault> {
        self.unread().insert(location.clone());
        let read = self.read_hash(&location, size).await;
        let outcome = read.and_then(|read| if read == hash { Ok(()) } else { Err(Fault::Differs) });
        if outcome.is_err() {
            self.take_away(vec![location.clone()]).await;
        }
        self.unread().remove(&location);
        outcome
    }

    /// Deletes these, as far as the server lets us in a while.
    async fn take_away(&self, locations: Vec<path::Path>) {
        let locations = stream::iter(locations.into_iter().map(Ok)).boxed();
        let gone = self.store.connection.objects().delete_stream(locations);
        let _ = tokio::time::timeout(LAST_PATIENCE, gone.count()).await;
    }

    /// A folder that is not there is made with what goes into it first: others wait for that one, for no folder can be made twice.
    async fn new_folder(&self, location: &path::Path) -> Option<tokio::sync::MutexGuard<'_, HashSet<String>>> {
        let (folder, _) = location.as_ref().rsplit_once('/')?;
        let folders = self.folders.lock().await;
        (!folders.contains(folder)).then_some(folders)
    }

    /// Asks for the folders of `of` that are not there.
    async fn make_folders(&self, there: &HashSet<String>, of: &path::Path) -> Result<(), Fault> {
        for folder in folders_of(of.as_ref()).filter(|folder| !there.contains(folder)) {
            self.store.connection.make_folder(&location(&folder)?).await;
        }
        Ok(())
    }

    /// The hash of what is there.
    pub(crate) fn hash(&self, path: &Path, size: u64, over: &AtomicBool) -> Result<RangeHash, Fault> {
        let location = self.location(path)?;
        self.store.connection.run(self.read_hash(&location, size), over)
    }

    async fn read_hash(&self, location: &path::Path, size: u64) -> Result<RangeHash, Fault> {
        if count(size) > 1 {
            match self.read_ranges(location, size).await {
                Err(fault) if fault.is_of_ranges() => {}
                outcome => return outcome,
            }
        }
        let got = self.store.connection.get(location, None, size).await?;
        Ok(*blake3::hash(&got.bytes).as_bytes())
    }

    async fn read_ranges(&self, location: &path::Path, size: u64) -> Result<RangeHash, Fault> {
        let mut hashes = Vec::new();
        for range in (0..count(size)).filter_map(|index| range(size, index)) {
            let part = GetRange::Bounded(range.start..range.start + range.length);
            let got = self.store.connection.get(location, Some(part), range.length).await?;
            if got.bytes.len() as u64 != range.length {
                return Err(Fault::Changed);
            }
            hashes.push(range.hash_of(&got.bytes));
        }
        Ok(*file_hash(&hashes).as_bytes())
    }

    /// Deletes what there was at these paths when we looked: a file, or all that is below it.
    pub(crate) fn delete_all(&self, paths: &[PathBuf], over: &AtomicBool) -> Vec<Result<(), Fault>> {
        self.all(paths.iter().map(|path| self.delete(path)), over)
    }

    async fn delete(&self, path: &Path) -> Result<(), Fault> {
        let key = self.key(path).map_err(|_| Fault::Missing)?;
        let below = format!("{key}/");
        let keys = self.there.contains_key(&key).then(|| key.clone()).into_iter();
        let inner =
            self.there.range(below.clone()..).map(|(key, _)| key.clone()).take_while(|key| key.starts_with(&below));
        let keys: Vec<_> = keys.chain(inner).map(|key| path::Path::parse(key).map_err(Into::into)).collect();
        let _turn = self.store.connection.turn().await;
        let mut gone = self.store.connection.objects().delete_stream(stream::iter(keys).boxed());
        while let Some(outcome) = gone.next().await {
            outcome?;
        }
        Ok(())
    }

    /// What comes of all of these, which are done at one time.
    fn all<T: Future<Output = Result<(), Fault>>>(
        &self,
        work: impl ExactSizeIterator<Item = T>,
        over: &AtomicBool,
    ) -> Vec<Result<(), Fault>> {
        let number = work.len();
        let all = async { Ok(future::join_all(work).await) };
        self.store.connection.run(all, over).unwrap_or_else(|_| (0..number).map(|_| Err(Fault::Stopped)).collect())
    }

    /// Gives up what was not finished: else it takes room, and nobody sees it. What was not read back to its end goes, too.
    pub(crate) fn abandon(&self) {
        let (begun, unread) = (std::mem::take(&mut *self.begun()), std::mem::take(&mut *self.unread()));
        self.store.connection.wait(async {
            if let Some(bucket) = &self.bucket {
                let aborts = begun.iter().map(|(location, id)| bucket.abort_multipart(location, id));
                let _ = tokio::time::timeout(LAST_PATIENCE, future::join_all(aborts)).await;
            }
            self.take_away(unread.into_iter().collect()).await;
        });
    }
}

pub(super) fn attributes(mtime: Mtime) -> Attributes {
    let text = format!("{}.{:09}", mtime.s, mtime.ns);
    Attributes::from_iter([(Attribute::Metadata(MTIME.into()), text)])
}

/// What there is.
#[derive(Default)]
struct Found {
    there: BTreeMap<String, Told>,
    /// Of a server.
    folders: HashSet<String>,
}

impl Found {
    fn look(&mut self, store: &Store, key: &str, is_folder: bool, stop: &AtomicBool) -> Result<(), Fault> {
        if !is_folder && !key.is_empty() {
            match store.look(key, stop) {
                Ok(told) => drop(self.there.insert(key.to_owned(), told)),
                Err(fault) if fault.is_missing() => {}
                Err(fault) => return Err(fault),
            }
        }
        if store.connection.bucket().is_some() {
            return store.connection.run(self.list(store), stop);
        }
        let top = location(key)?;
        store.connection.run(self.walk(store, top), stop)
    }

    async fn list(&mut self, store: &Store) -> Result<(), Fault> {
        let mut listed = store.list();
        while let Some(Key { key, is_path, told }) = listed.next().await.transpose()? {
            if is_path {
                self.there.insert(key, told);
            }
        }
        Ok(())
    }

    /// Folder by folder: not every server tells of all at once.
    async fn walk(&mut self, store: &Store, top: path::Path) -> Result<(), Fault> {
        let mut level = vec![top];
        for _ in 0..MOST_DEPTH {
            let looks = level.iter().map(|folder| async move {
                let _turn = store.connection.turn().await;
                store.connection.objects().list_with_delimiter(Some(folder)).await
            });
            let found = future::join_all(looks).await;
            let mut next = Vec::new();
            for (folder, found) in level.iter().zip(found) {
                let found = found?;
                let is_inside = |at: &path::Path| at.prefix_matches(folder) && at != folder;
                for meta in found.objects.iter().filter(|meta| is_inside(&meta.location)) {
                    self.folders.extend(folders_of(meta.location.as_ref()));
                    self.there.insert(meta.location.to_string(), Told::from(meta));
                }
                next.extend(found.common_prefixes.into_iter().filter(is_inside));
            }
            self.folders.extend(next.iter().map(ToString::to_string));
            if next.is_empty() {
                break;
            }
            level = next;
        }
        Ok(())
    }
}

/// The folders that a key is in.
fn folders_of(key: &str) -> impl Iterator<Item = String> {
    key.match_indices('/').map(|(at, _)| key[..at].to_owned())
}

/// What keys that begin with `below` go on with, up to the next slash.
fn names_below(there: &BTreeMap<String, Told>, below: &str) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    let mut from = below.to_owned();
    while let Some((key, _)) = there.range(from..).next()
        && let Some(rest) = key.strip_prefix(below)
    {
        let (name, next) = match rest.split_once('/') {
            // Behind all that is in a folder.
            Some((folder, _)) => (folder, format!("{below}{folder}0")),
            None => (rest, format!("{key}\0")),
        };
        names.extend(Name::new(name.as_bytes()));
        from = next;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_folder_are_those_up_to_the_next_slash() {
        let told = Told { size: 1, mtime: Mtime { s: 1, ns: 0 } };
        let keys = ["a", "a/x", "a/y/z", "a.b", "b/1", "b/2/3", "b0", "c"];
        let there: BTreeMap<_, _> = keys.iter().map(|&key| (key.to_owned(), told)).collect();
        let names = |below| names_below(&there, below).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(""), ["a", "a.b", "b", "b0", "c"]);
        assert_eq!(names("a/"), ["x", "y"]);
        assert_eq!(names("b/2/"), ["3"]);
        assert_eq!(names("none/"), Vec::<String>::new());
        assert_eq!(folders_of("a/b/c").collect::<Vec<_>>(), ["a", "a/b"]);
    }
}
