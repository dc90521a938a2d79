//! Memory that what is on its way arrives in, which counts.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use visapult_ripp_net::{MemorySink, Sink};

/// Memory that a listing or bundle arrives in.
#[derive(Debug)]
pub(crate) struct CountedMemory {
    memory: MemorySink,
    arrived: Arc<AtomicU64>,
}

impl CountedMemory {
    /// # Errors
    /// If there is not so much memory.
    pub(crate) fn new(length: u64, arrived: &Arc<AtomicU64>) -> io::Result<Self> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let memory = MemorySink::try_new(length).map_err(io::Error::other)?;
        Ok(Self { memory, arrived: Arc::clone(arrived) })
    }

    /// All of it, once it has arrived.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.memory.memory_at(0).unwrap_or_default()
    }
}

impl Sink for CountedMemory {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.arrived.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.memory.write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.memory.read_at(offset, into)
    }

    fn memory_at(&self, offset: u64) -> Option<&[u8]> {
        self.memory.memory_at(offset)
    }
}
