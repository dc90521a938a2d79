//! Puts what lanes and streams bring in its place.

use std::sync::Arc;
use std::{io, iter};

use visapult_ripp::early_data::Piece as EarlyPiece;
use visapult_ripp::inbox::Refusal;
use visapult_ripp::receiving::Hold;
use visapult_ripp::wire::{DataHeader, OBJECT_BITS};

use super::shared::{In, Place, Shared};

/// The content of a datagram or frame of data.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) header: DataHeader,
    pub(super) payload: &'a [u8],
}

impl Piece<'_> {
    /// `next` carries the bytes that follow ours.
    pub(super) fn precedes(&self, next: &Self) -> bool {
        let (a, b) = (&self.header, &next.header);
        a.object_low == b.object_low && a.offset.checked_add(self.payload.len() as u64) == Some(b.offset)
    }
}

/// Puts a run of pieces that follow each other in its place, each byte once.
///
/// # Errors
/// If it has none.
pub(super) fn place_run<'a>(shared: &Arc<Shared>, run: impl Iterator<Item = Piece<'a>> + Clone) -> Result<(), Refusal> {
    let Some(DataHeader { object_low, offset, .. }) = run.clone().next().map(|piece| piece.header) else {
        return Ok(());
    };
    let length = run.clone().map(|piece| piece.payload.len() as u64).sum();
    let mut fresh = Vec::new();
    let (object, place) = {
        let mut incoming = shared.incoming();
        let object = incoming.receiving.object_of(object_low).ok_or(Refusal::Unknown)?;
        incoming.receiving.claim(object, offset, length, |start, end| fresh.push((start, end)))?;
        (object, incoming.places.get(&object).cloned())
    };
    if let Some(place) = place {
        let written = if place.sink.prefers_runs() && run.clone().nth(1).is_some() {
            let gathered = run.fold(Vec::with_capacity(length as usize), |mut bytes, piece| {
                bytes.extend_from_slice(piece.payload);
                bytes
            });
            write(&place, offset, &gathered, &fresh)
        } else {
            run.clone().try_for_each(|piece| write(&place, piece.header.offset, piece.payload, &fresh))
        };
        account(shared, object, written, &fresh);
    }
    Ok(())
}

/// Keeps a piece that came before its object was accepted. False if it does not: it is reported missing then, and sent again.
pub(super) fn hold(shared: &Arc<Shared>, piece: &Piece<'_>) -> bool {
    let DataHeader { object_low, offset, .. } = piece.header;
    let held = shared.incoming().receiving.hold_piece(object_low, offset, piece.payload);
    match held {
        Hold::Kept => true,
        Hold::NoRoom => false,
        Hold::HasPlace => matches!(place_run(shared, iter::once(*piece)), Ok(()) | Err(Refusal::Closed)),
    }
}

/// Puts what came of an object before it was accepted in its place. It counts as arrived: if there is no place for it, the session ends.
pub(super) fn place_held(shared: &Arc<Shared>, object: u32, mut pieces: Vec<EarlyPiece>) {
    // In order they leave as few holes as there are.
    pieces.sort_unstable_by_key(|(offset, _)| *offset);
    let header = |offset| DataHeader { object_low: object & ((1 << OBJECT_BITS) - 1), offset, sent_us: 0 };
    let pieces: Vec<_> = pieces.iter().map(|(offset, payload)| Piece { header: header(*offset), payload }).collect();
    for run in pieces.chunk_by(Piece::precedes) {
        match place_run(shared, run.iter().copied()) {
            Ok(()) | Err(Refusal::Closed) => {}
            Err(refusal @ Refusal::TooManyHoles) => return shared.end(Some(&unplaced(refusal))),
            Err(refusal) => return shared.end_for_breach(&unplaced(refusal)),
        }
    }
}

fn unplaced(refusal: Refusal) -> String {
    format!("what came before it was accepted: {refusal}")
}

/// Writes those of the `bytes` from `from` on that are fresh.
fn write(place: &Place, from: u64, bytes: &[u8], fresh: &[(u64, u64)]) -> io::Result<()> {
    let to = from + bytes.len() as u64;
    for &(start, end) in fresh.iter().filter(|(start, end)| *start < to && *end > from) {
        let (start, end) = (start.max(from), end.min(to));
        place.sink.write_at(start, &bytes[(start - from) as usize..(end - from) as usize])?;
    }
    Ok(())
}

fn account(shared: &Arc<Shared>, object: u32, written: io::Result<()>, fresh: &[(u64, u64)]) {
    if let Err(cause) = written {
        shared.refuse(object, &format!("the receiver could not keep the object: {cause}"));
        return;
    }
    let bytes = fresh.iter().map(|(start, end)| end - start).sum();
    let mut incoming = shared.incoming();
    let In { receiving, .. } = &mut *incoming;
    receiving.written(object, bytes);
    shared.pump_in(&mut incoming);
}
