//! One lane of one end, as a driver runs it: sealing, opening, reports, pings, and what to do when nothing gets through.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use visapult_ripp::lane_in::{Credit, LaneIn};
use visapult_ripp::lane_out::{Burst, LaneOut, Sizes, Turn};
use visapult_ripp::memory::Limits;
use visapult_ripp::outbox::Outbox;
use visapult_ripp::rate::{Auto, Controller, Fixed};
use visapult_ripp::record::{LaneSecret, Sealer};
use visapult_ripp::time::Time;
use visapult_ripp::wire::{CLEAR_HEADER, DATA_HEADER, DataHeader, LEAST_DATAGRAM, Ping, Pong, Report, TAG};

use crate::path::HEADERS;
use crate::schedule::Pace;
use crate::watch::LaneWatch;

/// Reports of nothing but loss after which datagrams become small.
const BARREN_REPORTS: u32 = 3;
/// Silence of a lane after which it is given up, if others are heard.
const DEAD_AFTER: Duration = Duration::from_secs(2);

/// Where a lane's datagrams get the bytes they carry.
pub trait Contents {
    /// The bytes of an object that this end sends.
    fn bytes(&self, object: u32, offset: u64, length: u64) -> &[u8];
}

/// One lane of one end.
#[derive(Debug)]
pub struct Lane {
    /// Its number.
    pub index: u16,
    /// Its sending half.
    pub sender: LaneOut,
    /// Its receiving half.
    pub receiver: LaneIn,
    /// It carries data: it has not been given up.
    pub alive: bool,
    /// Object bytes in datagrams sent.
    pub payload_sent: u64,
    /// Object bytes in datagrams accepted.
    pub payload_accepted: u64,
    numbers: Arc<AtomicU64>,
    sealer: Sealer,
    epoch_bits: u32,
    first_number: u64,
    watch: LaneWatch,
    burst: Burst,
    accepted: HashSet<u64>,
    settled: (u64, u64),
    barren: u32,
}

impl Lane {
    /// A lane of a session.
    #[must_use]
    pub fn new(index: u16, secrets: (LaneSecret, LaneSecret), how: &LanePlan, now: Time) -> Self {
        let numbers = Arc::new(AtomicU64::new(how.first_number));
        // What is allowed bounds what is looked for, or what is made use of.
        let asked_bps = Some(how.most_bps).filter(|_| index.is_multiple_of(2));
        let (controller, promised_bps) = match how.pace {
            Pace::Fixed(bps) => (Controller::Fixed(Fixed::new(bps)), bps),
            Pace::Auto(bps) => (Controller::Auto(Box::new(Auto::new(bps, asked_bps))), u64::MAX),
        };
        let mut sender = LaneOut::new(Arc::clone(&numbers), how.sizes, controller, how.rtt, now).within(how.limits);
        // What is allowed is divided beforehand here.
        if index > 0 && how.most_bps == u64::MAX {
            sender = sender.asleep();
        }
        if asked_bps.is_none() || matches!(how.pace, Pace::Fixed(_)) {
            sender.set_most(how.most_bps);
        }
        let promised_bps = promised_bps.min(how.most_bps);
        Self {
            index,
            sender,
            receiver: LaneIn::new(secrets.1.with_epoch_bits(how.epoch_bits), how.credit, now)
                .beginning_at(how.first_number),
            alive: true,
            payload_sent: 0,
            payload_accepted: 0,
            numbers,
            sealer: Sealer::new(secrets.0.with_epoch_bits(how.epoch_bits)),
            epoch_bits: how.epoch_bits,
            first_number: how.first_number,
            watch: LaneWatch::new(promised_bps, how.first_number, now),
            burst: Burst::default(),
            accepted: HashSet::new(),
            settled: (0, 0),
            barren: 0,
        }
    }

    /// Sends what is due; returns when to come back.
    ///
    /// # Errors
    /// If a promise is broken.
    pub fn turn(
        &mut self,
        now: Time,
        outbox: &mut Outbox,
        contents: &impl Contents,
        send: &mut impl FnMut(Vec<u8>),
    ) -> Result<Time, String> {
        loop {
            match self.sender.turn(now, outbox, &mut self.burst) {
                Turn::Wait(at) if at > now => return Ok(at),
                Turn::Wait(at) => return Err(format!("told at {now:?} to wait until {at:?}: a loop without end")),
                Turn::Ping(number, ping) => {
                    let mut frame = vec![0; ping.size as usize];
                    let length = ping.write(&mut frame);
                    send(self.seal(number, &frame[..length])?);
                }
                Turn::Burst => self.send_burst(now, contents, send)?,
            }
        }
    }

    fn send_burst(
        &mut self,
        now: Time,
        contents: &impl Contents,
        send: &mut impl FnMut(Vec<u8>),
    ) -> Result<(), String> {
        let datagrams: Vec<_> = self.burst.datagrams().collect();
        let sizes = self.sender.sizes();
        let wire = datagrams.iter().map(|(_, region)| sizes.wire(region.length)).sum();
        let last = datagrams.last().map_or(0, |&(number, _)| number);
        self.watch.burst(now, last, wire, sizes.wire(sizes.payload()))?;
        for (number, region) in datagrams {
            let header = DataHeader::of(&region, now);
            let mut frame = vec![0; DATA_HEADER];
            header.write(&mut frame);
            frame.extend_from_slice(contents.bytes(region.object, region.offset, region.length));
            self.payload_sent += region.length;
            send(self.seal(number, &frame)?);
        }
        Ok(())
    }

