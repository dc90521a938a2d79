//! Moves packets between the two devices as the link says, in one thread.
//!
//! Wakes at most every `quantum` while there is traffic, and delivers then all that is due: few system calls, at the price
//! of deliveries up to a quantum late, which is measured and reported. Never spins. Times without a unit are nanoseconds of its clock.

mod orders;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::link::{Event, Link};
use crate::nap::Nap;
use crate::packet::{Arena, Run, Segment, Translation, split};
use crate::settings::{Change, Scheduled, Settings};
use crate::stats::{Dropped, Histogram};
pub use orders::{Order, bell};

/// Reads from one device before the other gets its turn.
const READS_IN_A_ROW: usize = 64;
/// Later than this is a stall.
const STALL: u64 = 1_000_000;
const MOST_MEMORY: usize = 3 << 30;

/// Why an emulator ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was told to.
    Told,
    /// Its time was over.
    TimeOver,
}

/// How an emulator starts.
#[derive(Debug)]
pub struct Start {
    /// The testbed's name.
    pub name: String,
    /// What the link does at first.
    pub settings: Settings,
    /// What changes later.
    pub scheduled: Vec<Scheduled>,
    /// Seed of all chance.
    pub seed: u64,
    /// When it ends by itself.
    pub limit: Duration,
}

#[derive(Debug, Default)]
struct Tally {
    late: Histogram,
    stalls: u64,
    stalled_ns: u64,
    unwritten: u64,
    no_memory: u64,
    oversized: u64,
    reads: u64,
    writes: u64,
    cpu_before: f64,
}

/// The running emulator.
#[derive(Debug)]
pub struct Emulator {
    name: String,
    devices: [File; 2],
    /// To the right, to the left: link 0 reads from device 0 and writes to device 1.
    links: [Link<Segment>; 2],
    arena: Arena,
    translation: Translation,
    settings: Settings,
    scheduled: VecDeque<(u64, Change)>,
    events: Vec<Event<Segment>>,
    run: Run,
    tally: Tally,
    clock: Instant,
    nap: Nap,
    counted_from: u64,
    limit: u64,
    orders: Receiver<Order>,
    bell: Arc<OwnedFd>,
}

impl Emulator {
    /// An emulator between the devices of left and right. Orders come through the channel, after the bell (an eventfd) rang.
    #[must_use]
    pub fn new(start: Start, devices: [File; 2], orders: Receiver<Order>, bell: Arc<OwnedFd>) -> Self {
        let settings = start.settings;
        let links =
            [true, false].map(|to_right| Link::new(&settings, to_right, start.seed.wrapping_add(to_right.into())));
        let mut emulator = Self {
            name: start.name,
            arena: Arena::new(memory_in_flight(&settings), MOST_MEMORY),
            links,
            devices,
            translation: Translation::default(),
            scheduled: VecDeque::new(),
            events: Vec::new(),
            run: Run::default(),
            tally: Tally::default(),
            clock: Instant::now(),
            nap: Nap::default(),
            counted_from: 0,
            limit: nanoseconds(start.limit),
            settings,
            orders,
            bell,
        };
        emulator.schedule(start.scheduled);
        emulator
    }

    /// Runs until told to stop, or until its time is over: says which.
    pub fn run(mut self) -> Ended {
        let mut busy = false;
        loop {
            let began = self.now();
            if began >= self.limit {
                return Ended::TimeOver;
            }
            if !self.obey(began) {
                return Ended::Told;
            }
            let mut active = false;
            let mut more = false;
            for side in 0..2 {
                let reads = self.read(side);
                active |= reads > 0;
                more |= reads == READS_IN_A_ROW;
            }
            active |= self.deliver();
            if more {
                continue;
            }
            self.wait(began, active || busy);
            busy = active;
        }
    }

    fn now(&self) -> u64 {
        nanoseconds(self.clock.elapsed())
    }

    /// Reads what a device has, and offers it to the link. Says how many reads brought something.
    fn read(&mut self, side: usize) -> usize {
        for count in 0..READS_IN_A_ROW {
            let Some(room) = self.arena.room() else {
                self.tally.no_memory += u64::from(self.discard(side));
                return count;
            };
            let Ok(length) = (&self.devices[side]).read(room) else { return count };
            self.tally.reads += 1;
            let now = nanoseconds(self.clock.elapsed());
            self.offer(side, now, length);
        }
        READS_IN_A_ROW
    }

    fn discard(&self, side: usize) -> bool {
        (&self.devices[side]).read(&mut [0; 64]).is_ok()
    }

