//! The controller that finds the rate.
//!
//! It starts from the rate at which a train of datagrams arrived. Then it sends at the rate the path was seen to deliver, and asks for more by small probes that grow while they succeed. A queue that stands is drained, and the rate set to what was
//! delivered meanwhile: that is what the path carries. A queue that does not drain is somebody else's: then the rate is shared, by additive
//! increase and multiplicative decrease. Loss without a queue changes nothing, unless a trial at a lower rate shows that it was ours.

#[cfg(test)]
mod tests;

use std::time::Duration;

use super::route::{Question, Route, Step};
use super::{Cause, Causes, Round};
use crate::lane_out::Sizes;

/// Datagrams of the first round trip.
const FIRST_DATAGRAMS: u64 = 64;
/// Share of the rate at which the first train arrived that is sent at next; trains tell the rate to a factor of two.
const FIRST_SHARE: f64 = 0.7;
/// Gains of probes that follow each other with success.
const PROBES: [f64; 4] = [1.08, 1.25, 1.6, 2.0];
/// The first probe after the beginning: the train may have told too little.
const AFTER_START: usize = 1;
/// Rounds from one probe that failed to the next.
const PROBE_EVERY: u32 = 4;
/// The same where a probe costs loss at once.
const PROBE_POLICED_EVERY: u32 = 30;
/// Loss above which, without a queue, a trial tells whether it is ours.
const TRIAL_LOSS: f64 = 0.03;
/// Loss above this is never taken for random.
const MOST_RANDOM_LOSS: f64 = 0.3;
/// Share of the rate that remains at least of what one round says: a scheduler's pause can make any round look bad.
const MOST_CUT: f64 = 0.6;
/// The same at the beginning, where the rate may have been doubled once too often.
const MOST_CUT_AT_START: f64 = 0.3;
/// Rounds after a start that lost much, until what was sent since is seen.
const SETTLING: u32 = 3;
/// Probes of which nothing is seen, neither arriving nor lost nor waiting, before one counts as failed.
const VOID_PROBES: u32 = 3;
/// Share of datagrams marked congestion-experienced above which a router is taken to have told of a queue.
const MARKED: f64 = 0.01;
/// Share of the rate that remains after a congestion loss on a shared path.
const BACK_OFF: f64 = 0.7;
/// How fast a share grows, per second.
const SHARE_GROWTH: f64 = 0.03;
/// Rounds that a queue stands in spite of draining before the path counts as shared.
const STANDING_ROUNDS: u32 = 4;
/// Share of the way back to a rate that was cut which each round goes while no queue stands, and the least gain of one.
const RETURN: f64 = 0.25;
const LEAST_RETURN: f64 = 1.01;
/// Rounds after one in which the receiver was short, in which it counts as overloaded if it is so again: once is a pause of its scheduler, which costs
/// what its buffer does not hold, and says nothing of the rate.
const AGAIN_WITHIN: u32 = 4;
/// Share of a round in which datagrams waited for the receiver, above which a delay is its own.
const BEHIND: f64 = 0.5;
/// Least rate, where no less is allowed.
const LEAST_BPS: f64 = 64_000.0;
const MOST_BPS: f64 = 400e9;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// On the way to the rate that the train told, or doubling where it told none.
    Start { expected_bps: Option<f64> },
    /// At the rate the path delivers; rounds until the next probe.
    Hold { rounds: u32 },
    /// Probe `index` is being sent.
    Probe { index: usize },
    /// Its datagrams arrive.
    Judge { index: usize },
    /// Less is sent, to see whether the loss was ours: the loss before, and rounds until the answer.
    Trial { loss: f64, rounds: u32 },
    /// Less is sent, to see whether the route has become longer; the path was shared before.
    Ask { question: Question, was_shared: bool },
    /// The path is shared: rounds until a back-off may follow another.
    Share { hold: u32, clear: u32 },
}

