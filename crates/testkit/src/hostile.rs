//! What an attacker without a key does to datagrams, and what a peer with one says.

use fastrand::Rng;
use visapult_ripp::control::Message;
use visapult_ripp::outbox::Mode;
use visapult_ripp::wire::{CLEAR_HEADER, DATA_HEADER, DataHeader, MOST_OFFSET, OBJECT_BITS, Page, Ping, Pong, Report};

use crate::draw::nasty;
use crate::end::{End, Output};

/// Changes a datagram: a few bits, or its length.
pub fn damage(rng: &mut Rng, bytes: &mut Vec<u8>) {
    match rng.u8(0..4) {
        0 if bytes.len() > 1 => bytes.truncate(rng.usize(0..bytes.len())),
        1 => bytes.extend((0..rng.usize(1..20)).map(|_| rng.u8(..)).collect::<Vec<_>>()),
        _ => {
            let at = rng.usize(0..bytes.len());
            bytes[at] ^= 1 << rng.u8(0..8);
        }
    }
}

/// Makes up a datagram that looks like the one given: its header, perhaps with another packet number, before random bytes.
pub fn forge(rng: &mut Rng, bytes: &mut Vec<u8>) {
    let length = rng.usize(0..1500);
    bytes.resize(CLEAR_HEADER + length, 0);
    if rng.bool() {
        bytes[2..5].copy_from_slice(&nasty(rng).to_be_bytes()[5..]);
    }
    rng.fill(&mut bytes[CLEAR_HEADER..]);
}

/// Says something that no honest end says, in a datagram or a message.
///
/// # Errors
/// If sealing fails.
pub fn lie(rng: &mut Rng, end: &mut End, out: &mut Output) -> Result<(), String> {
    if rng.u8(0..3) == 0 {
        out.control.extend(message(rng));
        return Ok(());
    }
    let at = rng.usize(0..end.lanes.len());
    let lane = &mut end.lanes[at];
    for _ in 0..log_count(rng) {
        let skip = if rng.u8(0..10) == 0 { rng.u64(0..1 << 20) } else { rng.u64(0..3) };
        let frame = frame(rng);
        out.datagrams.push((lane.index, lane.seal_next(skip, &frame)?));
    }
    Ok(())
}

fn log_count(rng: &mut Rng) -> usize {
    let most = 1 << rng.u32(1..10);
    rng.usize(0..most)
}

fn frame(rng: &mut Rng) -> Vec<u8> {
    let mut frame = match rng.u8(0..6) {
        0 | 1 => data(rng),
        2 | 3 => report(rng),
        4 => ping(rng),
        _ => pong(rng),
    };
    match rng.u8(0..8) {
        0 => damage(rng, &mut frame),
        1 => {
            frame = vec![0; rng.usize(0..200)];
            rng.fill(&mut frame);
            if let Some(kind) = frame.first_mut() {
                *kind = [0x80, 0, 1, 2, 3, 4, 5][rng.usize(0..7)];
            }
        }
        _ => {}
    }
    frame
}

fn data(rng: &mut Rng) -> Vec<u8> {
    let length = rng.usize(1..1400);
    let offset = if rng.bool() { rng.u64(0..3_000_000) } else { nasty(rng) & MOST_OFFSET };
    let object_low = if rng.bool() { rng.u32(0..8) } else { nasty(rng) as u32 % (1 << OBJECT_BITS) };
    let header = DataHeader { object_low, offset, sent_us: rng.u32(..) };
    let mut frame = vec![0; DATA_HEADER + length];
    header.write(&mut frame);
    frame
}

fn report(rng: &mut Rng) -> Vec<u8> {
    let from = if rng.bool() { rng.u64(0..2000) } else { nasty(rng) / 2 };
    let mut at = from;
    let mut missing = Vec::new();
    for _ in 0..rng.usize(0..300) {
        let first = at + rng.u64(0..4);
        let count = rng.u64(1..4);
        missing.push((first, count));
        at = first + count;
    }
    let to = if rng.bool() { at } else { at.saturating_add(nasty(rng)) };
    let report = Report {
        busy: rng.u8(..),
        interval_us: rng.u32(..),
        highest: nasty(rng),
        echo_us: rng.u32(..),
        hold_us: rng.u32(..),
        now_us: rng.u32(..),
        bytes: nasty(rng) & MOST_OFFSET,
        marked: rng.u32(..),
        kernel_drops: rng.u32(..) * u32::from(rng.bool()),
        late: rng.u32(..),
        delay_least_us: rng.u32(..),
        delay_most_us: rng.u32(..),
        span_us: nasty(rng) as u32,
        span_bytes: nasty(rng) as u32,
        credit: nasty(rng),
        most_rate_bps: nasty(rng),
        lifetime_ms: nasty(rng) as u32,
        page: Page { from, to, missing },
    };
    let mut frame = vec![0; Report::MOST];
    let length = report.write(&mut frame);
    frame.truncate(length);
    frame
}

fn ping(rng: &mut Rng) -> Vec<u8> {
    let ping = Ping {
        size: rng.u32(0..9000),
        sent_us: rng.u32(..),
        challenge: rng.u64(..),
        settled: nasty(rng),
        report_interval_us: nasty(rng) as u32,
    };
    let mut frame = vec![0; 9000];
    let length = ping.write(&mut frame);
    frame.truncate(length);
    frame
}

fn pong(rng: &mut Rng) -> Vec<u8> {
    let pong = Pong { size: rng.u32(..), sent_us: rng.u32(..), challenge: rng.u64(..), hold_us: nasty(rng) as u32 };
    let mut frame = vec![0; Pong::LENGTH];
    pong.write(&mut frame);
    frame
}

/// Messages: most are well-formed and nonsense.
fn message(rng: &mut Rng) -> Vec<Vec<u8>> {
    let object = if rng.bool() { rng.u32(0..8) } else { nasty(rng) as u32 };
    let why = "because".to_owned();
    let one = match rng.u8(0..24) {
        0 => {
            Message::Flow { flow: rng.u16(0..6), name: "lie".repeat(rng.usize(0..2000)), mode: Mode::Lossy, weight: 0 }
        }
        1 => {
            return (0..2000)
                .map(|_| {
                    Message::Flow { flow: rng.u16(3..), name: why.clone(), mode: Mode::Lossy, weight: 9 }.to_bytes()
                })
                .collect();
        }
        2..5 => Message::Offer { object, flow: rng.u16(0..3), name: why, length: nasty(rng) & MOST_OFFSET },
        5 => return offers(rng),
        6..8 => Message::Accept { object },
        8..10 => Message::Refuse { object, why },
        10..12 => Message::Digest { object, digest: "0".repeat(64) },
        12 => Message::Digest { object, digest: "é".repeat(32) },
        13..15 => Message::Ended { object, arrived: nasty(rng) },
        15..17 => Message::Done { object, arrived: nasty(rng), fault: rng.bool().then_some(why) },
        17..19 => Message::Cancel { object, why },
        19 => return vec![(0..rng.usize(0..300)).map(|_| rng.u8(..)).collect()],
        20 => return vec![vec![b'['; rng.usize(0..70_000)]],
        21 => return vec![br#"{"type":"later","than":[1,2,3]}"#.to_vec()],
        _ => Message::Alive,
    };
    vec![one.to_bytes()]
}

fn offers(rng: &mut Rng) -> Vec<Vec<u8>> {
    let first = rng.u32(8..100_000);
    let offer = |object| Message::Offer { object, flow: 0, name: String::new(), length: MOST_OFFSET }.to_bytes();
    (first..first + 3000).map(offer).collect()
}
