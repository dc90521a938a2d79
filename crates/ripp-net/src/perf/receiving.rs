//! The receiving side of a measurement.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use visapult_ripp::outbox::Mode;

use super::content::{Counting, PATTERN, Patterned, pattern};
use super::notes::{self, NOTES};
use super::progress::{Progress, Teller};
use super::watch::{Offers, Patience, watched};
use super::{Account, FLOW, LAST_PATIENCE, MOST_SAMPLES, NOT_NEEDED, Report, SAMPLE, cpu, ended};
use crate::session::{Incoming, MemorySink, Offer, Session, SessionError, Sink};
use crate::text::printable;

/// Objects that are received at one time at most: 256 MiB.
const MOST_OBJECTS: usize = 64 * 64;
const MOST_MEMORY: u64 = 300 << 20;
/// Faults that are told one by one.
const MOST_FAULTS: usize = 100;
const LEAST_ROOM: usize = 64 << 10;

struct Receiving {
    incoming: Incoming,
    sink: Arc<Counting>,
    index: usize,
    length: usize,
}

struct Receiver<'a> {
    session: &'a Session,
    pattern: Arc<Vec<u8>>,
    placed: Arc<AtomicU64>,
    late: Arc<AtomicU64>,
    /// What is lost is sent again.
    repairs: bool,
    under_way: VecDeque<Receiving>,
    /// Bytes of room that objects under way and spare memory take.
    memory: u64,
    /// Memory that was used before, and can be used again.
    spare: Vec<Arc<Counting>>,
    account: Account,
}

/// Receives what the other side sends, verifies it, and gives it an account. Returns the other side's report.
///
/// # Errors
/// If the session ends before that.
pub fn receive(session: &Session, stop: &AtomicBool, progress: impl FnMut(&Progress)) -> Result<Report, SessionError> {
    receive_within(session, stop, Patience::once_stopped(Duration::ZERO), progress)
}

pub(super) fn receive_within(
    session: &Session,
    stop: &AtomicBool,
    patience: Patience,
    progress: impl FnMut(&Progress),
) -> Result<Report, SessionError> {
    watched(session, stop, patience, |offers| receive_all(session, offers, progress))
}

fn receive_all(session: &Session, offers: &Offers, progress: impl FnMut(&Progress)) -> Result<Report, SessionError> {
    let placed = Arc::new(AtomicU64::new(0));
    let mut receiver = Receiver {
        session,
        pattern: pattern(),
        placed: Arc::clone(&placed),
        late: Arc::default(),
        repairs: false,
        under_way: VecDeque::new(),
        memory: 0,
        spare: Vec::new(),
        account: Account::default(),
    };
    let cpu = cpu::seconds();
    let done = AtomicBool::new(false);
    let (samples, first) = std::thread::scope(|scope| {
        let sampler = std::thread::Builder::new().spawn_scoped(scope, || sample(&placed, &done));
        let sampler = sampler.map_err(SessionError::Thread)?;
        let outcome = receiver.run(offers, progress);
        done.store(true, Ordering::Relaxed);
        let samples = sampler.join().unwrap_or_default();
        outcome.map(|()| samples)
    })?;
    receiver.account.samples = samples;
    receiver.account.first_unix_s =
        first.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map(|since| since.as_secs_f64());
    receiver.account.cpu_s = cpu::seconds() - cpu;
    receiver.account.ruling = session.ruling().cloned();
    notes::give(session, "account", &receiver.account)?.wait().map_err(ended)?;
    let report = notes::take(session, Instant::now() + LAST_PATIENCE)?;
    let mut report: Report = report.ok_or_else(|| ended("the sending side gave no report of the measurement"))?;
    // Whatever the other side says of it: we have seen the bytes.
    report.bytes = receiver.account.bytes;
    report.faults = receiver.account.faults;
    report.verified = report.faults.is_empty();
    report.limited_by = printable(&report.limited_by);
    Ok(report)
}

/// Samples how much has been placed, from the first byte on; and when that was.
fn sample(placed: &AtomicU64, done: &AtomicBool) -> (Vec<u64>, Option<SystemTime>) {
    let mut samples = Vec::new();
    let mut first = None;
    let mut next = Instant::now();
    while !done.load(Ordering::Relaxed) {
        let bytes = placed.load(Ordering::Relaxed);
        if bytes > 0 && samples.len() < MOST_SAMPLES {
            first.get_or_insert_with(SystemTime::now);
            samples.push(bytes);
        }
        next += if bytes > 0 { SAMPLE } else { SAMPLE / 10 };
        let now = Instant::now();
        // A sampler that overslept catches up with what it would have seen.
        while bytes > 0 && next < now && samples.len() < MOST_SAMPLES {
            samples.push(bytes);
            next += SAMPLE;
        }
        std::thread::sleep(next.saturating_duration_since(now));
    }
    (samples, first)
}