/// The controller that finds the rate.
#[derive(Clone, Debug)]
pub struct Auto {
    phase: Phase,
    /// What the path is taken to carry, in bits per second of IP packets.
    path_bps: f64,
    rate_bps: f64,
    most_bps: f64,
    /// Nobody else has a share in the path.
    dedicated: bool,
    /// Loss that does not depend on the rate.
    random_loss: f64,
    queue_before_s: f64,
    standing: u32,
    /// The round before lost much without a queue. One alone may be a scheduler's pause, after which a queue overflowed.
    suspicious: bool,
    /// Rounds that still tell of what was lost at the start, which was sent at another rate.
    settling: u32,
    /// Rounds in which the receiver counts as overloaded if it is short again.
    watched: u32,
    /// Probes in a row that showed nothing.
    void_probes: u32,
    /// What is sent above the rate is lost without a queue.
    policed: bool,
    /// Others were there: what is free may be theirs again.
    was_shared: bool,
    /// The rate before queues cut it: there it returns to unless a queue stands again.
    before_cut_bps: f64,
    /// Bits and seconds of the round before, if a queue stood in it.
    queued_before: Option<(f64, f64)>,
    route: Route,
    causes: Causes,
}

impl Auto {
    /// A controller that begins at `first_bps` and never exceeds `most_bps`.
    #[must_use]
    pub fn new(first_bps: u64, most_bps: Option<u64>) -> Self {
        let most_bps = most_bps.map_or(MOST_BPS, |most| most as f64).clamp(1.0, MOST_BPS);
        let rate_bps = (first_bps as f64).clamp(LEAST_BPS.min(most_bps), most_bps);
        Self {
            phase: Phase::Start { expected_bps: None },
            path_bps: rate_bps,
            rate_bps,
            most_bps,
            dedicated: false,
            random_loss: 0.0,
            queue_before_s: 0.0,
            standing: 0,
            suspicious: false,
            settling: 0,
            watched: 0,
            void_probes: 0,
            policed: false,
            was_shared: false,
            before_cut_bps: 0.0,
            queued_before: None,
            route: Route::default(),
            causes: Causes::default(),
        }
    }

    /// The rate to begin at where `rtt` is all that is known of the path, in bits of IP packets per second.
    #[must_use]
    pub fn first_bps(sizes: Sizes, rtt: Duration) -> u64 {
        sizes.wire(sizes.payload()) * 8 * FIRST_DATAGRAMS * 1_000_000 / (rtt.as_micros() as u64).max(1_000)
    }

    /// The same on a path of one's own: whatever queue stands there is ours, and no share of it is left to others.
    #[must_use]
    pub const fn dedicated(mut self) -> Self {
        self.dedicated = true;
        self
    }

    /// Knows of the path what the controller of another lane does, and may send `bps` of it: what it might before was a part to begin with.
    pub(super) fn learn(&mut self, from: &Self, bps: f64) {
        let own = std::mem::replace(self, from.clone());
        (self.most_bps, self.causes, self.route) = (own.most_bps.max(bps), own.causes, Route::default());
    }

    /// Begins at `first_bps` as if nothing were known of the path.
    pub(super) fn begin_again(&mut self, first_bps: u64) {
        let fresh =
            Self { dedicated: self.dedicated, causes: std::mem::take(&mut self.causes), ..Self::new(first_bps, None) };
        let before = std::mem::replace(self, fresh);
        self.most_bps = before.most_bps;
        self.set_rate(self.rate_bps);
    }

    /// Goes on at this rate, because others send beside it from here on.
    pub(super) fn go_on_at(&mut self, bps: f64) {
        self.path_bps = bps;
        (self.before_cut_bps, self.queued_before) = (0.0, None);
        (self.standing, self.suspicious, self.watched, self.void_probes) = (0, false, 0, 0);
        if !matches!(self.phase, Phase::Share { .. }) {
            self.phase = Phase::Hold { rounds: PROBE_EVERY };
        }
        self.set_rate(bps);
    }

