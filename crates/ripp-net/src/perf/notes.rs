//! Notes that the two sides of a measurement pass one another, beside what is measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;
use visapult_ripp::outbox::Mode;

use super::ended;
use crate::session::{MemorySink, Outgoing, Session, SessionError, Sink};

/// Name of the flow that carries notes.
pub(super) const NOTES: &str = "perf-notes";
/// Bytes of a note at most.
pub(super) const MOST_NOTE: u64 = 64 << 20;
const PATIENCE: Duration = Duration::from_millis(100);

/// Sends a note.
pub(super) fn give(session: &Session, name: &str, note: &impl Serialize) -> Result<Outgoing, SessionError> {
    let bytes = serde_json::to_vec(note).map_err(ended)?;
    session.open_flow(NOTES, Mode::Reliable, 1)?.send(name, Arc::new(bytes))
}

/// Waits for a note; `None` if there is none at `deadline`.
pub(super) fn take<T: DeserializeOwned>(session: &Session, deadline: Instant) -> Result<Option<T>, SessionError> {
    while Instant::now() < deadline {
        let Some(offer) = session.next_offer(PATIENCE)? else { continue };
        if offer.flow != NOTES || offer.length > MOST_NOTE {
            offer.refuse("only a note of at most 64 MiB is expected here");
            continue;
        }
        let memory = Arc::new(MemorySink::try_new(offer.length as usize).map_err(ended)?);
        let incoming = offer.accept(Arc::<MemorySink>::clone(&memory));
        incoming.wait().map_err(ended)?;
        let mut bytes = vec![0; memory.length()];
        memory.read_at(0, &mut bytes).map_err(ended)?;
        return serde_json::from_slice(&bytes).map(Some).map_err(ended);
    }
    Ok(None)
}
