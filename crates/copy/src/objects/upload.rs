//! A large file on its way into a bucket, range by range, or onto a server, once all ranges are here.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use object_store::multipart::{MultipartStore, PartId};
use object_store::{MultipartId, PutMultipartOptions, PutPayload};
use visapult_objects::Fault;
use visapult_ripp_net::{MemorySink, Sink};

use super::store_destination::{StoreDestination, attributes};
use crate::lock::lock;
use crate::log::Origin;
use crate::ranges::{Extents, Range, RangeHash, count, file_hash, range};

/// A large file on its way.
#[derive(Debug)]
pub(crate) struct Upload {
    target: Arc<StoreDestination>,
    path: PathBuf,
    origin: Origin,
    /// None for a file that is put there at once.
    id: Option<MultipartId>,
    parts: Mutex<BTreeMap<u64, (RangeHash, Part)>>,
}

/// Where a range is.
#[derive(Debug)]
enum Part {
    There(PartId),
    Here(Bytes),
}

impl Upload {
    pub(crate) fn begin(
        target: &Arc<StoreDestination>,
        path: PathBuf,
        origin: Origin,
        over: &AtomicBool,
    ) -> Result<Self, Fault> {
        let mut id = None;
        if let Some(bucket) = target.bucket.as_ref().filter(|_| count(origin.size) > 1) {
            let location = target.location(&path)?;
            let options =
                PutMultipartOptions { attributes: attributes(origin.mtime), ..PutMultipartOptions::default() };
            let begin = async { Ok(bucket.create_multipart_opts(&location, options).await?) };
            let begun = target.store.connection.run(begin, over)?;
            target.begun().insert(location, begun.clone());
            id = Some(begun);
        }
        Ok(Self { target: Arc::clone(target), path, origin, id, parts: Mutex::default() })
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<u64, (RangeHash, Part)>> {
        lock(&self.parts)
    }

    /// A range that is still missing.
    pub(crate) fn wants(&self, index: u64) -> Option<Range> {
        range(self.origin.size, index).filter(|_| !self.parts().contains_key(&index))
    }

    /// Takes a range, and puts it there if parts are; true if it was the last.
    pub(crate) fn put(
        &self,
        index: u64,
        hash: RangeHash,
        content: &Arc<RangeBuffer>,
        over: &AtomicBool,
    ) -> Result<bool, Fault> {
        let target = &self.target;
        let bytes = Bytes::from_owner(Held(Arc::clone(content)));
        let part = match (&self.id, &target.bucket) {
            (Some(id), Some(bucket)) => {
                let location = target.location(&self.path)?;
                let put = async {
                    let _turn = target.store.connection.turn().await;
                    Ok(bucket.put_part(&location, id, index as usize, PutPayload::from(bytes)).await?)
                };
                Part::There(target.store.connection.run(put, over)?)
            }
            _ => Part::Here(bytes),
        };
        let mut parts = self.parts();
        parts.insert(index, (hash, part));
        Ok(parts.len() as u64 == count(self.origin.size))
    }

    /// All ranges are there, or here: it is an object from now on. Returns its hash.
    pub(crate) fn keep(&self, over: &AtomicBool) -> Result<RangeHash, Fault> {
        let (mut hashes, mut there, mut here) = (Vec::new(), Vec::new(), Vec::new());
        for (hash, part) in std::mem::take(&mut *self.parts()).into_values() {
            hashes.push(hash);
            match part {
                Part::There(id) => there.push(id),
                Part::Here(bytes) => here.push(bytes),
            }
        }
        let (target, hash) = (&self.target, *file_hash(&hashes).as_bytes());
        match (&self.id, &target.bucket) {
            (Some(id), Some(bucket)) => {
                let location = target.location(&self.path)?;
                let complete = async { Ok(bucket.complete_multipart(&location, id, there).await?) };
                target.store.connection.run(complete, over)?;
                target.begun().remove(&location);
            }
            _ => {
                let content = here.into_iter().collect();
                target.store.connection.run(target.put(&self.path, self.origin.mtime, content, hash), over)?;
            }
        }
        Ok(hash)
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