    /// What the path is taken to carry of it.
    pub(super) const fn path_bps(&self) -> f64 {
        self.path_bps
    }

    pub(super) fn set_most(&mut self, most_bps: u64) {
        self.most_bps = (most_bps as f64).clamp(1.0, MOST_BPS);
        self.set_rate(self.rate_bps);
    }

    pub(super) const fn most_bps(&self) -> u64 {
        if self.most_bps < MOST_BPS { self.most_bps as u64 } else { u64::MAX }
    }

    pub(super) fn rate_bps(&self) -> u64 {
        self.rate_bps as u64
    }

    pub(super) fn is_capped(&self) -> bool {
        self.rate_bps >= self.most_bps
    }

    pub(super) const fn causes(&self) -> &Causes {
        &self.causes
    }

    pub(super) const fn is_starting(&self) -> bool {
        matches!(self.phase, Phase::Start { .. })
    }

    pub(super) fn most_under_way(&self, least_rtt_s: f64) -> u64 {
        let round_trips = if self.is_starting() { 3.0 } else { 2.0 };
        // A little more than round trips alone, for receivers that answer late: those within one machine are not waited for as long.
        let late_s = (0.005 + 15.0 * least_rtt_s).min(0.02);
        (self.rate_bps.max(self.path_bps) / 8.0 * (least_rtt_s * round_trips + late_s)) as u64
    }

    pub(super) fn on_train(&mut self, train_bps: f64) {
        if let Phase::Start { expected_bps } = &mut self.phase
            && expected_bps.is_none_or(|before| before < train_bps)
        {
            *expected_bps = Some(train_bps);
            self.set_rate(self.rate_bps.max(train_bps * FIRST_SHARE));
        }
    }

    /// True if the route has become longer.
    pub(super) fn on_round(&mut self, round: &Round) -> bool {
        let threshold = round.queue_threshold_s();
        // A round in which little was sent says nothing of what the path carries.
        let telling = round.sent_bps > 0.7 * round.paced_bps && !round.source_limited;
        let queued = (round.queue_s > threshold || round.marked > MARKED) && telling;
        if !queued && round.kernel_drops == 0 && round.loss < TRIAL_LOSS.max(2.0 * self.random_loss) {
            self.random_loss += 0.1 * (round.loss - self.random_loss);
        }
        let cause = self.cause(round, queued);
        self.causes.count(cause);
        if cause != Cause::Queue {
            self.queued_before = None;
        }
        let is_lossless = self.is_lossless(round);
        let question = self.route.on_round(round, is_lossless);
        let step = if let Phase::Ask { question, .. } = self.phase {
            Some(self.route.next(question, round, is_lossless))
        } else {
            self.respond(round, cause, queued);
            let may_ask = !matches!(self.phase, Phase::Start { .. } | Phase::Trial { .. });
            question.filter(|_| may_ask).map(|question| self.route.next(question, round, is_lossless))
        };
        let is_longer = step.is_some_and(|step| self.ask(step));
        self.suspicious &= cause == Cause::Policer;
        self.watched = self.watched.saturating_sub(1);
        self.settling = self.settling.saturating_sub(1);
        self.queue_before_s = round.last_queue_s;
        is_longer
    }

