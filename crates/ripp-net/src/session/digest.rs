//! End-to-end verification of reliable objects: the digest of what was read, and of what was written.

use std::fmt::Write;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use visapult_ripp::cipher::Cipher;
use visapult_ripp::digest::{CHUNK, DigestKey, ObjectDigest};
use visapult_ripp::record::End;

use super::objects::{Delivery, ObjectError, Sink, Source};
use super::shared::{Place, Shared};

/// The keys of what either end sends.
#[derive(Debug)]
pub(super) struct DigestKeys {
    own: DigestKey,
    peer: DigestKey,
}

impl DigestKeys {
    /// Those of the end that is `own`.
    pub(super) fn derive(session: &[u8; 32], cipher: Cipher, own: End) -> Self {
        let [own, peer] = [own, own.peer()].map(|from| DigestKey::derive(session, cipher, from));
        Self { own, peer }
    }
}

/// Bytes after which it is asked again whether a digest is wanted.
const LOOK_EVERY: u64 = 16 * CHUNK as u64;

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
        if shared.is_over() {
            return;
        }
        match job {
            Job::Tell { object, source } => tell(shared, object, &*source, &mut chunk),
            Job::Verify { object, place, expected } => verify(shared, object, &place, &expected, &mut chunk),
        }
    }
}

fn tell(shared: &Shared, object: u32, source: &dyn Source, chunk: &mut [u8]) {
    let is_wanted = || !shared.is_over() && shared.out().sources.contains_key(&object);
    let find = || {
        source.own_digest().map(|found| found.map(Some)).unwrap_or_else(|| {
            let key = &shared.digest_keys()?.own;
            digest(
                is_wanted,
                key.object(object),
                source.length(),
                chunk,
                |at| source.memory_at(at),
                |at, part| source.read_at(at, part),
            )
        })
    };
    match unless_it_panics(find).map(|found| found.map(hex)) {
        Ok(None) => {}
        Ok(Some(digest)) => {
            let mut out = shared.out();
            if let Some(sent) = out.sources.get_mut(&object) {
                sent.digest = Some(digest.clone());
            }
            out.sending.digest(object, digest);
            shared.pump_out(&mut out);
        }
        Err(cause) => shared.cancel(object, &format!("the sender could not read the object: {cause}")),
    }
}

fn verify(shared: &Arc<Shared>, object: u32, place: &Place, expected: &str, chunk: &mut [u8]) {
    let sink: &dyn Sink = &*place.sink;
    let is_wanted = || !shared.is_over() && shared.incoming().places.contains_key(&object);
    let find = || {
        sink.own_digest().map(|found| found.map(Some)).unwrap_or_else(|| {
            let key = &shared.digest_keys()?.peer;
            digest(
                is_wanted,
                key.object(object),
                place.length,
                chunk,
                |at| sink.memory_at(at),
                |at, part| sink.read_at(at, part),
            )
        })
    };
    let fault = match unless_it_panics(find).map(|found| found.map(hex)) {
        // Whoever ended it has said why.
        Ok(None) => return,
        Ok(Some(found)) if found.eq_ignore_ascii_case(expected) => None,
        Ok(Some(_)) => {
            Some("the object is not what was sent: the digests of the two ends differ; send it again".to_owned())
        }
        Err(cause) => Some(format!("the object could not be read back to verify it: {cause}")),
    };
    let mut incoming = shared.incoming();
    incoming.places.remove(&object);
    incoming.receiving.finish(object, place.length, fault.clone());
    shared.pump_in(&mut incoming);
    place.outcome.set(match fault {
        None => Ok(Delivery { arrived: place.length, holes: Vec::new(), digest: Some(expected.to_owned()) }),
        Some(why) => Err(ObjectError { why }),
    });
}

/// What `find` finds. A panic of the program's source or sink costs the object alone: others wait behind it.
fn unless_it_panics<T>(find: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(find)).unwrap_or_else(|_| Err(io::Error::other("the program's own code panicked")))
}

fn hex(digest: [u8; 32]) -> String {
    digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The digest of `length` bytes: of chunks that lie together in `memory` there, of others as they are `read`. None once it is not wanted any more: others wait behind it.
fn digest<'a>(
    is_wanted: impl Fn() -> bool,
    mut digest: ObjectDigest<'_>,
    length: u64,
    chunk: &mut [u8],
    memory: impl Fn(u64) -> Option<&'a [u8]>,
    read: impl Fn(u64, &mut [u8]) -> io::Result<()>,
) -> io::Result<Option<[u8; 32]>> {
    let mut offset = 0;
    while offset < length {
        if offset.is_multiple_of(LOOK_EVERY) && !is_wanted() {
            return Ok(None);
        }
        let wanted = usize::try_from(length - offset).map_or(CHUNK, |left| left.min(CHUNK));
        let part = match memory(offset).and_then(|part| part.get(..wanted)) {
            Some(part) => part,
            None => {
                read(offset, &mut chunk[..wanted])?;
                &chunk[..wanted]
            }
        };
        digest.take(part).map_err(io::Error::other)?;
        offset += wanted as u64;
    }
    Ok(Some(digest.finish()))
}
