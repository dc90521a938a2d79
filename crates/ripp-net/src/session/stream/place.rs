//! Puts what streams bring in its place.

use std::sync::Arc;

use visapult_ripp::inbox::Refusal;
use visapult_ripp::wire::DataHeader;

use crate::session::shared::{In, Place, Shared};

/// A frame of data.
pub(super) struct Piece<'a> {
    pub(super) header: DataHeader,
    pub(super) payload: &'a [u8],
}

/// Puts pieces in their places, run by run.
///
/// # Errors
/// What the peer did that no honest one does.
pub(super) fn place(shared: &Arc<Shared>, pieces: &[Piece<'_>]) -> Result<(), String> {
    pieces.chunk_by(|a, b| follows(&a.header, &b.header)).try_for_each(|run| place_run(shared, run))
}

fn follows(a: &DataHeader, b: &DataHeader) -> bool {
    a.object == b.object && a.offset.checked_add(u64::from(a.length)) == Some(b.offset)
}

fn place_run(shared: &Arc<Shared>, run: &[Piece<'_>]) -> Result<(), String> {
    let (object, from) = (run[0].header.object, run[0].header.offset);
    let length = run.iter().map(|piece| u64::from(piece.header.length)).sum();
    let mut fresh = Vec::new();
    let claimed = {
        let mut incoming = shared.incoming();
        let claimed = incoming.receiving.claim(object, from, length, |start, end| fresh.push((start, end)));
        claimed.map(|()| incoming.places.get(&object).cloned())
    };
    match claimed {
        Ok(Some(place)) => {
            write(shared, object, &place, run, &fresh);
            Ok(())
        }
        Ok(None) | Err(Refusal::Closed) => Ok(()),
        // A stream keeps the order: nothing comes before it was accepted, and what has come is not sent again.
        Err(cause) => Err(format!("the peer sent bytes of object {object} that have no place: {cause}")),
    }
}

fn write(shared: &Arc<Shared>, object: u32, place: &Place, run: &[Piece<'_>], fresh: &[(u64, u64)]) {
    for piece in run {
        let from = piece.header.offset;
        let to = from + u64::from(piece.header.length);
        for &(start, end) in fresh.iter().filter(|(start, end)| *start < to && *end > from) {
            let (start, end) = (start.max(from), end.min(to));
            let part = &piece.payload[(start - from) as usize..(end - from) as usize];
            if let Err(cause) = place.sink.write_at(start, part) {
                shared.refuse(object, &format!("the receiver could not keep the object: {cause}"));
                return;
            }
        }
    }
    let bytes = fresh.iter().map(|(start, end)| end - start).sum();
    let mut incoming = shared.incoming();
    let In { receiving, .. } = &mut *incoming;
    receiving.written(object, bytes);
    shared.pump_in(&mut incoming);
}