    fn respond(&mut self, round: &Round, cause: Cause, queued: bool) {
        let threshold = round.queue_threshold_s();
        match (self.phase, cause) {
            (Phase::Start { .. }, _) => self.start(round, queued),
            // It takes what it took before, once it goes on: what is under way is bounded meanwhile.
            (_, Cause::Receiver) if is_stall(round) => self.hold(PROBE_EVERY),
            (_, Cause::Receiver) if std::mem::replace(&mut self.watched, AGAIN_WITHIN + 1) == 0 => {
                self.hold(PROBE_EVERY)
            }
            (_, Cause::Receiver) => self.spare_receiver(round),
            (Phase::Share { hold, clear }, _) => self.share(round, threshold, hold, clear),
            (Phase::Trial { loss, rounds }, _) => self.judge_trial(round, loss, rounds),
            (_, Cause::Policer) if self.settling > 0 => self.hold(2),
            (_, Cause::Policer) if !std::mem::replace(&mut self.suspicious, true) => self.hold(PROBE_EVERY),
            (_, Cause::Policer) => self.try_less(round),
            _ if queued => self.drain(round, threshold),
            (Phase::Judge { index }, Cause::Sender) if round.sent_bps > 1.02 * self.path_bps => {
                self.judge_probe(round, index)
            }
            (Phase::Probe { index } | Phase::Judge { index }, Cause::Source | Cause::Sender) => self.try_again(index),
            (_, Cause::Source | Cause::Sender) => {}
            (Phase::Hold { rounds }, _) => self.wait(round, rounds),
            (Phase::Probe { index }, _) => self.let_probe_arrive(round, index),
            (Phase::Judge { index }, _) => self.judge_probe(round, index),
            (Phase::Ask { .. }, _) => {}
        }
    }

    fn cause(&self, round: &Round, queued: bool) -> Cause {
        let excess = round.loss > TRIAL_LOSS.max(2.0 * self.random_loss + 0.01);
        if round.kernel_drops > 0 || is_stall(round) || (round.behind_s > BEHIND * round.seconds && queued) {
            Cause::Receiver
        } else if matches!(self.phase, Phase::Share { .. }) {
            Cause::Shared
        } else if queued {
            Cause::Queue
        } else if excess && round.delivered_bps < 0.98 * round.paced_bps {
            Cause::Policer
        } else if round.source_limited {
            Cause::Source
        } else if round.sent_bps < 0.85 * round.paced_bps {
            Cause::Sender
        } else if round.loss > 0.0 {
            Cause::RandomLoss
        } else {
            Cause::Rate
        }
    }

    fn start(&mut self, round: &Round, queued: bool) {
        let Phase::Start { expected_bps } = self.phase else { return };
        if queued || round.loss > 0.1 || round.kernel_drops > 0 {
            let least = if round.loss < TRIAL_LOSS { self.rate_bps * MOST_CUT_AT_START } else { round.mean_bps };
            self.path_bps = round.delivered_bps.max(least);
            self.settling = SETTLING;
            self.hold(2);
            self.drain_excess(round, round.queue_threshold_s());
            return;
        }
        if round.source_limited {
            return;
        }
        if round.capped && round.paced_bps >= 0.9 * self.rate_bps {
            // It is looked for no further than is allowed, here or by the program and the receiver.
            self.path_bps = self.rate_bps;
            self.hold(PROBE_EVERY);
            return;
        }
        if round.sent_bps < 0.5 * round.paced_bps {
            return;
        }
        match expected_bps {
            Some(expected) if self.rate_bps < expected.min(self.most_bps) => {
                self.set_rate(expected.min(self.rate_bps * 2.0))
            }
            Some(_) if round.paced_bps >= 0.9 * self.rate_bps => {
                self.path_bps = self.rate_bps;
                self.probe(AFTER_START);
            }
            // What arrived was sent before the last step.
            Some(_) => {}
            None => self.set_rate(self.rate_bps * 2.0),
        }
    }

    fn spare_receiver(&mut self, round: &Round) {
        self.path_bps = (round.delivered_bps * 0.95).clamp(self.path_bps * MOST_CUT, self.path_bps);
        self.hold(self.probe_distance());
    }

