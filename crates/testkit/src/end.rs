//! One end of a session, driven as a driver with sockets drives it.

mod incoming;
mod outgoing;

use std::time::Duration;

use fastrand::Rng;
use visapult_ripp::control::Message;
use visapult_ripp::early_data::Held;
use visapult_ripp::inbox::Refusal;
use visapult_ripp::outbox::Outbox;
use visapult_ripp::path_sharing;
use visapult_ripp::receiving::{Hold, Receiving};
use visapult_ripp::record::{End as Side, LaneSecret};
use visapult_ripp::sending::Sending;
use visapult_ripp::time::Time;
use visapult_ripp::wire::{DataHeader, Frame, LEAST_DATAGRAM};

use crate::lane::{Lane, LanePlan};
use crate::schedule::{EndPlan, Kind, Pace, Schedule};
use incoming::Incoming;
pub use outgoing::Outcome;
use outgoing::Outgoing;

/// Bytes of lossy flows that come so much later than the others are lost.
const GRACE: Duration = Duration::from_millis(10);
/// An end that did nothing for so long was stalled or suspended: pings alone wake it more often.
const ASLEEP: Duration = Duration::from_secs(1);

/// What an end gives to the network.
#[derive(Debug, Default)]
pub struct Output {
    /// Datagrams, with their lanes.
    pub datagrams: Vec<(u16, Vec<u8>)>,
    /// Messages of the control channel.
    pub control: Vec<Vec<u8>>,
}

/// How a datagram came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// Nobody has tampered with it.
    pub genuine: bool,
    /// It was marked on the way.
    pub marked: bool,
    /// How long it was in the socket: the end was stalled.
    pub waited: Duration,
}

/// What ends a run or a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The peer broke the protocol: the session ends.
    Session(String),
    /// The code broke a promise: the run has failed.
    Broken(String),
}

impl From<String> for Trouble {
    fn from(what: String) -> Self {
        Self::Broken(what)
    }
}

/// One end of a session.
#[derive(Debug)]
pub struct End {
    /// Its lanes.
    pub lanes: Vec<Lane>,
    /// Why its session has ended, if it has.
    pub closed: Option<String>,
    /// Datagrams that were refused because too many holes would have to be kept in mind.
    pub refused: u64,
    plan: EndPlan,
    sending: Sending,
    receiving: Receiving,
    outgoing: Outgoing,
    incoming: Incoming,
    /// The peer tells the truth: whatever it does is to be right.
    trusts: bool,
    last_turn: Time,
    /// The end was stalled or suspended until then: silence before it says nothing of a lane.
    awake_since: Time,
}

impl End {
    /// End `side` of a schedule's session.
    #[must_use]
    pub fn new(schedule: &Schedule, side: usize) -> Self {
        let plan = schedule.ends[side].clone();
        let now = plan.clock.local(0);
        let lies = schedule.kind == Kind::Hostile;
        let mut sending = Sending::default();
        let outgoing = Outgoing::new(&plan, schedule.seed, side, &mut sending);
        let mut receiving = Receiving::new(plan.limits);
        if schedule.presumes {
            receiving.hold();
            sending.outbox.presume(Held::promise(schedule.ends[1 - side].limits.held, LEAST_DATAGRAM));
        }
        let incoming =
            Incoming::new(Rng::with_seed(schedule.seed ^ 0x5a5a ^ side as u64), schedule.seed, 1 - side, &plan);
        Self {
            lanes: (0..schedule.lanes).map(|lane| new_lane(schedule, side, lane, now)).collect(),
            closed: None,
            refused: 0,
            sending,
            receiving,
            outgoing,
            incoming,
            plan,
            trusts: !lies,
            last_turn: now,
            awake_since: now,
        }
    }

    /// What the end is to do.
    #[must_use]
    pub const fn plan(&self) -> &EndPlan {
        &self.plan
    }

    /// Does everything that is due; returns when to come back, in the world's time.
    ///
    /// # Errors
    /// If a promise is broken.
    pub fn turn(&mut self, world: u64, out: &mut Output) -> Result<u64, Trouble> {
        if self.closed.is_some() {
            return Ok(u64::MAX);
        }
        let now = self.plan.clock.local(world);
        self.outgoing.begin_due(world, now, &mut self.sending);
        self.incoming.accept_due(world, &mut self.receiving)?;
        self.settle_news(world, out)?;
        self.give_up_dead_lanes(now);
        path_sharing::wake(&mut self.lanes.iter_mut().map(|lane| &mut lane.sender).collect::<Vec<_>>(), now);
        let mut next = self.outgoing.next_due(&self.sending).min(self.incoming.next_due());
        let clock = &self.plan.clock;
        for lane in &mut self.lanes {
            let index = lane.index;
            let mut send = |datagram| out.datagrams.push((index, datagram));
            // A lane that was given up goes on asking: it is taken up again when it is heard.
            lane.alive |= !lane.is_silent(now, Time::ZERO);
            let mut nothing = Outbox::default();
            let outbox = if lane.alive { &mut self.sending.outbox } else { &mut nothing };
            let at = lane.turn(now, outbox, &self.outgoing, &mut send)?;
            next = next.min(clock.world(at, world));
            if let Some(at) = lane.report(now, &mut send)? {
                next = next.min(clock.world(at, world));
            }
        }
        self.sending.on_settled();
        if let Some(at) = self.receiving.tick(now, GRACE) {
            next = next.min(clock.world(at, world));
        }
        self.settle_news(world, out)?;
        self.check_memory()?;
        Ok(next.max(world + 1))
    }