    /// Seals a frame under a packet number that was drawn for it.
    fn seal(&mut self, number: u64, frame: &[u8]) -> Result<Vec<u8>, String> {
        self.watch.number(number)?;
        let mut datagram = vec![0; CLEAR_HEADER + frame.len() + TAG];
        datagram[CLEAR_HEADER..CLEAR_HEADER + frame.len()].copy_from_slice(frame);
        self.sealer.seal(number, &mut datagram).map_err(|error| error.to_string())?;
        Ok(datagram)
    }

    /// Seals a frame under the packet number `skip` after the next.
    ///
    /// # Errors
    /// If a promise is broken.
    pub fn seal_next(&mut self, skip: u64, frame: &[u8]) -> Result<Vec<u8>, String> {
        let number = self.numbers.fetch_add(1 + skip, Ordering::Relaxed) + skip;
        self.seal(number, frame)
    }

    /// Sends the reports that are due; returns when to come back.
    ///
    /// # Errors
    /// If a promise is broken.
    pub fn report(&mut self, now: Time, send: &mut impl FnMut(Vec<u8>)) -> Result<Option<Time>, String> {
        let mut reports = Vec::new();
        self.receiver.report(now, |report| reports.push(report.clone()));
        for report in reports {
            let mut frame = [0; Report::MOST];
            let length = report.write(&mut frame);
            let sealed = self.seal_next(0, &frame[..length])?;
            if sealed.len() > LEAST_DATAGRAM {
                return Err(format!("a report of {} bytes, which not every path carries", sealed.len()));
            }
            send(sealed);
        }
        Ok(self.receiver.next_report())
    }

    /// Counts a datagram as arrived.
    ///
    /// # Errors
    /// If it was accepted before.
    pub fn accept(
        &mut self,
        now: Time,
        waited: Duration,
        number: u64,
        bytes: usize,
        marked: bool,
        sent_us: Option<u32>,
    ) -> Result<(), String> {
        if !self.accepted.insert(number) {
            return Err(format!("packet number {number} accepted twice"));
        }
        let data_bytes = sent_us.map_or(0, |_| bytes as u64 + u64::from(HEADERS));
        self.receiver.accept(now, waited, number, data_bytes, marked, sent_us);
        Ok(())
    }

    /// Takes a report; datagrams become small when large ones do not get through.
    pub fn on_report(&mut self, now: Time, report: &Report, outbox: &mut Outbox) {
        self.watch.report(now, report);
        self.sender.on_report(now, report, outbox);
        let counts = self.sender.counts();
        let (lost, arrived) = (counts.lost, counts.arrived);
        if arrived > self.settled.1 {
            self.barren = 0;
        } else if lost > self.settled.0 {
            self.barren += 1;
        }
        self.settled = (lost, arrived);
        if self.barren >= BARREN_REPORTS {
            let sizes = self.sender.sizes();
            self.sender.set_sizes(Sizes { datagram: LEAST_DATAGRAM as u16, ..sizes });
        }
    }

    /// The answer to a ping of `bytes` bytes.
    ///
    /// # Errors
    /// If a promise is broken.
    pub fn answer(&mut self, ping: &Ping, bytes: usize) -> Result<Vec<u8>, String> {
        self.receiver.on_ping(ping);
        let pong = Pong { size: bytes as u32, sent_us: ping.sent_us, challenge: ping.challenge, hold_us: 0 };
        let mut frame = [0; Pong::LENGTH];
        let length = pong.write(&mut frame);
        self.seal_next(0, &frame[..length])
    }

    /// Nothing was heard of it for long, though the end was awake.
    #[must_use]
    pub fn is_silent(&self, now: Time, awake_since: Time) -> bool {
        now.since(self.sender.last_heard().max(awake_since)) > DEAD_AFTER
    }

    /// How often the key of what it sends has changed.
    #[must_use]
    pub fn rekeys(&self) -> u64 {
        (self.numbers.load(Ordering::Relaxed) >> self.epoch_bits) - (self.first_number >> self.epoch_bits)
    }

    /// Gives it up, until it is heard again.
    pub fn abandon(&mut self, now: Time, outbox: &mut Outbox) {
        self.alive = false;
        self.sender.abandon(now, outbox);
    }
}

/// How a lane begins.
#[derive(Clone, Copy, Debug)]
pub struct LanePlan {
    /// Datagrams under one key, as a power of two.
    pub epoch_bits: u32,
    /// Packet number of the first datagram.
    pub first_number: u64,
    /// Rate, its share of the end's.
    pub pace: Pace,
    /// Its share of what the end may send at most.
    pub most_bps: u64,
    /// Sizes of its datagrams.
    pub sizes: Sizes,
    /// What it allows its peer.
    pub credit: Credit,
    /// What its end keeps at most.
    pub limits: Limits,
    /// Round-trip time that the handshake took.
    pub rtt: Duration,
}
