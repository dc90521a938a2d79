//! Sealing and opening datagrams: one key per lane, direction and epoch, derived from the session's secret.
//!
//! The nonce is the epoch key's initialisation vector, combined with the packet number; the clear header is authenticated with the rest. A
//! packet number never repeats within a lane and direction, so that no nonce repeats. An epoch is 2^22 datagrams, well below the limits of
//! use of AES-GCM and ChaCha20-Poly1305 (RFC 9001 section 6.6: 2^23 datagrams for a chance of 2^-60 to be told from random).

use std::fmt;

use aws_lc_rs::hkdf;

use crate::cipher::{Cipher, NONCE, PacketKey, SealError};
use crate::wire::{CLEAR_HEADER, ClearHeader, KEY_ID_BITS, TAG};

/// Datagrams that one epoch's key seals, as a power of two.
pub const EPOCH_BITS: u32 = 22;

/// Which end of a session seals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The end that dialled.
    Dialer,
    /// The end that listened.
    Listener,
}

impl End {
    /// The other end.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Dialer => Self::Listener,
            Self::Listener => Self::Dialer,
        }
    }

    /// How keys are told apart that are for what one end sends.
    pub(crate) const fn letter(self) -> u8 {
        match self {
            Self::Dialer => b'd',
            Self::Listener => b'l',
        }
    }
}

/// The key material of one lane in one direction.
#[derive(Clone)]
pub struct LaneSecret {
    cipher: Cipher,
    secret: [u8; 32],
    key_id: u16,
    epoch_bits: u32,
}

impl fmt::Debug for LaneSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LaneSecret")
            .field("cipher", &self.cipher)
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

impl LaneSecret {
    /// The secret of what `from` sends on lane `lane`, out of the session's secret.
    #[must_use]
    pub fn derive(session: &[u8; 32], cipher: Cipher, lane: u16, from: End) -> Self {
        let [high, low] = lane.to_be_bytes();
        let secret = expand::<32>(session, &[b"ripp lane", &[from.letter(), high, low]]);
        let key_id = u16::from_be_bytes(expand::<2>(&secret, &[b"ripp key id"])) & ((1 << KEY_ID_BITS) - 1);
        Self { cipher, secret, key_id, epoch_bits: EPOCH_BITS }
    }

    /// The same with epochs of 2^`bits` datagrams, at both ends alike; for the simulator, in which keys are to change often.
    #[must_use]
    pub const fn with_epoch_bits(mut self, bits: u32) -> Self {
        self.epoch_bits = bits;
        self
    }

    /// What stands in the clear header of datagrams under this secret.
    #[must_use]
    pub const fn key_id(&self) -> u16 {
        self.key_id
    }

    fn epoch(&self, epoch: u64) -> EpochKey {
        let epoch_bytes = epoch.to_be_bytes();
        let key = expand::<32>(&self.secret, &[b"ripp key", &epoch_bytes]);
        let iv = expand::<NONCE>(&self.secret, &[b"ripp iv", &epoch_bytes]);
        EpochKey { epoch, key: PacketKey::new(self.cipher, &key), iv }
    }
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand of a secret, with the parts of `info` one after the other.
pub(crate) fn expand<const N: usize>(secret: &[u8; 32], info: &[&[u8]]) -> [u8; N] {
    let mut out = [0; N];
    let prk = hkdf::Prk::new_less_safe(hkdf::HKDF_SHA256, secret);
    #[expect(clippy::expect_used, reason = "32 bytes are far below HKDF's limit of 255 digests")]
    prk.expand(info, Length(N)).and_then(|key| key.fill(&mut out)).expect("a short output");
    out
}

struct EpochKey {
    epoch: u64,
    key: PacketKey,
    iv: [u8; NONCE],
}

impl EpochKey {
    fn nonce(&self, number: u64) -> [u8; NONCE] {
        let mut nonce = self.iv;
        for (byte, count) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= count;
        }
        nonce
    }
}

/// Seals what one end sends on one lane.
pub struct Sealer {
    secret: LaneSecret,
    current: EpochKey,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.secret.fmt(out)
    }
}

impl Sealer {
    /// A sealer under this secret.
    #[must_use]
    pub fn new(secret: LaneSecret) -> Self {
        let current = secret.epoch(0);
        Self { secret, current }
    }

    /// Seals a datagram in place: room for the clear header, the frame, and room for the tag.
    ///
    /// # Errors
    /// If the cipher refuses.
    ///
    /// # Panics
    /// If the datagram is shorter than header and tag.
    pub fn seal(&mut self, number: u64, datagram: &mut [u8]) -> Result<(), SealError> {
        let epoch = number >> self.secret.epoch_bits;
        if epoch != self.current.epoch {
            self.current = self.secret.epoch(epoch);
        }
        ClearHeader::of(self.secret.key_id, number).write(datagram);
        let (header, rest) = datagram.split_at_mut(CLEAR_HEADER);
        let (body, tag_room) = rest.split_at_mut(rest.len() - TAG);
        let nonce = self.current.nonce(number);
        tag_room.copy_from_slice(&self.current.key.seal(nonce, header, body)?);
        Ok(())
    }
}