    /// A queue stood through the round: the path carries what was delivered, and the queue is drained.
    fn drain(&mut self, round: &Round, threshold: f64) {
        let should_drain = round.seconds * (1.0 - round.paced_bps / self.path_bps).max(0.0);
        let did_drain = self.queue_before_s - round.last_queue_s;
        self.standing = if did_drain < 0.3 * should_drain || should_drain == 0.0 { self.standing + 1 } else { 0 };
        if self.standing >= STANDING_ROUNDS && !self.dedicated {
            self.standing = 0;
            self.path_bps = self.path_bps.min(round.delivered_bps * 1.05);
            self.phase = Phase::Share { hold: 0, clear: 0 };
            self.was_shared = true;
            self.set_rate(self.path_bps);
            return;
        }
        if self.queued_before.is_none() {
            self.before_cut_bps = self.path_bps;
        }
        let carried = self.delivered_while_queued(round) / (1.0 - self.random_loss);
        if carried < 0.98 * round.paced_bps || carried > self.path_bps {
            self.path_bps = carried.max(self.path_bps * MOST_CUT);
        }
        self.hold(self.probe_distance());
        self.drain_excess(round, threshold);
    }

    /// What a pause of the link or of an end keeps from one round comes in the next.
    fn delivered_while_queued(&mut self, round: &Round) -> f64 {
        let (bits, seconds) = (round.delivered_bps * round.seconds, round.seconds);
        let (bits_before, seconds_before) = self.queued_before.replace((bits, seconds)).unwrap_or_default();
        (bits + bits_before) / (seconds + seconds_before)
    }

    /// Sends so much less for a round that half of the threshold remains of the queue.
    fn drain_excess(&mut self, round: &Round, threshold: f64) {
        let excess = (round.last_queue_s - threshold / 2.0).max(0.0);
        let share = 1.0 - excess / (round.seconds + round.last_queue_s).max(1e-3);
        self.set_rate(self.path_bps * share.clamp(0.4, 1.0));
    }

    fn hold(&mut self, rounds: u32) {
        self.phase = Phase::Hold { rounds };
        self.set_rate(self.path_bps);
    }

    fn wait(&mut self, round: &Round, rounds: u32) {
        self.standing = 0;
        if self.path_bps < self.before_cut_bps && self.is_clear(round) {
            let gain = (RETURN * (self.before_cut_bps - self.path_bps)).max((LEAST_RETURN - 1.0) * self.path_bps);
            self.path_bps = (self.path_bps + gain).min(self.before_cut_bps);
        }
        if rounds > 0 {
            self.hold(rounds - 1);
        } else {
            self.probe(0);
        }
    }

    fn probe(&mut self, index: usize) {
        self.phase = Phase::Probe { index };
        self.set_rate(self.path_bps * PROBES[index.min(PROBES.len() - 1)]);
    }

    fn let_probe_arrive(&mut self, round: &Round, index: usize) {
        self.phase = Phase::Judge { index };
        // On a short path what is sent in a round arrives in it: the probe goes on while it is judged.
        let arrives_in_round = round.least_rtt_s < 0.5 * round.seconds;
        self.set_rate(if arrives_in_round { self.rate_bps } else { self.path_bps });
    }

    fn judge_probe(&mut self, round: &Round, index: usize) {
        let carried = round.delivered_bps / (1.0 - self.random_loss);
        let asked_bps = round.paced_bps.min(round.sent_bps);
        let asked = asked_bps / self.path_bps;
        if asked > 1.02 && carried > self.path_bps * (1.0 + (asked - 1.0) * 0.6) {
            self.void_probes = 0;
            // A policer's bucket lets one probe pass, not two.
            self.policed &= index == 0;
            self.path_bps = carried.min(asked_bps);
            self.probe(self.after_success(round, index));
        } else if round.last_queue_s < round.quiet_s() && self.is_clear(round) && self.void_probes < VOID_PROBES {
            // What was sent has to be somewhere.
            self.try_again(index);
        } else {
            // The probe found where the path ends.
            if asked > 1.02 && carried > self.path_bps * 1.01 {
                self.path_bps = carried.min(asked_bps);
            }
            self.hold(self.probe_distance());
        }
    }

