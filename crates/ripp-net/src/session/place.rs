//! Puts what lanes and streams bring in its place.

use std::sync::Arc;

use visapult_ripp::inbox::Refusal;
use visapult_ripp::wire::DataHeader;

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
        a.object == b.object && a.offset.checked_add(u64::from(a.length)) == Some(b.offset)
    }
}

/// Puts a run of pieces that follow each other in its place, each byte once.
///
/// # Errors
/// If it has none.
pub(super) fn place_run<'a>(shared: &Arc<Shared>, run: impl Iterator<Item = Piece<'a>> + Clone) -> Result<(), Refusal> {
    let Some(DataHeader { object, offset, .. }) = run.clone().next().map(|piece| piece.header) else { return Ok(()) };
    let length = run.clone().map(|piece| u64::from(piece.header.length)).sum();
    let mut fresh = Vec::new();
    let place = {
        let mut incoming = shared.incoming();
        incoming.receiving.claim(object, offset, length, |start, end| fresh.push((start, end)))?;
        incoming.places.get(&object).cloned()
    };
    if let Some(place) = place {
        write(shared, object, &place, run, &fresh);
    }
    Ok(())
}

fn write<'a>(
    shared: &Arc<Shared>,
    object: u32,
    place: &Place,
    run: impl Iterator<Item = Piece<'a>>,
    fresh: &[(u64, u64)],
) {
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
