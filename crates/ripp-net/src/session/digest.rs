//! End-to-end verification of reliable objects: BLAKE3 of what was read, and of what was written.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::objects::{Delivery, ObjectError, Sink, Source};
use super::shared::{Place, Shared};

/// What is read at once of an object that does not lie in memory: it stays in the processor's nearest cache but one.
const CHUNK: usize = 1 << 16;

/// Work for the digest thread.
pub(super) enum Job {
    /// Digest an object being sent, and tell the receiver.
    Tell {
        /// The object.
        object: u32,
        /// Its bytes.
        source: Arc<dyn Source>,
    },
    /// Digest a whole object and hold it against what the sender says.
    Verify {
        /// The object.
        object: u32,
        /// Where it is.
        place: Place,
        /// The sender's digest.
        expected: String,
    },
}

/// Does the jobs until the session ends.
pub(super) fn run(shared: &Arc<Shared>, jobs: &Receiver<Job>) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Tell { object, source } => tell(shared, object, &*source, &mut chunk),
            Job::Verify { object, place, expected } => verify(shared, object, &place, &expected, &mut chunk),
        }
    }
}

fn tell(shared: &Shared, object: u32, source: &dyn Source, chunk: &mut [u8]) {
    let digest = source.own_digest().map(|own| own.map(hex)).unwrap_or_else(|| {
        digest(source.length(), chunk, |at| source.memory_at(at), |at, part| source.read_at(at, part))
    });
    match digest {
        Ok(blake3) => {
            let mut out = shared.out();
            if let Some(sent) = out.sources.get_mut(&object) {
                sent.blake3 = Some(blake3.clone());
            }
            out.sending.digest(object, blake3);
            shared.pump_out(&mut out);
        }
        Err(cause) => shared.cancel(object, &format!("the sender could not read the object: {cause}")),
    }
}

fn verify(shared: &Arc<Shared>, object: u32, place: &Place, expected: &str, chunk: &mut [u8]) {
    let sink: &dyn Sink = &*place.sink;
    let found = sink
        .own_digest()
        .map(|own| own.map(hex))
        .unwrap_or_else(|| digest(place.length, chunk, |at| sink.memory_at(at), |at, part| sink.read_at(at, part)));
    let fault = match found {
        Ok(found) if found.eq_ignore_ascii_case(expected) => None,
        Ok(found) => {
            Some(format!("the object is not what was sent: BLAKE3 is {found}, should be {expected}; send it again"))
        }
        Err(cause) => Some(format!("the object could not be read back to verify it: {cause}")),
    };
    let mut incoming = shared.incoming();
    incoming.places.remove(&object);
    incoming.receiving.finish(object, place.length, fault.clone());
    shared.pump_in(&mut incoming);
    place.outcome.set(match fault {
        None => Ok(Delivery { arrived: place.length, holes: Vec::new(), blake3: Some(expected.to_owned()) }),
        Some(why) => Err(ObjectError { why }),
    });
}

fn hex(digest: [u8; 32]) -> String {
    blake3::Hash::from_bytes(digest).to_hex().to_string()
}

/// BLAKE3 of `length` bytes: of those that lie in `memory` there, of others as they are `read` into `chunk`.
fn digest<'a>(
    length: u64,
    chunk: &mut [u8],
    memory: impl Fn(u64) -> Option<&'a [u8]>,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    while offset < length {
        let left = usize::try_from(length - offset).unwrap_or(usize::MAX);
        let part = match memory(offset).filter(|part| !part.is_empty()) {
            Some(part) => &part[..part.len().min(left)],
            None => {
                let part = &mut chunk[..CHUNK.min(left)];
                read(offset, part)?;
                part
            }
        };
        hasher.update(part);
        offset += part.len() as u64;
    }
    Ok(hasher.finalize().to_hex().to_string())
}