    /// The probe that follows one that succeeded. Of what was sent nothing waited where the path carries much more: the next one doubles the rate,
    /// unless it may be others who have just made room.
    fn after_success(&self, round: &Round, index: usize) -> usize {
        let leaps = index == 0 && !self.was_shared && !self.policed && round.last_queue_s < round.quiet_s();
        if leaps { PROBES.len() - 1 } else { (index + 1).max(AFTER_START + 1) }
    }

    /// No more was lost than chance takes.
    fn is_lossless(&self, round: &Round) -> bool {
        round.kernel_drops == 0 && round.marked <= MARKED && round.loss <= 2.0 * self.random_loss + 0.002
    }

    /// No queue stood through the round, and nothing was lost by the rate.
    fn is_clear(&self, round: &Round) -> bool {
        round.loss <= self.random_loss + 0.002 && round.queue_s < round.quiet_s()
    }

    /// The probe showed nothing.
    fn try_again(&mut self, index: usize) {
        self.void_probes += 1;
        if self.void_probes > VOID_PROBES {
            self.void_probes = 0;
            self.hold(self.probe_distance());
        } else {
            self.probe(index);
        }
    }

    fn probe_distance(&self) -> u32 {
        if self.policed { PROBE_POLICED_EVERY } else { PROBE_EVERY }
    }

    fn try_less(&mut self, round: &Round) {
        self.phase = Phase::Trial { loss: round.loss, rounds: 2 };
        let carried = round.delivered_bps.clamp(round.paced_bps * (1.0 - round.loss) * MOST_CUT, round.paced_bps);
        self.set_rate(carried * 0.97);
    }

    fn judge_trial(&mut self, round: &Round, loss: f64, rounds: u32) {
        if rounds > 0 {
            self.phase = Phase::Trial { loss, rounds: rounds - 1 };
        } else if round.loss < loss / 3.0 {
            self.path_bps = round.delivered_bps.max(self.rate_bps);
            self.policed = true;
            self.hold(self.probe_distance());
        } else {
            self.random_loss = round.loss.min(MOST_RANDOM_LOSS);
            self.hold(self.probe_distance());
        }
    }

    /// True if the route is longer.
    fn ask(&mut self, step: Step) -> bool {
        let was_shared = matches!(self.phase, Phase::Share { .. } | Phase::Ask { was_shared: true, .. });
        match step {
            Step::Send(rate_bps, question) => {
                self.phase = Phase::Ask { question, was_shared };
                self.set_rate(rate_bps);
            }
            Step::Answer(false) if was_shared => {
                self.phase = Phase::Share { hold: 0, clear: 0 };
                self.set_rate(self.path_bps);
            }
            Step::Answer(_) => self.hold(self.probe_distance()),
        }
        step == Step::Answer(true)
    }

    fn share(&mut self, round: &Round, threshold: f64, hold: u32, clear: u32) {
        let clear = if round.queue_s < threshold / 2.0 { clear + 1 } else { 0 };
        let congested = (round.loss > 2.0 * self.random_loss + 0.002 && round.last_queue_s > threshold / 2.0)
            || round.marked > MARKED;
        if clear >= 3 {
            self.hold(0);
        } else if congested && hold == 0 {
            self.path_bps = round.delivered_bps.clamp(self.path_bps * MOST_CUT, self.path_bps) * BACK_OFF;
            self.phase = Phase::Share { hold: 3, clear };
        } else {
            self.path_bps *= 1.0 + SHARE_GROWTH * round.seconds;
            self.phase = Phase::Share { hold: hold.saturating_sub(1), clear };
        }
        self.set_rate(self.path_bps);
    }

    fn set_rate(&mut self, bps: f64) {
        let least_bps = LEAST_BPS.min(self.most_bps);
        self.path_bps = self.path_bps.clamp(least_bps, self.most_bps);
        self.rate_bps = bps.clamp(least_bps, self.most_bps);
    }
}

/// The receiver stood still for most of the round, and nothing was lost of it.
fn is_stall(round: &Round) -> bool {
    round.kernel_drops == 0 && round.stalled_s > BEHIND * round.seconds
}