    /// Holds what is kept to what may be.
    fn check_memory(&self) -> Result<(), Trouble> {
        let limits = self.receiving.limits();
        let records =
            self.lanes.iter().map(|lane| lane.sender.records()).sum::<usize>() + self.sending.outbox.records();
        let (flow_names, reasons) = self.receiving.texts();
        let kept = [
            ("entries of what is under way or lost", records, self.lanes.len() * limits.lane_records as usize),
            ("runs of bytes of objects", self.receiving.spans(), limits.spans),
            ("objects", self.receiving.live(), limits.objects),
            ("bytes of data without a place", self.receiving.held(), limits.held),
            ("bytes of flows", flow_names, limits.flow_names),
            ("bytes of reasons", reasons, limits.reasons),
        ];
        match kept.into_iter().find(|(_, kept, most)| kept > most) {
            Some((what, kept, most)) => Err(Trouble::Broken(format!("{kept} {what} are kept, where {most} may be"))),
            None => Ok(()),
        }
    }

    /// Takes a datagram off a lane's socket.
    ///
    /// # Errors
    /// If the peer or the code is at fault.
    pub fn on_datagram(
        &mut self,
        world: u64,
        lane: u16,
        datagram: &mut [u8],
        Arrival { genuine, marked, waited }: Arrival,
        out: &mut Output,
    ) -> Result<(), Trouble> {
        let Some(home) = self.lanes.get_mut(usize::from(lane)).filter(|_| self.closed.is_none()) else { return Ok(()) };
        let now = self.plan.clock.local(world);
        let bytes = datagram.len();
        let before = home.receiver.received();
        let due = home.receiver.next_report();
        let Some(opened) = home.receiver.open(datagram) else {
            let same = home.receiver.received() == before && home.receiver.next_report() == due;
            return if same {
                Ok(())
            } else {
                Err(Trouble::Broken("a datagram that was refused changed the lane".into()))
            };
        };
        if !genuine {
            return Err(Trouble::Broken(format!("a forged datagram was opened as packet number {}", opened.number)));
        }
        let number = opened.number;
        home.receiver.note_wait(waited);
        let frame = match Frame::read(opened.frame) {
            Ok(frame) => frame,
            Err(error) if self.trusts => return Err(Trouble::Broken(format!("an honest frame is refused: {error}"))),
            Err(_) => return Ok(()),
        };
        match frame {
            Frame::Data(header, payload) => {
                self.on_data(now, lane, number, (header, payload), (bytes, marked, waited))?
            }
            Frame::Report(report) => {
                home.accept(now, waited, number, bytes, marked, None)?;
                home.on_report(now, &report, &mut self.sending.outbox);
                self.sending.on_settled();
            }
            Frame::Ping(ping) => {
                home.accept(now, waited, number, bytes, marked, None)?;
                let pong = home.answer(&ping, bytes)?;
                out.datagrams.push((lane, pong));
            }
            Frame::Pong(pong) => {
                home.accept(now, waited, number, bytes, marked, None)?;
                home.sender.on_pong(now, &pong);
            }
        }
        Ok(())
    }

    fn on_data(
        &mut self,
        now: Time,
        lane: u16,
        number: u64,
        data: (DataHeader, &[u8]),
        (bytes, marked, waited): (usize, bool, Duration),
    ) -> Result<(), Trouble> {
        let (header, payload) = data;
        match self.incoming.place(&header, payload, &mut self.receiving)? {
            Ok(()) | Err(Refusal::Closed) => {}
            Err(Refusal::Unknown) => match self.receiving.hold_piece(header.object_low, header.offset, payload) {
                Hold::Kept => {}
                Hold::NoRoom => return Ok(()),
                Hold::HasPlace => return Err(Trouble::Broken("a piece has a place that it has not".into())),
            },
            Err(Refusal::TooManyHoles) => {
                self.refused += 1;
                return Ok(());
            }
            Err(Refusal::Beyond) => {
                return Err(Trouble::Session(Refusal::Beyond.to_string()));
            }
        }
        let home = &mut self.lanes[usize::from(lane)];
        home.payload_accepted += payload.len() as u64;
        home.accept(now, waited, number, bytes, marked, Some(header.sent_us))?;
        Ok(())
    }

