//! The world in which two ends meet: one queue of events, in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use fastrand::Rng;

use crate::draw::{SECOND, chance};
use crate::end::{Arrival, End, Outcome, Output, Trouble};
use crate::hostile;
use crate::lane::Lane;
use crate::path::Path;
use crate::schedule::{Kind, Schedule};

/// Events after which a run counts as one without end.
const MOST_EVENTS: u64 = 5_000_000;
/// Silence after which an end takes the other for dead.
const GONE_AFTER: u64 = 9 * SECOND;
/// Datagrams that the attacker keeps.
const KEPT: usize = 32;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A datagram arrives at an end, on a lane; genuine if nobody has tampered with it.
    Datagram { end: usize, lane: u16, bytes: Vec<u8>, genuine: bool, marked: bool },
    /// A message of the control channel arrives.
    Control { end: usize, bytes: Vec<u8> },
    /// A timer of an end.
    Wake { end: usize },
    /// An end's program dies, and another is started in its place.
    Restart { end: usize },
    /// An end learns that the other's program has died.
    Bereaved { end: usize },
    /// The attacker injects a datagram.
    Inject,
    /// The end that lies does so.
    Lie { end: usize },
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Objects done and failed.
    pub objects: (usize, usize),
    /// Bytes verified.
    pub verified: u64,
    /// Datagrams that the ends sent.
    pub datagrams: u64,
    /// Virtual time in nanoseconds.
    pub ended: u64,
    /// Datagrams that were marked congestion-experienced.
    pub marked: u64,
    /// Times that the key of a lane changed.
    pub rekeys: u64,
    /// An end was restarted in mid-session.
    pub restarted: bool,
    /// Datagrams that a receiver refused for want of memory.
    pub refused: u64,
    /// It took longer than with a good rate.
    pub slow: bool,
}

/// Two ends, the path between them, and what harms them.
#[derive(Debug)]
pub struct World {
    /// The ends.
    pub ends: [End; 2],
    /// The path from each end to the other.
    pub paths: [Path; 2],
    /// The time, in nanoseconds.
    pub now: u64,
    schedule: Schedule,
    rng: Rng,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    serial: u64,
    wakes: [u64; 2],
    backlogs: [Backlog; 2],
    last_control: [u64; 2],
    seen: Vec<(usize, u16, Vec<u8>)>,
    /// Bytes verified by an end before it was restarted.
    verified: u64,
    datagrams: u64,
    /// The end that was restarted.
    restarted: Option<usize>,
    trace: bool,
}

/// What waits for an end that is stalled.
#[derive(Debug, Default)]
struct Backlog {
    /// What came, and when.
    events: VecDeque<(u64, Event)>,
    bytes: usize,
    drops: Vec<u64>,
}

