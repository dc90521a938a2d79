//! Data that came before its object was accepted: kept for a while, so that a sender need not wait for that.
//!
//! Invariant: no more is kept than there is room for. What is kept counts as arrived, and goes to its place once there is one.

use std::collections::HashMap;

/// What a piece takes beside its bytes, and an object beside its pieces.
const PIECE: usize = 64;
const OBJECT: usize = 192;

/// A piece of an object: where it begins, and its bytes.
pub type Piece = (u64, Box<[u8]>);

/// Pieces of objects that are not accepted yet.
#[derive(Debug, Default)]
pub struct Held {
    room: usize,
    /// By the lower bits of their objects' numbers.
    objects: HashMap<u32, Vec<Piece>>,
    kept: usize,
}

impl Held {
    /// What keeps pieces that cost `room` bytes at most.
    #[must_use]
    pub fn within(room: usize) -> Self {
        Self { room, ..Self::default() }
    }

    /// Bytes of which a sender may be told that they are kept, if they are of one object, and come in pieces of `least` bytes at least. Of what does not fit
    /// it is told that it is missing.
    #[must_use]
    pub const fn promise(room: usize, least: usize) -> u64 {
        (room.saturating_sub(OBJECT) / (PIECE + least) * least) as u64
    }

    /// Keeps a piece; false if there is no room for it.
    pub fn keep(&mut self, object_low: u32, offset: u64, bytes: &[u8]) -> bool {
        let is_first = !self.objects.contains_key(&object_low);
        let cost = PIECE + bytes.len() + if is_first { OBJECT } else { 0 };
        if self.kept + cost > self.room {
            return false;
        }
        self.kept += cost;
        self.objects.entry(object_low).or_default().push((offset, bytes.into()));
        true
    }

    /// What is kept of an object, which is not kept any longer.
    pub fn take(&mut self, object_low: u32) -> Vec<Piece> {
        let Some(pieces) = self.objects.remove(&object_low) else { return Vec::new() };
        self.kept -= OBJECT + pieces.iter().map(|(_, bytes)| PIECE + bytes.len()).sum::<usize>();
        pieces
    }

    /// What it all takes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_there_is_room_for_and_the_room_comes_back() {
        let mut held = Held::within(2 * (OBJECT + PIECE + 100) + PIECE);
        assert!(held.keep(1, 0, &[7; 100]) && held.keep(2, 0, &[8; 100]));
        assert!(!held.keep(1, 100, &[9]));
        assert_eq!(held.take(1), [(0, vec![7; 100].into_boxed_slice())]);
        assert!(held.take(1).is_empty());
        assert!(held.keep(2, 100, &[9; 100]));
        assert_eq!((held.take(2).len(), held.bytes()), (2, 0));
    }

    #[test]
    fn what_is_promised_is_kept() {
        let mut held = Held::within(10_000);
        let pieces = Held::promise(10_000, 150) / 150;
        assert!((0..pieces).all(|piece| held.keep(0, 150 * piece, &[1; 150])));
    }
}
