//! The receiving side of a measurement.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use visapult_ripp::outbox::Mode;

use super::content::{Counting, PATTERN, Patterned, pattern};
use super::{Account, FLOW, MOST_SAMPLES, NOTES, Report, SAMPLE, cpu, ended, give_note, take_note};
use crate::session::{Incoming, MemorySink, Offer, Session, SessionError, Sink};

/// Objects that are received at one time at most: 256 MiB.
const MOST_OBJECTS: usize = 64 * 64;
const MOST_MEMORY: u64 = 300 << 20;

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
    under_way: VecDeque<Receiving>,
    memory: u64,
    /// Memory that was used before, and can be used again.
    spare: Vec<Arc<Counting>>,
    account: Account,
}

/// Receives what the other side sends, verifies it, and gives it an account. Returns the other side's report.
///
/// # Errors
/// If the session ends before that.
pub fn receive(session: &Session, stop: &AtomicBool) -> Result<Report, SessionError> {
    let placed = Arc::new(AtomicU64::new(0));
    let mut receiver = Receiver {
        session,
        pattern: pattern(),
        placed: Arc::clone(&placed),
        under_way: VecDeque::new(),
        memory: 0,
        spare: Vec::new(),
        account: Account::default(),
    };
    let cpu = cpu::seconds();
    let done = AtomicBool::new(false);
    let samples = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| sample(&placed, &done));
        let outcome = receiver.run(stop);
        done.store(true, Ordering::Relaxed);
        let samples = sampler.join().unwrap_or_default();
        outcome.map(|()| samples)
    })?;
    receiver.account.samples = samples;
    receiver.account.cpu_s = cpu::seconds() - cpu;
    let notes = session.open_flow(NOTES, Mode::Reliable, 1)?;
    give_note(&notes, "account", &receiver.account)?;
    take_note(session, "report")
}

/// Samples how much has been placed, from the first byte on.
fn sample(placed: &AtomicU64, done: &AtomicBool) -> Vec<u64> {
    let mut samples = Vec::new();
    let mut next = Instant::now();
    while !done.load(Ordering::Relaxed) {
        let bytes = placed.load(Ordering::Relaxed);
        if bytes > 0 && samples.len() < MOST_SAMPLES {
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
    samples
}

impl Receiver<'_> {
    fn run(&mut self, stop: &AtomicBool) -> Result<(), SessionError> {
        while !stop.load(Ordering::Relaxed) {
            self.verify_what_is_over();
            let patience = Duration::from_millis(if self.under_way.is_empty() { 100 } else { 5 });
            let Some(offer) = self.session.next_offer(patience)? else { continue };
            if offer.flow == NOTES {
                let end = offer.accept(Arc::new(MemorySink::new(8)));
                end.wait().map_err(ended)?;
                while !self.under_way.is_empty() {
                    self.verify_first();
                }
                return Ok(());
            }
            self.accept(offer);
        }
        Err(ended("stopped"))
    }

    fn accept(&mut self, offer: Offer) {
        let index = offer.name.parse().ok();
        let fits = offer.length as usize <= PATTERN
            && self.memory + offer.length <= MOST_MEMORY
            && self.under_way.len() < MOST_OBJECTS;
        let Some(index) = index.filter(|_| fits && offer.flow == FLOW) else {
            offer.refuse("a measurement takes objects of at most 4 MiB, 300 MiB in all, in the flow `perf`");
            return;
        };
        let length = offer.length as usize;
        self.memory += offer.length;
        let sink = self.spare.pop().unwrap_or_else(|| {
            let memory = MemorySink::new(PATTERN);
            Arc::new(Counting { memory, placed: Arc::clone(&self.placed) })
        });
        let reliable = offer.mode == Mode::Reliable;
        let incoming = offer.accept(Arc::<Counting>::clone(&sink));
        self.under_way.push_back(Receiving { incoming, sink, index, length });
        let _ = reliable;
    }

    fn verify_what_is_over(&mut self) {
        while self.under_way.front().is_some_and(|first| first.incoming.is_over()) {
            self.verify_first();
        }
    }

    fn verify_first(&mut self) {
        let Some(object) = self.under_way.pop_front() else { return };
        self.memory -= object.length as u64;
        match object.incoming.wait() {
            Ok(delivery) if delivery.blake3.is_some() || self.is_right(&object, &delivery.holes) => {
                self.account.verified += 1;
                self.account.bytes += delivery.arrived;
                self.spare.push(object.sink);
            }
            Ok(_) => self.account.faults.push(format!("object {}: wrong content", object.index)),
            Err(cause) => self.account.faults.push(format!("object {}: {cause}", object.index)),
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