    fn offer(&mut self, side: usize, now: u64, length: usize) {
        let Some(room) = self.arena.room() else { return };
        let read = &mut room[..length];
        if !self.translation.passes(read, side == 0) {
            self.links[side].count_drop(length.saturating_sub(crate::packet::VNET_HEADER) as u32, Dropped::Nat);
            return;
        }
        let at = self.arena.keep(length);
        let Some((packets, whole)) = split(&self.arena.bytes(at.0, at.1)[..length], at) else { return };
        self.tally.oversized += u64::from(!whole);
        let events = &mut self.events;
        for (packet, facts) in packets {
            self.arena.retain(at.0);
            self.links[side].offer(now, facts, packet, &mut |event| events.push(event));
        }
        self.settle(1 - side);
    }

    /// Delivers what is due in both directions; says whether that was anything.
    fn deliver(&mut self) -> bool {
        let mut active = false;
        for side in 0..2 {
            let now = self.now();
            let events = &mut self.events;
            self.links[side].advance(now, &mut |event| events.push(event));
            active |= !self.events.is_empty();
            self.settle(1 - side);
        }
        active
    }

    /// Carries out what the link decided: writes to the device `to` what arrived there.
    fn settle(&mut self, to: usize) {
        let events = std::mem::take(&mut self.events);
        let mut latest = 0;
        let mut earliest_due = u64::MAX;
        for event in &events {
            match *event {
                Event::Dropped(packet) => self.arena.release(packet.chunk()),
                Event::Copied(packet) => self.arena.retain(packet.chunk()),
                Event::Arrived { packet, due, marked } => {
                    if !self.run.take(&self.arena, packet, marked) {
                        latest = latest.max(self.flush(to, earliest_due));
                        earliest_due = u64::MAX;
                        let _ = self.run.take(&self.arena, packet, marked);
                    }
                    earliest_due = earliest_due.min(due);
                }
            }
        }
        latest = latest.max(self.flush(to, earliest_due));
        if latest > STALL {
            self.tally.stalls += 1;
            self.tally.stalled_ns += latest;
        }
        self.events = events;
        self.events.clear();
    }

    /// Writes the packets gathered, and says how late the first of them was.
    fn flush(&mut self, to: usize, due: u64) -> u64 {
        if self.run.is_empty() {
            return 0;
        }
        let device = &self.devices[to];
        let wrote = self.run.write(&self.arena, |slices| (&mut &*device).write_vectored(slices));
        self.tally.writes += 1;
        let late = nanoseconds(self.clock.elapsed()).saturating_sub(due);
        for packet in self.run.packets() {
            self.tally.late.add(late);
            self.arena.release(packet.chunk());
        }
        if !matches!(wrote, Some(Ok(_))) {
            self.tally.unwritten += self.run.packets().len() as u64;
        }
        self.run.clear();
        late
    }

    /// Sleeps until the next packet is due, one comes, or an order does; with traffic, at least a quantum since `began`.
    fn wait(&mut self, began: u64, active: bool) {
        if active {
            let until = began + self.quantum();
            let asleep = self.now();
            if let Some(asked) = self.nap.asks(until.saturating_sub(asleep)) {
                let _ = poll(&mut [], Some(&timespec(asked)));
                self.nap.took(asked, self.now() - asleep);
            }
            return;
        }
        let due = self.links.iter().filter_map(Link::next_due).chain(self.scheduled.front().map(|(at, _)| *at));
        let until = due.chain([self.limit]).min().unwrap_or(self.limit);
        let left = until.saturating_sub(self.now()).max(1);
        let [left_device, right_device] = &self.devices;
        let mut ready = [left_device.as_fd(), right_device.as_fd(), self.bell.as_fd()]
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        let _ = poll(&mut ready, Some(&timespec(left)));
    }

    /// Short against the round trip, long against the cost of waking up.
    fn quantum(&self) -> u64 {
        let round_trip = nanoseconds(self.settings.to_right.delay + self.settings.to_left.delay);
        (round_trip / 20).clamp(30_000, 100_000)
    }
}

/// Bytes that both directions hold at most when they are full.
fn memory_in_flight(settings: &Settings) -> usize {
    let bytes = |direction: &crate::settings::Direction| {
        let wire = direction.rate.0 as f64 / 8.0 * (direction.delay + direction.jitter).as_secs_f64();
        wire + settings.queue_bytes(direction) as f64
    };
    // Both at once is rare; a tenth more for the ends of chunks.
    let most = bytes(&settings.to_right).max(bytes(&settings.to_left)) * 1.1;
    most.min((512 << 20) as f64) as usize
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn timespec(nanoseconds: u64) -> Timespec {
    Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as i64 }
}
