//! A place in a bucket that things are copied into: what is there, and putting more there.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, future};
use object_store::aws::AmazonS3;
use object_store::multipart::{MultipartStore, PartId};
use object_store::{
    Attribute, Attributes, GetOptions, GetRange, MultipartId, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    path,
};
use visapult_ripp_net::{MemorySink, Sink};

use visapult_objects::{At, Fault, ObjectUrl, SENDING_PATIENCE, key_of, location};

use super::store::{Store, Told};
use crate::error::CopyError;
use crate::listing::Mtime;
use crate::log::Origin;
use crate::names::Name;
use crate::ranges::{Extents, Range, RangeHash, count, file_hash, range};

/// Parts of an object at most, as stores have it: each is a range.
pub(crate) const MOST_PARTS: u64 = 10_000;
/// Unfinished uploads are given up within this time in the end.
const LAST_PATIENCE: Duration = Duration::from_secs(10);
/// What rclone calls the time of a file, too.
const MTIME: &str = "mtime";

/// A place in a bucket.
pub(crate) struct Shelf {
    store: Store,
    bucket: AmazonS3,
    /// What keys of what is copied begin with.
    prefix: String,
    there: HashMap<String, Told>,
    /// Uploads that are not finished, by their keys.
    begun: Mutex<HashMap<path::Path, MultipartId>>,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Shelf({})", self.store.url())
    }
}

impl Shelf {
    /// Looks what there is at `url`, unless all is copied anew; tells the name of the one thing, if the URL has it.
    ///
    /// # Errors
    /// If nothing can be copied there.
    pub(crate) fn open(
        url: &ObjectUrl,
        into: bool,
        anew: bool,
        stop: &AtomicBool,
    ) -> Result<(Self, Option<Name>), CopyError> {
        let At::Bucket { key, .. } = &url.at else {
            return Err(CopyError::Here(format!(
                "{url}: what is at https:// is copied from, not into: there is no one way to write there"
            )));
        };
        let store = Store::connect(url, SENDING_PATIENCE)?;
        let Some(bucket) = store.connection.bucket().cloned() else {
            return Err(CopyError::Here(format!("{url} is no bucket")));
        };
        let mut there = HashMap::new();
        if !anew {
            let looked = Self::look(&store, key, into, &mut there, stop);
            looked.map_err(|fault| match fault {
                Fault::Stopped => CopyError::Stopped,
                fault => CopyError::Here(format!(
                    "{url}: what is there cannot be told (--no-resume does not look): {}",
                    store.why(&fault)
                )),
            })?;
        }
        let below = store.prefix();
        let is_folder = into || url.is_folder || key.is_empty() || there.keys().any(|key| key.starts_with(&below));
        let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
        let (prefix, rename) = match Name::new(name.as_bytes()).filter(|_| !is_folder) {
            Some(name) => (if folder.is_empty() { String::new() } else { format!("{folder}/") }, Some(name)),
            None => (below, None),
        };
        Ok((Self { store, bucket, prefix, there, begun: Mutex::default() }, rename))
    }