/// Opens what the other end sent on one lane; keeps the keys of the epochs around the present one.
pub struct Opener {
    secret: LaneSecret,
    epochs: [EpochKey; 3],
}

impl fmt::Debug for Opener {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.secret.fmt(out)
    }
}

impl Opener {
    /// An opener under this secret.
    #[must_use]
    pub fn new(secret: LaneSecret) -> Self {
        let epochs = [0, 1, 2].map(|epoch| secret.epoch(epoch));
        Self { secret, epochs }
    }

    /// The same before the first packet, which is `number`.
    #[must_use]
    pub fn beginning_at(self, number: u64) -> Self {
        let before = (number >> self.secret.epoch_bits).saturating_sub(1);
        Self { epochs: [0, 1, 2].map(|epoch| self.secret.epoch(before + epoch)), ..self }
    }

    /// What stands in the clear header of datagrams this can open.
    #[must_use]
    pub const fn key_id(&self) -> u16 {
        self.secret.key_id
    }

    /// Moves on to the epochs around the one of `number`, which has been authenticated.
    pub fn advance(&mut self, number: u64) {
        let epoch = number >> self.secret.epoch_bits;
        while self.epochs[1].epoch < epoch {
            let next = self.secret.epoch(self.epochs[2].epoch + 1);
            self.epochs.rotate_left(1);
            self.epochs[2] = next;
        }
    }

    /// Opens packet `number` in place and returns its frame; `None` if it is not authentic, not that packet, or of an epoch out of reach.
    pub fn open<'a>(&self, number: u64, datagram: &'a mut [u8]) -> Option<&'a [u8]> {
        let epoch = number >> self.secret.epoch_bits;
        let key = self.epochs.iter().find(|key| key.epoch == epoch)?;
        let (clear, sealed) = datagram.split_at_mut_checked(CLEAR_HEADER)?;
        key.key.open(key.nonce(number), clear, sealed).map(|frame| &*frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::NUMBER_BITS;

    fn pair(cipher: Cipher) -> (Sealer, Opener) {
        let secret = LaneSecret::derive(&[7; 32], cipher, 3, End::Dialer);
        (Sealer::new(secret.clone()), Opener::new(secret))
    }

    fn sealed(sealer: &mut Sealer, number: u64) -> Vec<u8> {
        let mut datagram = vec![0; CLEAR_HEADER];
        datagram.extend_from_slice(b"a frame");
        datagram.resize(datagram.len() + TAG, 0);
        sealer.seal(number, &mut datagram).unwrap();
        datagram
    }

    #[test]
    fn what_is_sealed_opens_under_every_cipher() {
        for cipher in [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305] {
            let (mut sealer, opener) = pair(cipher);
            let mut datagram = sealed(&mut sealer, 9);
            assert_eq!(opener.open(9, &mut datagram), Some(&b"a frame"[..]));
        }
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let (mut sealer, opener) = pair(Cipher::Aes128Gcm);
        let good = sealed(&mut sealer, 9);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert_eq!(opener.open(9, &mut bad), None, "byte {at}");
        }
    }

    #[test]
    fn a_packet_number_taken_for_another_with_the_same_lower_bits_opens_nothing() {
        let (mut sealer, mut opener) = pair(Cipher::Aes128Gcm);
        let number = (3 << NUMBER_BITS) + 9;
        opener.advance(number);
        let good = sealed(&mut sealer, number);
        assert_eq!(ClearHeader::read(&good).map(|header| header.number_low), Ok(9));
        for other in [9, (2 << NUMBER_BITS) + 9, (4 << NUMBER_BITS) + 9] {
            assert_eq!(opener.open(other, &mut good.clone()), None, "{other}");
        }
        assert!(opener.open(number, &mut good.clone()).is_some());
    }

    #[test]
    fn lanes_and_directions_have_keys_of_their_own() {
        let secrets = [(0, End::Dialer), (1, End::Dialer), (0, End::Listener)]
            .map(|(lane, from)| LaneSecret::derive(&[7; 32], Cipher::Aes128Gcm, lane, from));
        assert_ne!(secrets[0].secret, secrets[1].secret);
        assert_ne!(secrets[0].secret, secrets[2].secret);
    }

    #[test]
    fn epochs_follow_each_other_and_old_ones_end() {
        let (mut sealer, mut opener) = pair(Cipher::Aes128Gcm);
        let mut old = sealed(&mut sealer, 1);
        for epoch in 1..5_u64 {
            let mut datagram = sealed(&mut sealer, epoch << EPOCH_BITS);
            assert!(opener.open(epoch << EPOCH_BITS, &mut datagram).is_some(), "epoch {epoch}");
            opener.advance(epoch << EPOCH_BITS);
        }
        assert_eq!(opener.open(1, &mut old), None);
    }

    #[test]
    fn what_a_change_of_keys_overtakes_still_opens() {
        let (mut sealer, mut opener) = pair(Cipher::Aes128Gcm);
        for epoch in 1..5_u64 {
            let first = epoch << EPOCH_BITS;
            let late = sealed(&mut sealer, first - 1);
            opener.advance(first);
            assert!(opener.open(first - 1, &mut late.clone()).is_some(), "epoch {epoch}");
        }
    }
}