impl World {
    /// The world of a schedule; with `trace` it prints what happens.
    #[must_use]
    pub fn new(schedule: Schedule, trace: bool) -> Self {
        let mut rng = Rng::with_seed(schedule.seed ^ 0x9e37_79b9_7f4a_7c15);
        let mut path = |side: usize| Path::new(schedule.paths[side].clone(), rng.fork());
        let backlog = || Backlog { drops: vec![0; usize::from(schedule.lanes)], ..Backlog::default() };
        let mut world = Self {
            paths: [path(0), path(1)],
            ends: [End::new(&schedule, 0), End::new(&schedule, 1)],
            now: 0,
            rng,
            events: BinaryHeap::new(),
            serial: 0,
            wakes: [u64::MAX; 2],
            backlogs: [backlog(), backlog()],
            last_control: [0; 2],
            seen: Vec::new(),
            verified: 0,
            datagrams: 0,
            restarted: None,
            trace,
            schedule,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for end in 0..2 {
            self.wake(end, 0);
        }
        for at in self.schedule.injections.clone() {
            self.push(at, Event::Inject);
        }
        if let Some(restart) = self.schedule.restart {
            self.push(restart.at, Event::Restart { end: restart.end });
        }
        if let Some((end, times)) = self.schedule.lies.clone() {
            times.into_iter().for_each(|at| self.push(at, Event::Lie { end }));
        }
    }

    /// Runs to the end of the schedule.
    ///
    /// # Errors
    /// If a promise is broken.
    pub fn run(mut self) -> Result<Summary, String> {
        let mut events = 0;
        while !self.is_done() {
            events += 1;
            if events > MOST_EVENTS {
                return Err(format!("no end after {MOST_EVENTS} events and {:.3} s", self.now as f64 * 1e-9));
            }
            if !self.step(self.schedule.limit)? {
                break;
            }
        }
        self.check()
    }

    fn is_done(&self) -> bool {
        let survivor = self.restarted.map(|end| &self.ends[1 - end]);
        self.ends.iter().all(End::is_done) && survivor.is_none_or(|end| end.closed.is_some())
    }

    /// Handles the next event, if there is one before `limit`.
    ///
    /// # Errors
    /// If a promise is broken.
    pub fn step(&mut self, limit: u64) -> Result<bool, String> {
        if self.events.peek().is_none_or(|Reverse((at, ..))| *at > limit) {
            self.now = limit;
            return Ok(false);
        }
        let Some(Reverse((at, _, event))) = self.events.pop() else { return Ok(false) };
        self.now = at;
        match event {
            Event::Inject => self.inject(),
            Event::Lie { end } => self.lie(end)?,
            Event::Restart { end } => self.restart(end),
            Event::Bereaved { end } => self.ends[end].end("the control connection ended".to_owned()),
            Event::Wake { end } => {
                if self.wakes[end] == at {
                    self.wakes[end] = u64::MAX;
                    self.wake_up(end)?;
                }
            }
            Event::Datagram { end, .. } | Event::Control { end, .. } => match self.stalled_until(end) {
                Some(until) => self.hold_back(end, event, until),
                None => self.deliver(end, event)?,
            },
        }
        Ok(true)
    }

    fn stalled_until(&self, end: usize) -> Option<u64> {
        let now = self.now;
        self.ends[end].plan().stalls.iter().find(|&&(from, to)| (from..to).contains(&now)).map(|&(_, to)| to)
    }

    fn hold_back(&mut self, end: usize, event: Event, until: u64) {
        let most = self.ends[end].plan().receive_buffer;
        let backlog = &mut self.backlogs[end];
        if let Event::Datagram { lane, bytes, .. } = &event {
            if backlog.bytes + bytes.len() > most {
                backlog.drops[usize::from(*lane)] += 1;
                return;
            }
            backlog.bytes += bytes.len();
        }
        backlog.events.push_back((self.now, event));
        self.wake(end, until);
    }

    fn wake_up(&mut self, end: usize) -> Result<(), String> {
        if let Some(until) = self.stalled_until(end) {
            self.wake(end, until);
            return Ok(());
        }
        self.backlogs[end].bytes = 0;
        for (lane, drops) in self.backlogs[end].drops.clone().into_iter().enumerate() {
            self.ends[end].on_kernel_drops(lane as u16, drops);
        }
        while let Some((arrived, event)) = self.backlogs[end].events.pop_front() {
            self.hand_over(end, event, Duration::from_nanos(self.now - arrived))?;
        }
        self.turn(end)
    }

    fn deliver(&mut self, end: usize, event: Event) -> Result<(), String> {
        self.hand_over(end, event, Duration::ZERO)?;
        self.turn(end)
    }

    fn hand_over(&mut self, end: usize, event: Event, waited: Duration) -> Result<(), String> {
        let now = self.now;
        let mut out = Output::default();
        if self.trace {
            self.print(end, &event);
        }
        let result = match event {
            Event::Datagram { lane, mut bytes, genuine, marked, .. } => {
                // What was meant for the program before is nothing to its successor.
                let genuine = genuine && self.restarted != Some(end);
                self.ends[end].on_datagram(now, lane, &mut bytes, Arrival { genuine, marked, waited }, &mut out)
            }
            Event::Control { .. } if self.restarted == Some(end) => Ok(()),
            Event::Control { bytes, .. } => self.ends[end].on_control(now, &bytes, &mut out),
            _ => Ok(()),
        };
        self.judge(end, result, &mut out)?;
        self.dispatch(end, out);
        Ok(())
    }

    fn turn(&mut self, end: usize) -> Result<(), String> {
        let mut out = Output::default();
        let result = self.ends[end].turn(self.now, &mut out);
        match result {
            Ok(next) if next < u64::MAX => self.wake(end, next),
            Ok(_) => {}
            Err(trouble) => self.judge(end, Err(trouble), &mut out)?,
        }
        self.dispatch(end, out);
        Ok(())
    }

    /// A session that ends where nobody lies is a failure of the code.
    fn judge(&mut self, end: usize, result: Result<(), Trouble>, out: &mut Output) -> Result<(), String> {
        match result {
            Ok(()) => Ok(()),
            Err(Trouble::Session(why)) if self.schedule.kind == Kind::Hostile => {
                out.control.push(visapult_ripp::control::Message::Bye { why: why.clone() }.to_bytes());
                self.ends[end].end(why);
                Ok(())
            }
            Err(Trouble::Session(why)) => Err(format!("end {end}: the session ended: {why}")),
            Err(Trouble::Broken(what)) => Err(format!("end {end} at {:.6} s: {what}", self.now as f64 * 1e-9)),
        }
    }

    fn wake(&mut self, end: usize, at: u64) {
        if at < self.wakes[end] {
            self.wakes[end] = at;
            self.push(at, Event::Wake { end });
        }
    }

    fn push(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial, event)));
    }

    fn dispatch(&mut self, from: usize, out: Output) {
        for (lane, bytes) in out.datagrams {
            self.send(from, lane, bytes);
        }
        // Nobody has dialled the program that was restarted.
        let control = if self.restarted == Some(from) { Vec::new() } else { out.control };
        for bytes in control {
            let at = self.paths[from].stream_arrival(self.now).max(self.last_control[from]);
            self.last_control[from] = at;
            self.push(at, Event::Control { end: 1 - from, bytes });
        }
    }

    fn send(&mut self, from: usize, lane: u16, bytes: Vec<u8>) {
        self.datagrams += 1;
        let worth_keeping = !self.schedule.injections.is_empty() && self.restarted != Some(from);
        if worth_keeping && (self.seen.len() < KEPT || chance(&mut self.rng, 0.05)) {
            self.keep(from, lane, &bytes);
        }
        let mut arrivals = [None; 2];
        let mut count = 0;
        self.paths[from].send(self.now, bytes.len(), |arrival| {
            arrivals[count] = Some(arrival);
            count += 1;
        });
        if self.trace {
            println!(
                "{:.6} end {from} lane {lane} sends {} bytes, {count} arrive",
                self.now as f64 * 1e-9,
                bytes.len()
            );
        }
        if self.schedule.death.is_some_and(|(dead, at)| dead == lane && at <= self.now) {
            return;
        }
        for arrival in arrivals.into_iter().flatten() {
            let mut bytes = bytes.clone();
            if arrival.damaged {
                hostile::damage(&mut self.rng, &mut bytes);
            }
            let genuine = !arrival.damaged && self.restarted != Some(from);
            let marked = arrival.marked;
            self.push(arrival.at, Event::Datagram { end: 1 - from, lane, bytes, genuine, marked });
        }
    }

    fn keep(&mut self, from: usize, lane: u16, bytes: &[u8]) {
        if self.seen.len() >= KEPT {
            let at = self.rng.usize(0..KEPT);
            self.seen.swap_remove(at);
        }
        self.seen.push((from, lane, bytes.to_vec()));
    }

    /// The attacker repeats, turns around, damages or makes up a datagram.
    fn inject(&mut self) {
        if self.seen.is_empty() {
            return;
        }
        let at = self.rng.usize(0..self.seen.len());
        let (from, lane, mut bytes) = self.seen[at].clone();
        let (mut to, mut to_lane, mut genuine) = (1 - from, lane, true);
        match self.rng.u8(0..5) {
            0 => {}
            1 => (to, genuine) = (from, false),
            2 if self.schedule.lanes > 1 => {
                to_lane = (lane + 1) % self.schedule.lanes;
                genuine = false;
            }
            3 => {
                hostile::forge(&mut self.rng, &mut bytes);
                genuine = false;
            }
            _ => {
                hostile::damage(&mut self.rng, &mut bytes);
                genuine = false;
            }
        }
        let marked = false;
        self.push(self.now, Event::Datagram { end: to, lane: to_lane, bytes, genuine, marked });
    }

    /// Another program takes the place of an end's: it knows nothing of the session. The other end is told by the end of the control
    /// connection, or by silence.
    fn restart(&mut self, end: usize) {
        let Some(restart) = self.schedule.restart else { return };
        if self.is_done() {
            return;
        }
        let mut schedule = self.schedule.clone();
        schedule.seed = !schedule.seed;
        schedule.ends.iter_mut().for_each(|end| end.objects.clear());
        self.ends[end].end("restarted".to_owned());
        self.verified += self.ends[end].verified().1;
        self.ends[end] = End::new(&schedule, end);
        self.restarted = Some(end);
        let told = self.paths[end].stream_arrival(self.now).max(self.last_control[end]);
        let at = if restart.is_told { told } else { self.now + GONE_AFTER };
        self.push(at, Event::Bereaved { end: 1 - end });
    }

    fn lie(&mut self, end: usize) -> Result<(), String> {
        if self.ends[end].closed.is_none() {
            let mut out = Output::default();
            hostile::lie(&mut self.rng, &mut self.ends[end], &mut out)?;
            self.dispatch(end, out);
        }
        Ok(())
    }

    /// Holds the end of a run to what was promised of it.
    fn check(&self) -> Result<Summary, String> {
        let seconds = self.now as f64 * 1e-9;
        for (side, end) in self.ends.iter().enumerate() {
            if self.schedule.kind != Kind::Hostile && !end.is_done() {
                let [one, other] = [0, 1].map(|side: usize| self.ends[side].undone());
                return Err(format!("end {side} is not done after {seconds:.3} s: {one}; {other}"));
            }
            if self.schedule.kind == Kind::Plain {
                self.check_repair(side)?;
                self.check_marks(side)?;
            }
            if self.restarted == Some(1 - side) && end.closed.is_none() {
                return Err(format!("end {side} goes on, though the other's program was restarted"));
            }
        }
        let outcomes = || self.ends.iter().flat_map(|end| end.outcomes().iter().flatten());
        let done = outcomes().filter(|outcome| matches!(outcome, Outcome::Done(_))).count();
        if outcomes().any(|outcome| matches!(outcome, Outcome::Failed(why) if why.is_empty())) {
            return Err("an object failed without a word".to_owned());
        }
        Ok(Summary {
            objects: (done, outcomes().count() - done),
            verified: self.verified + self.ends.iter().map(|end| end.verified().1).sum::<u64>(),
            datagrams: self.datagrams,
            ended: self.now,
            marked: self.paths.iter().map(|path| path.counts().marked).sum(),
            rekeys: self.ends.iter().flat_map(|end| &end.lanes).map(Lane::rekeys).sum(),
            restarted: self.restarted.is_some(),
            refused: self.ends.iter().map(|end| end.refused).sum(),
            slow: self.schedule.kind != Kind::Hostile && self.now > self.schedule.brisk,
        })
    }

    /// On a path that keeps order, only what was lost is sent again.
    fn check_repair(&self, side: usize) -> Result<(), String> {
        let lanes = || self.ends[side].lanes.iter();
        let sent: u64 = lanes().map(|lane| lane.payload_sent).sum();
        let arrived: u64 = self.ends[1 - side].lanes.iter().map(|lane| lane.payload_accepted).sum();
        let resent: u64 = lanes().map(|lane| lane.sender.counts().resent_bytes).sum();
        let lost = sent - arrived;
        if resent as f64 > 1.1 * lost as f64 {
            return Err(format!("end {side} sent {resent} bytes again for {lost} that were lost"));
        }
        Ok(())
    }

    /// A marked datagram has arrived: on a path that drops nothing, nothing is reported lost.
    fn check_marks(&self, side: usize) -> Result<(), String> {
        let path = &self.paths[side];
        let (plan, counts) = (path.plan(), path.counts());
        let lost: u64 = self.ends[side].lanes.iter().map(|lane| lane.sender.counts().lost).sum();
        let drops = plan.loss > 0.0 || plan.bursts.is_some() || counts.overflowed > 0;
        if counts.marked > 0 && !drops && lost > 0 {
            return Err(format!("end {side} took {lost} datagrams for lost, of which {} were marked", counts.marked));
        }
        Ok(())
    }

    fn print(&self, end: usize, event: &Event) {
        let at = self.now as f64 * 1e-9;
        match event {
            Event::Datagram { lane, bytes, genuine, .. } => {
                println!("{at:.6} end {end} lane {lane} gets {} bytes, genuine: {genuine}", bytes.len());
            }
            Event::Control { bytes, .. } => println!("{at:.6} end {end} reads {}", String::from_utf8_lossy(bytes)),
            _ => {}
        }
    }
}
