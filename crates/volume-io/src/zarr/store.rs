//! Where the files of a Zarr hierarchy lie: in a folder, or in an object store. As the Zarr library reads them, and as this crate does.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use zarrs::storage::byte_range::{ByteRange, ByteRangeIterator, InvalidByteRangeError, extract_byte_ranges};
use zarrs::storage::{Bytes, MaybeBytes, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey};

use super::objects::{Objects, Part};
use super::{DOCUMENTS, MAX_METADATA};
use crate::SourceError;
use crate::bytes::BytesAt;
use crate::decoded::Decoded;
use crate::place::Place;
use crate::shape;

/// A node of a hierarchy, and what is below it.
#[derive(Clone, Debug)]
pub(super) struct Store {
    at: At,
    /// Chunks hold smaller ones that are read by themselves: of an object no more than these is asked for.
    in_parts: bool,
    /// What is kept of the arrays of the hierarchy.
    decoded: Arc<Decoded>,
}

#[derive(Clone, Debug)]
enum At {
    Folder(Place),
    /// Below what is opened there, without a `/` at either end.
    Objects(Arc<Objects>, String),
}

impl Store {
    pub(super) fn folder(place: &Place) -> Self {
        Self { at: At::Folder(place.clone()), in_parts: false, decoded: Arc::default() }
    }

    pub(super) fn objects(objects: Objects) -> Self {
        Self { at: At::Objects(Arc::new(objects), String::new()), in_parts: false, decoded: Arc::default() }
    }

    /// The same, for an array of chunks that hold smaller ones.
    pub(super) fn in_parts(&self) -> Self {
        Self { in_parts: true, ..self.clone() }
    }

    /// What is at `inside`; without it, the same.
    pub(super) fn join(&self, inside: &str) -> Self {
        let inside = inside.trim_matches('/');
        let at = match &self.at {
            At::Folder(place) => At::Folder(place.join(inside)),
            At::Objects(objects, below) => At::Objects(Arc::clone(objects), joined(below, inside)),
        };
        Self { at, ..self.clone() }
    }

    /// The node that this one is in, if there is one.
    pub(super) fn above(&self) -> Result<Option<Self>, SourceError> {
        let above = match &self.at {
            At::Folder(place) => place.above().map(|place| Self::folder(&place)),
            At::Objects(objects, below) if below.is_empty() => objects.above()?.map(Self::objects),
            At::Objects(objects, below) => {
                let inside = below.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
                Some(Self { at: At::Objects(Arc::clone(objects), inside), ..self.clone() })
            }
        };
        let above = above.map(|store| Self { decoded: Arc::clone(&self.decoded), ..store });
        above.map_or(Ok(None), |store| Ok(store.is_node()?.then_some(store)))
    }

    /// As its user calls it.
    pub(super) fn shown(&self) -> PathBuf {
        match &self.at {
            At::Folder(place) => place.shown().to_owned(),
            At::Objects(objects, below) => objects.shown(below).into(),
        }
    }

    /// Bytes come over a network, and not at once.
    pub(super) const fn is_far(&self) -> bool {
        matches!(self.at, At::Objects(..))
    }

    /// Whether there is Zarr metadata.
    pub(super) fn is_node(&self) -> Result<bool, SourceError> {
        match &self.at {
            At::Folder(place) => Ok(is_node(place)),
            At::Objects(..) => {
                let found = DOCUMENTS[..3].iter().map(|name| self.document(name));
                Ok(found.collect::<Result<Vec<_>, _>>()?.iter().any(Option::is_some))
            }
        }
    }

    pub(super) const fn decoded(&self) -> &Arc<Decoded> {
        &self.decoded
    }

    /// The system's reason if there is nothing at all, where it tells one.
    pub(super) fn check_is_there(&self) -> Result<(), SourceError> {
        match &self.at {
            At::Folder(place) if !place.is_dir() => place.open().map(drop),
            _ => Ok(()),
        }
    }

    /// A document of this node; none if there is none.
    pub(super) fn document(&self, name: &str) -> Result<Option<Vec<u8>>, SourceError> {
        match &self.at {
            At::Folder(place) => {
                let document = place.join(name);
                if document.is_file() { shape::read_small(&document, MAX_METADATA).map(Some) } else { Ok(None) }
            }
            At::Objects(objects, below) => Ok(objects.document(&joined(below, name))?.map(|bytes| bytes.to_vec())),
        }
    }

    /// Refuses metadata of these nodes below that is too long to be metadata, before anybody reads it. What is far away is asked for all at once.
    pub(super) fn ready(&self, nodes: &[&str]) -> Result<(), SourceError> {
        match &self.at {
            At::Folder(place) => nodes.iter().try_for_each(|node| check_documents(&place.join(node.trim_matches('/')))),
            At::Objects(objects, below) => {
                let paths: Vec<_> = nodes.iter().map(|node| joined(below, node.trim_matches('/'))).collect();
                objects.ready(&paths)
            }
        }
    }

    /// The names of the nodes in this group, in order, `most` at most; in a folder those of all folders.
    pub(super) fn members(&self, most: usize) -> Result<Vec<String>, String> {
        match &self.at {
            At::Folder(place) => place.folders(most).map_err(|e| format!("its arrays cannot be listed: {e}")),
            At::Objects(objects, below) => objects.members(below, most),
        }
    }

