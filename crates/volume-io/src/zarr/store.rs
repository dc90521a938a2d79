//! A folder as the Zarr library reads it.

use std::io;

use zarrs::storage::byte_range::{ByteRange, ByteRangeIterator, InvalidByteRangeError};
use zarrs::storage::{Bytes, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey};

use crate::SourceError;
use crate::bytes::BytesAt;
use crate::place::Place;

/// The folder of a Zarr hierarchy.
#[derive(Debug)]
pub(super) struct FolderStore(pub(super) Place);

impl FolderStore {
    /// The file of a key and its length, if it is there.
    fn open(&self, key: &StoreKey) -> Result<Option<(std::fs::File, u64)>, StorageError> {
        match self.0.join(key.as_str()).open() {
            Ok(opened) => Ok(Some(opened)),
            Err(SourceError::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(StorageError::Other(cause.to_string())),
        }
    }
}

impl ReadableStorageTraits for FolderStore {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let Some((file, length)) = self.open(key)? else { return Ok(None) };
        let read = byte_ranges.map(|range| read(&file, length, range)).collect::<Vec<_>>();
        Ok(Some(Box::new(read.into_iter())))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.open(key)?.map(|(_, length)| length))
    }

    fn supports_get_partial(&self) -> bool {
        true
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