    fn look(
        store: &Store,
        key: &str,
        into: bool,
        there: &mut HashMap<String, Told>,
        stop: &AtomicBool,
    ) -> Result<(), Fault> {
        if !into && !key.is_empty() {
            match store.look(key, stop) {
                Ok(told) => drop(there.insert(key.to_owned(), told)),
                Err(fault) if fault.is_missing() => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut listed = store.list();
        let all = async {
            while let Some(meta) = listed.next().await.transpose()? {
                let (key, is_path) = key_of(&meta.location);
                if is_path {
                    there.insert(key, Told::from(&meta));
                }
            }
            Ok(())
        };
        store.connection.run(all, stop)
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

    pub(crate) fn why(&self, fault: &Fault) -> String {
        self.store.why(fault)
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<path::Path, MultipartId>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn location(&self, path: &Path) -> Result<path::Path, Fault> {
        location(&self.key(path).map_err(|_| Fault::Missing)?)
    }

    /// Puts small files there, several at one time.
    pub(crate) fn put_all(&self, files: &[(PathBuf, Mtime, &[u8])], over: &AtomicBool) -> Vec<Result<(), Fault>> {
        let puts = files.iter().map(|(path, mtime, content)| self.put(path, *mtime, Bytes::copy_from_slice(content)));
        let all = async { Ok(future::join_all(puts).await) };
        self.store.connection.run(all, over).unwrap_or_else(|_| files.iter().map(|_| Err(Fault::Stopped)).collect())
    }

    async fn put(&self, path: &Path, mtime: Mtime, content: Bytes) -> Result<(), Fault> {
        let location = self.location(path)?;
        let _turn = self.store.connection.turn().await;
        let options = PutOptions { attributes: attributes(mtime), ..PutOptions::default() };
        self.bucket.put_opts(&location, PutPayload::from(content), options).await?;
        Ok(())
    }

    /// The hash of what is there.
    pub(crate) fn hash(&self, path: &Path, size: u64, over: &AtomicBool) -> Result<RangeHash, Fault> {
        let location = self.location(path)?;
        let hashes = (0..count(size)).filter_map(|index| range(size, index)).map(|range| {
            let part = range.start..range.start + range.length;
            let options = GetOptions { range: Some(GetRange::Bounded(part)), ..GetOptions::default() };
            let read = async { Ok(self.bucket.get_opts(&location, options).await?.bytes().await?) };
            let content = self.store.connection.run(read, over)?;
            if content.len() as u64 == range.length { Ok(range.hash_of(&content)) } else { Err(Fault::Changed) }
        });
        Ok(*file_hash(&hashes.collect::<Result<Vec<_>, _>>()?).as_bytes())
    }

    /// Gives up what was not finished: else it takes room, and nobody sees it.
    pub(crate) fn abandon(&self) {
        let begun = std::mem::take(&mut *self.begun());
        if begun.is_empty() {
            return;
        }
        let is_late = AtomicBool::new(false);
        let aborts = begun.iter().map(|(location, id)| self.bucket.abort_multipart(location, id));
        let all = async {
            let _ = tokio::time::timeout(LAST_PATIENCE, future::join_all(aborts)).await;
            Ok(())
        };
        let _ = self.store.connection.run(all, &is_late);
    }
}

fn attributes(mtime: Mtime) -> Attributes {
    let text = format!("{}.{:09}", mtime.s, mtime.ns);
    Attributes::from_iter([(Attribute::Metadata(MTIME.into()), text)])
}

/// A large file on its way into a bucket, range by range.
#[derive(Debug)]
pub(crate) struct Upload {
    shelf: Arc<Shelf>,
    path: PathBuf,
    origin: Origin,
    /// None for a file of one range, which is put there at once.
    id: Option<MultipartId>,
    parts: Mutex<BTreeMap<u64, (RangeHash, Option<PartId>)>>,
}

impl Upload {
    pub(crate) fn begin(shelf: &Arc<Shelf>, path: PathBuf, origin: Origin, over: &AtomicBool) -> Result<Self, Fault> {
        let mut id = None;
        if count(origin.size) > 1 {
            let location = shelf.location(&path)?;
            let options =
                PutMultipartOptions { attributes: attributes(origin.mtime), ..PutMultipartOptions::default() };
            let begun = shelf
                .store
                .connection
                .run(async { Ok(shelf.bucket.create_multipart_opts(&location, options).await?) }, over)?;
            shelf.begun().insert(location, begun.clone());
            id = Some(begun);
        }
        Ok(Self { shelf: Arc::clone(shelf), path, origin, id, parts: Mutex::default() })
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<u64, (RangeHash, Option<PartId>)>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A range that is still missing.
    pub(crate) fn wants(&self, index: u64) -> Option<Range> {
        range(self.origin.size, index).filter(|_| !self.parts().contains_key(&index))
    }

    /// Puts a range there; true if it was the last.
    pub(crate) fn put(
        &self,
        index: u64,
        hash: RangeHash,
        content: &Arc<RangeBuffer>,
        over: &AtomicBool,
    ) -> Result<bool, Fault> {
        let shelf = &self.shelf;
        let bytes = Bytes::from_owner(Held(Arc::clone(content)));
        let part = match &self.id {
            None => {
                shelf.store.connection.run(shelf.put(&self.path, self.origin.mtime, bytes), over)?;
                None
            }
            Some(id) => {
                let location = shelf.location(&self.path)?;
                let put = async {
                    let _turn = shelf.store.connection.turn().await;
                    Ok(shelf.bucket.put_part(&location, id, index as usize, PutPayload::from(bytes)).await?)
                };
                Some(shelf.store.connection.run(put, over)?)
            }
        };
        let mut parts = self.parts();
        parts.insert(index, (hash, part));
        Ok(parts.len() as u64 == count(self.origin.size))
    }

    /// All ranges are there: it is an object from now on. Returns its hash.
    pub(crate) fn keep(&self, over: &AtomicBool) -> Result<RangeHash, Fault> {
        let (hashes, parts): (Vec<_>, Vec<_>) = std::mem::take(&mut *self.parts()).into_values().unzip();
        if let Some(id) = &self.id {
            let location = self.shelf.location(&self.path)?;
            let parts = parts.into_iter().flatten().collect();
            self.shelf
                .store
                .connection
                .run(async { Ok(self.shelf.bucket.complete_multipart(&location, id, parts).await?) }, over)?;
            self.shelf.begun().remove(&location);
        }
        Ok(*file_hash(&hashes).as_bytes())
    }
}

/// A range in memory, between the other end and a bucket.
#[derive(Debug)]
pub(crate) struct RangeBuffer {
    memory: MemorySink,
    range: Range,
    extents: Extents,
    arrived: Arc<AtomicU64>,
    /// Bytes of all that there are.
    held: Arc<AtomicU64>,
}

impl Drop for RangeBuffer {
    fn drop(&mut self) {
        self.held.fetch_sub(self.range.length, Ordering::Relaxed);
    }
}

impl RangeBuffer {
    /// # Errors
    /// If there is not so much memory.
    pub(crate) fn new(
        range: Range,
        extents: Extents,
        arrived: &Arc<AtomicU64>,
        held: &Arc<AtomicU64>,
    ) -> io::Result<Self> {
        let memory = MemorySink::try_new(range.length as usize).map_err(io::Error::other)?;
        held.fetch_add(range.length, Ordering::Relaxed);
        Ok(Self { memory, range, extents, arrived: Arc::clone(arrived), held: Arc::clone(held) })
    }

    fn bytes(&self) -> &[u8] {
        self.memory.memory_at(0).unwrap_or_default()
    }
}

impl Sink for RangeBuffer {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.extents.write(offset, bytes, |start, part| self.memory.write_at(start, part))?;
        self.arrived.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.extents.read(offset, into, |start, part| self.memory.read_at(start, part))
    }

    fn own_digest(&self) -> Option<io::Result<[u8; 32]>> {
        Some(Ok(self.range.hash_of(self.bytes())))
    }
}

/// A buffer as the library holds it until it is sent.
struct Held(Arc<RangeBuffer>);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}