    /// Chunks that were not there, until now; 0 where nothing can have taken them away.
    pub(super) fn missing_chunks(&self) -> u64 {
        match &self.at {
            At::Folder(_) => 0,
            At::Objects(objects, _) => objects.missing_chunks(),
        }
    }

    /// Sees that chunks are not missing because all is gone.
    pub(super) fn check_is_still_there(&self) -> Result<(), SourceError> {
        match &self.at {
            At::Folder(place) if is_node(place) => Ok(()),
            At::Folder(place) => {
                let problem = "its metadata is gone since it was opened, and so may be its values: open it again";
                Err(SourceError::format(place.display(), problem))
            }
            At::Objects(objects, _) => objects.check_is_still_there(),
        }
    }
}

/// Whether a folder holds Zarr metadata.
pub(super) fn is_node(place: &Place) -> bool {
    DOCUMENTS[..3].iter().any(|name| place.join(name).is_file())
}

fn check_documents(place: &Place) -> Result<(), SourceError> {
    for document in DOCUMENTS.map(|name| place.join(name)) {
        if let Ok((_, length)) = document.open()
            && length > MAX_METADATA
        {
            let problem = format!("it has {length} bytes, at most {MAX_METADATA} are read of metadata");
            return Err(SourceError::format(document.display(), problem));
        }
    }
    Ok(())
}

/// A path in a hierarchy, of which either part may be empty.
pub(super) fn joined(above: &str, name: &str) -> String {
    match (above, name) {
        ("", name) => name.to_owned(),
        (above, "") => above.to_owned(),
        (above, name) => format!("{above}/{name}"),
    }
}

impl ReadableStorageTraits for Store {
    fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        match &self.at {
            At::Folder(_) => self.get_partial(key, ByteRange::FromStart(0, None)),
            At::Objects(objects, below) => {
                let key = joined(below, key.as_str());
                let is_document = DOCUMENTS.iter().any(|name| key.rsplit('/').next() == Some(name));
                let found = if is_document { objects.document(&key) } else { objects.chunk(&key, Part::Whole) };
                found.map_err(far)
            }
        }
    }

    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let read: Vec<Result<Bytes, StorageError>> = match &self.at {
            At::Folder(place) => {
                let Some((file, length)) = open(place, key)? else { return Ok(None) };
                byte_ranges.map(|range| read(&file, length, range)).collect()
            }
            At::Objects(objects, below) if self.in_parts => {
                let ranges: Vec<_> = byte_ranges.collect();
                let found = objects.parts(&joined(below, key.as_str()), &ranges).map_err(far)?;
                let Some(parts) = found else { return Ok(None) };
                parts.into_iter().map(Ok).collect()
            }
            At::Objects(..) => {
                let Some(whole) = self.get(key)? else { return Ok(None) };
                extract_byte_ranges(&whole, byte_ranges)?.into_iter().map(|part| Ok(part.into())).collect()
            }
        };
        Ok(Some(Box::new(read.into_iter())))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        match &self.at {
            At::Folder(place) => Ok(open(place, key)?.map(|(_, length)| length)),
            At::Objects(..) => Ok(self.get(key)?.map(|bytes| bytes.len() as u64)),
        }
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

/// The file of a key and its length, if it is there.
fn open(folder: &Place, key: &StoreKey) -> Result<Option<(std::fs::File, u64)>, StorageError> {
    match folder.join(key.as_str()).open() {
        Ok(opened) => Ok(Some(opened)),
        Err(SourceError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(StorageError::Other(cause.to_string())),
    }
}

fn read(file: &std::fs::File, length: u64, range: ByteRange) -> Result<Bytes, StorageError> {
    let (offset, wanted) = match range {
        ByteRange::FromStart(offset, wanted) => (Some(offset), wanted),
        ByteRange::Suffix(wanted) => (length.checked_sub(wanted), Some(wanted)),
    };
    // Nothing is allocated that the file does not hold.
    let held = offset.and_then(|offset| Some((offset, length.checked_sub(offset)?)));
    let (offset, wanted) = held
        .map(|(offset, rest)| (offset, rest, wanted.unwrap_or(rest)))
        .filter(|(_, rest, wanted)| wanted <= rest)
        .map(|(offset, _, wanted)| (offset, wanted))
        .ok_or_else(|| InvalidByteRangeError::new(range, length))?;
    let mut bytes = vec![0; usize::try_from(wanted).map_err(|cause| StorageError::Other(cause.to_string()))?];
    file.read_at(offset, &mut bytes)?;
    Ok(Bytes::from(bytes))
}

/// What became of a request, on its way through the Zarr library.
#[derive(Debug)]
struct Far(SourceError);

impl fmt::Display for Far {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl std::error::Error for Far {}

fn far(cause: SourceError) -> StorageError {
    StorageError::IOError(Arc::new(io::Error::other(Far(cause))))
}

/// What became of a request, out of what the library says of it.
pub(super) fn of_request(cause: &io::Error) -> Option<SourceError> {
    match cause.get_ref()?.downcast_ref::<Far>()? {
        Far(SourceError::Io { path, cause }) => {
            Some(SourceError::io(path, io::Error::new(cause.kind(), cause.to_string())))
        }
        Far(SourceError::Format { path, problem }) => Some(SourceError::format(path, problem)),
        Far(_) => None,
    }
}
