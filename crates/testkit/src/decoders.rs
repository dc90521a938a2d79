//! Every decoder of the transport, given arbitrary bytes: what the fuzz targets run, and the tests replay.
//!
//! Errors are fine; a panic is not, nor is a value that does not survive being written and read again.

use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::Message;
use visapult_ripp::lane_in::{Credit, LaneIn};
use visapult_ripp::record::{End as Side, LaneSecret, Sealer};
use visapult_ripp::time::Time;
use visapult_ripp::wire::{CLEAR_HEADER, ClearHeader, DATA_HEADER, Frame, Ping, Pong, Report, TAG};

use crate::end::{Arrival, End, Output, Trouble};
use crate::schedule::{Kind, Schedule};

/// A decoder with its name.
pub type Decoder = (&'static str, fn(&[u8]));

/// All of them: the names are those of the fuzz targets and their corpora.
pub const ALL: [Decoder; 4] =
    [("ripp_frame", frame), ("ripp_datagram", datagram), ("ripp_message", message), ("ripp_peer", peer)];

/// The sealed part of a datagram.
///
/// # Panics
/// If a frame that was read is written otherwise.
pub fn frame(bytes: &[u8]) {
    let Ok(frame) = Frame::read(bytes) else { return };
    let mut room = vec![0; 1 << 16];
    let length = match &frame {
        Frame::Data(header, payload) => {
            header.write(&mut room);
            room[DATA_HEADER..DATA_HEADER + payload.len()].copy_from_slice(payload);
            DATA_HEADER + payload.len()
        }
        Frame::Report(report) => report.write(&mut room[..Report::MOST]),
        Frame::Ping(ping) if ping.size as usize > room.len() => return,
        Frame::Ping(ping) => ping.write(&mut room).max(Ping::LEAST),
        Frame::Pong(pong) => pong.write(&mut room).max(Pong::LENGTH),
    };
    let again = Frame::read(&room[..length]);
    match (&frame, &again) {
        // A report may have been cut to what fits.
        (Frame::Report(one), Ok(Frame::Report(other))) if one.page != other.page => {
            assert!(one.page.missing.starts_with(&other.page.missing) && one.page.to > other.page.to);
        }
        _ => assert_eq!(again, Ok(frame)),
    }
}

fn lane(side: Side) -> LaneSecret {
    LaneSecret::derive(&[7; 32], Cipher::Aes128Gcm, 0, side)
}

/// A datagram off the network: nobody has the key, so that nothing may open.
///
/// # Panics
/// If it opens.
pub fn datagram(bytes: &[u8]) {
    let mut receiver = LaneIn::new(lane(Side::Dialer), Credit::default(), Time::ZERO);
    let mut forged = bytes.to_vec();
    assert!(receiver.open(&mut forged).is_none());
    // With the right key id it comes as far as the cipher.
    let mut forged = bytes.to_vec();
    if forged.len() >= CLEAR_HEADER {
        let number = u64::from(u32::from_be_bytes([0, forged[2], forged[3], forged[4]]));
        ClearHeader::of(lane(Side::Dialer).key_id(), number).write(&mut forged);
        assert!(receiver.open(&mut forged).is_none());
    }
    assert_eq!(receiver.received(), (0, 0));
}

/// A message of the control channel.
///
/// # Panics
/// If a message that was read is written otherwise.
pub fn message(bytes: &[u8]) {
    if let Ok(message) = Message::from_bytes(bytes) {
        let written = message.to_bytes();
        assert_eq!(Message::from_bytes(&written).ok(), Some(message).filter(|_| written.len() <= 1 << 16));
    }
}

/// Everything that a peer with the key says to one end: pieces of a kind, a length (2 bytes) and so many bytes, as frames where the kind is
/// even, as messages where it is odd.
///
/// # Panics
/// If a promise is broken.
pub fn peer(mut bytes: &[u8]) {
    let mut schedule = Schedule::draw(0);
    schedule.kind = Kind::Hostile;
    schedule.lanes = 1;
    schedule.first_number = 0;
    let secret = LaneSecret::derive(&[schedule.seed as u8; 32], schedule.cipher, 0, Side::Listener);
    let mut sealer = Sealer::new(secret);
    let mut end = End::new(&schedule, 0);
    let (mut now, mut number) = (0, 0);
    while let Some((&[kind, high, low], rest)) = bytes.split_first_chunk::<3>() {
        let (piece, rest) = rest.split_at(usize::from(u16::from_be_bytes([high, low])).min(rest.len()));
        bytes = rest;
        now += u64::from(kind) * 1_000_000;
        number += 1;
        let mut out = Output::default();
        let result = if kind % 2 == 0 {
            let mut datagram = [&[0; CLEAR_HEADER], piece, &[0; TAG]].concat();
            let sealed = sealer.seal(number, &mut datagram);
            let arrival = Arrival { genuine: true, ..Arrival::default() };
            sealed.map_or(Ok(()), |()| end.on_datagram(now, 0, &mut datagram, arrival, &mut out))
        } else {
            end.on_control(now, piece, &mut out)
        };
        let result = result.and_then(|()| end.turn(now, &mut out).map(|_| ()));
        assert!(!matches!(result, Err(Trouble::Broken(_))), "{result:?}");
        if result.is_err() {
            return;
        }
    }
}