impl Receiver<'_> {
    fn run(&mut self, offers: &Offers, mut progress: impl FnMut(&Progress)) -> Result<(), SessionError> {
        let mut teller = None;
        loop {
            self.verify_what_is_over();
            if let Some(teller) = teller.as_mut().filter(|teller| Teller::is_due(teller)) {
                let [placed, late] = [&self.placed, &self.late].map(|bytes| bytes.load(Ordering::Relaxed));
                let late = if self.repairs { late } else { 0 };
                progress(&teller.receiving(&self.session.statistics(), placed, late));
            }
            let patience = Duration::from_millis(if self.under_way.is_empty() { 100 } else { 5 });
            let Some(offer) = self.session.next_offer(patience)? else { continue };
            offers.count();
            teller.get_or_insert_with(Teller::new);
            if offer.flow == NOTES && offer.length <= LEAST_ROOM as u64 {
                let end = offer.accept(Arc::new(MemorySink::new(LEAST_ROOM)));
                end.wait().map_err(ended)?;
                while !self.under_way.is_empty() {
                    self.verify_first();
                }
                return Ok(());
            }
            self.accept(offer);
        }
    }

    fn accept(&mut self, offer: Offer) {
        let index = offer.name.parse::<u32>().ok().filter(|_| offer.flow == FLOW && offer.length <= PATTERN as u64);
        let room = index.and_then(|_| self.room(offer.length as usize));
        let (Some(index), Some(sink)) = (index, room) else {
            offer.refuse(
                "a measurement takes objects of at most 4 MiB, 300 MiB in all (or less memory), in the flow `perf`",
            );
            return;
        };
        let length = offer.length as usize;
        self.repairs = offer.mode != Mode::Lossy;
        let incoming = offer.accept(Arc::<Counting>::clone(&sink));
        self.under_way.push_back(Receiving { incoming, sink, index: index as usize, length });
    }

    /// Memory for an object, used before or new; `None` if that would be too much.
    fn room(&mut self, length: usize) -> Option<Arc<Counting>> {
        let room = length.next_power_of_two().clamp(LEAST_ROOM, PATTERN);
        if self.under_way.len() >= MOST_OBJECTS {
            return None;
        }
        if let Some(at) = self.spare.iter().rposition(|spare| spare.memory.length() == room) {
            let spare = self.spare.swap_remove(at);
            spare.furthest.store(0, Ordering::Relaxed);
            return Some(spare);
        }
        while self.memory + room as u64 > MOST_MEMORY {
            self.memory -= self.spare.pop()?.memory.length() as u64;
        }
        let memory = MemorySink::untouched(room).ok()?;
        self.memory += room as u64;
        let [placed, late] = [&self.placed, &self.late].map(Arc::clone);
        Some(Arc::new(Counting { memory, placed, late, furthest: AtomicU64::new(0) }))
    }

    fn verify_what_is_over(&mut self) {
        while self.under_way.front().is_some_and(|first| first.incoming.is_over()) {
            self.verify_first();
        }
    }

    fn verify_first(&mut self) {
        let Some(object) = self.under_way.pop_front() else { return };
        match object.incoming.wait() {
            Ok(delivery) if delivery.digest.is_some() || self.is_right(&object, &delivery.holes) => {
                self.account.verified += 1;
                self.account.bytes += delivery.arrived;
                self.spare.push(object.sink);
                return;
            }
            Ok(_) => self.note_fault(format!("object {}: wrong content", object.index)),
            Err(cause) if cause.why == NOT_NEEDED => {}
            Err(cause) => self.note_fault(format!("object {}: {cause}", object.index)),
        }
        // A late datagram may still be written to it.
        self.memory -= object.sink.memory.length() as u64;
    }

    fn note_fault(&mut self, fault: String) {
        if self.account.faults.len() < MOST_FAULTS {
            self.account.faults.push(fault);
        }
    }

    /// Where nobody compared digests, every byte that arrived is held against what it should be.
    fn is_right(&self, object: &Receiving, holes: &[(u64, u64)]) -> bool {
        let expected = Patterned { pattern: Arc::clone(&self.pattern), index: object.index, length: object.length };
        let mut at = 0;
        let mut part = Vec::new();
        for &(start, end) in holes.iter().chain([&(object.length as u64, 0)]) {
            part.resize((start - at) as usize, 0);
            if object.sink.read_at(at, &mut part).is_err() || !expected.matches(at as usize, &part) {
                return false;
            }
            at = end;
        }
        true
    }
}