    /// Takes a message off the control channel.
    ///
    /// # Errors
    /// If the peer or the code is at fault.
    pub fn on_control(&mut self, world: u64, bytes: &[u8], out: &mut Output) -> Result<(), Trouble> {
        if self.closed.is_some() {
            return Ok(());
        }
        let message = Message::from_bytes(bytes).map_err(|error| Trouble::Session(error.to_string()))?;
        if let Message::Bye { why } = message {
            self.end(why);
            return Ok(());
        }
        self.sending.on_message(&message).map_err(|error| Trouble::Session(error.to_string()))?;
        self.receiving.on_message(message).map_err(|error| Trouble::Session(error.to_string()))?;
        self.settle_news(world, out)
    }

    /// The session ends here: what is under way fails with `why`.
    pub fn end(&mut self, why: String) {
        self.outgoing.fail_all(&why);
        self.closed.get_or_insert(why);
    }

    /// The kernel has dropped datagrams of a lane for want of room.
    pub fn on_kernel_drops(&mut self, lane: u16, drops: u64) {
        if let Some(lane) = self.lanes.get_mut(usize::from(lane)) {
            lane.receiver.set_kernel_drops(drops);
        }
    }

    /// Everything offered, and everything ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.closed.is_some()
            || (self.outgoing.has_offered_all() && self.sending.live() == 0 && self.receiving.live() == 0)
    }

    /// What became of each object that this end sent.
    #[must_use]
    pub fn outcomes(&self) -> &[Option<Outcome>] {
        self.outgoing.outcomes()
    }

    /// Whole objects and bytes of objects received and verified.
    #[must_use]
    pub fn verified(&self) -> (usize, u64) {
        self.incoming.verified()
    }

    /// Object bytes written so far, duplicates left out.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.incoming.written()
    }

    /// What stays undone, for a message to a person.
    #[must_use]
    pub fn undone(&self) -> String {
        format!(
            "{} objects being sent {}, {} being received {}, lanes alive {:?} at {:?} bit/s",
            self.sending.live(),
            self.outgoing.describe(&self.sending),
            self.receiving.live(),
            self.incoming.describe(&self.receiving),
            self.lanes.iter().map(|lane| lane.alive).collect::<Vec<_>>(),
            self.lanes.iter().map(|lane| lane.sender.rate_bps()).collect::<Vec<_>>(),
        )
    }

    fn settle_news(&mut self, world: u64, out: &mut Output) -> Result<(), Trouble> {
        loop {
            let received = self.receiving.take_events();
            let sent = self.sending.take_events();
            if received.is_empty() && sent.is_empty() {
                break;
            }
            for event in received {
                self.incoming.on_event(world, event, &mut self.receiving, self.trusts)?;
            }
            for event in sent {
                self.outgoing.on_event(event, &mut self.sending, self.trusts)?;
            }
        }
        let messages = self.sending.take_messages().into_iter().chain(self.receiving.take_messages());
        out.control.extend(messages.map(|message| message.to_bytes()));
        Ok(())
    }

    /// A lane of which nothing is heard while others are is given up.
    fn give_up_dead_lanes(&mut self, now: Time) {
        if now.since(self.last_turn) > ASLEEP {
            self.awake_since = now;
        }
        self.last_turn = now;
        let awake = self.awake_since;
        if self.lanes.iter().all(|lane| !lane.alive || lane.is_silent(now, awake)) {
            return;
        }
        for lane in self.lanes.iter_mut().filter(|lane| lane.alive && lane.is_silent(now, awake)) {
            lane.abandon(now, &mut self.sending.outbox);
        }
    }
}

fn new_lane(schedule: &Schedule, side: usize, index: u16, now: Time) -> Lane {
    let sides = [Side::Dialer, Side::Listener];
    let session = [schedule.seed as u8; 32];
    let secret = |from| LaneSecret::derive(&session, schedule.cipher, index, from);
    let plan = &schedule.ends[side];
    let lanes = u64::from(schedule.lanes);
    let pace = match plan.pace {
        Pace::Fixed(bps) => Pace::Fixed((bps / lanes).max(1)),
        Pace::Auto(bps) => Pace::Auto(bps / lanes),
    };
    let datagrams = (plan.credit.datagrams / lanes).max(1);
    let how = LanePlan {
        epoch_bits: schedule.epoch_bits,
        first_number: schedule.first_number,
        pace,
        most_bps: plan.most_send_bps.map_or(u64::MAX, |most| most / lanes),
        sizes: visapult_ripp::lane_out::Sizes {
            datagram: schedule.datagram.max(LEAST_DATAGRAM as u16),
            headers: crate::path::HEADERS,
            burst: schedule.burst,
        },
        credit: visapult_ripp::lane_in::Credit { datagrams, ..plan.credit },
        limits: plan.limits,
        rtt: Duration::from_nanos(schedule.paths[0].delay + schedule.paths[1].delay),
    };
    Lane::new(index, (secret(sides[side]), secret(sides[1 - side])), &how, now)
}
