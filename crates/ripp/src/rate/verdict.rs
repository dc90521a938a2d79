//! One word for what limits a lane: a summary of its latest rounds, where [`super::Cause`] speaks of one.
//!
//! The rules go from what is told outright (the receiver's own counters) to what has to be inferred (whether loss follows the rate), and end with
//! what remains when nothing else is seen. They hold for any rate and round trip: each compares a lane with itself.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Evidence, Round};

/// Fewer rounds say nothing.
const LEAST_ROUNDS: usize = 4;
/// Share of what was lost that went with drops of the receiver's kernel, above which the receiver is what loses.
const DROPPED: f64 = 0.25;
/// Share of the time in which datagrams waited for the receiver; a machine with other work makes up to a tenth.
const BEHIND: f64 = 0.12;
/// Share of the time with nothing to send.
const IDLE: f64 = 0.5;
/// Share of what was to be sent that was not.
const SHORT: f64 = 0.08;
/// Share of the time in which a queue stood, and spread of the rates delivered meanwhile (90th less 10th percentile, of the median). A link's own
/// rate spreads by 0.02.
const STANDING: f64 = 0.1;
const SPREAD: f64 = 0.08;
/// Loss below which none is spoken of.
const LEAST_LOSS: f64 = 0.0002;
/// How much better than a constant an upper bound of the rate must explain the losses (ratio of root mean squares). Bounds reach 0.3, chance 0.9.
const EXPLAINS: f64 = 0.6;
/// Upper bounds that are tried.
const BOUNDS: usize = 16;
/// Delay in seconds that overload must add to count as a queue's, and the least delay of overloaded rounds that is one's that never empties.
const LEAST_QUEUE_S: f64 = 0.000_15;
const LEAST_FULL_S: f64 = 0.000_3;
/// Loss above which a round counts as overload, told by the bound as well.
const OVERLOAD: f64 = 0.01;

/// What limits a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The receiver's host: it stalls, is short of processor time, or its buffer overflows.
    Receiver,
    /// The program has too little to send.
    Source,
    /// The sender's host does not keep its schedule.
    Sender,
    /// Others use the path, too: a queue stands, and our part of its rate varies.
    Shared,
    /// A queue too short to absorb anything: what exceeds the path's rate is lost after hardly any delay.
    ShallowQueue,
    /// What exceeds a rate is lost without delay.
    Policer,
    /// Datagrams are lost whatever the rate; else the path's own rate limits.
    RandomLoss,
    /// The rate asked for, or the most that the receiver takes.
    Rate,
    /// The path's own rate.
    Link,
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Receiver => "receiver",
            Self::Source => "source",
            Self::Sender => "sender",
            Self::Shared => "shared",
            Self::ShallowQueue => "shallow-queue",
            Self::Policer => "policer",
            Self::RandomLoss => "random-loss",
            Self::Rate => "rate",
            Self::Link => "link",
        })
    }
}

impl Evidence {
    /// What limits the lane; `None` before it has been seen for some rounds.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let rounds: Vec<_> = self.rounds().copied().collect();
        (rounds.len() >= LEAST_ROUNDS).then(|| judge(&rounds))
    }
}

fn judge(rounds: &[Round]) -> Verdict {
    let time = sum(rounds, |round| round.seconds).max(1e-9);
    let share_of_time =
        |which: fn(&Round) -> bool| sum(rounds, |round| if which(round) { round.seconds } else { 0.0 }) / time;
    let lost = mean_sent(rounds, |round| round.loss);
    let is_dropped = lost > LEAST_LOSS && lost_with_drops(rounds) > DROPPED * lost;
    if is_dropped || sum(rounds, |round| round.behind_s) > BEHIND * time {
        return Verdict::Receiver;
    }
    if share_of_time(|round| round.source_limited) > IDLE {
        return Verdict::Source;
    }
    if shortfall(rounds) > SHORT {
        return Verdict::Sender;
    }
    if is_shared(rounds, time) {
        return Verdict::Shared;
    }
    let pairs = without_queue(rounds);
    if mean_loss(&pairs) > LEAST_LOSS {
        return bound(&pairs).map_or(Verdict::RandomLoss, |bound_bps| kind_of_bound(&pairs, bound_bps));
    }
    // What is lost at the end of a queue says only that the link is full.
    let overflows = lost > LEAST_LOSS;
    if share_of_time(|round| round.capped) > IDLE && !overflows { Verdict::Rate } else { Verdict::Link }
}

/// Share of datagrams lost in rounds in which the receiver's kernel dropped some, or in the round after: drops are told with the next arrival.
fn lost_with_drops(rounds: &[Round]) -> f64 {
    let with: Vec<_> = (0..rounds.len())
        .filter(|&at| rounds[at].kernel_drops > 0 || (at > 0 && rounds[at - 1].kernel_drops > 0))
        .map(|at| rounds[at])
        .collect();
    sum(&with, |round| round.loss * sent(round)) / sum(rounds, sent).max(1.0)
}

/// Share of what the schedule demanded that was not sent, though there was something to send.
fn shortfall(rounds: &[Round]) -> f64 {
    let busy = |round: &Round, bps: f64| if round.source_limited { 0.0 } else { round.seconds * bps };
    1.0 - sum(rounds, |round| busy(round, round.sent_bps)) / sum(rounds, |round| busy(round, round.paced_bps)).max(1.0)
}

/// While a queue stands, a link of our own delivers its rate; a shared one what others leave.
fn is_shared(rounds: &[Round], time: f64) -> bool {
    let standing = |round: &&Round| round.queue_s > round.queue_threshold_s() / 2.0;
    let queued: Vec<_> = rounds.iter().filter(standing).copied().collect();
    let rate = |share| quantile(&queued, share, |round| round.delivered_bps);
    queued.len() >= LEAST_ROUNDS
        && sum(&queued, |round| round.seconds) > STANDING * time
        && rate(0.9) - rate(0.1) > SPREAD * rate(0.5)
}

/// A round, and the one before: what arrives at its beginning was sent at the rate of that one.
type Pair = (Round, Round);

/// The rounds in which no queue stood that could overflow, each with the one before.
fn without_queue(rounds: &[Round]) -> Vec<Pair> {
    let before = rounds.first().into_iter().chain(rounds);
    let pairs = rounds.iter().zip(before).map(|(round, before)| (*round, *before));
    pairs.filter(|(round, _)| round.mean_queue_s <= round.queue_threshold_s()).collect()
}

fn mean_loss(pairs: &[Pair]) -> f64 {
    mean_square(pairs, |(round, _)| round.loss.sqrt())
}

/// The rate beyond which everything is lost, if that explains the losses better than chance does.
fn bound(pairs: &[Pair]) -> Option<f64> {
    let mean = mean_loss(pairs);
    let by_chance = mean_square(pairs, |(round, _)| round.loss - mean);
    let error = |bound_bps: f64| mean_square(pairs, |pair| unexplained(pair, bound_bps));
    let lossy: Vec<_> = pairs.iter().map(|(round, _)| *round).filter(|round| round.loss > 0.0).collect();
    let bounds = (0..BOUNDS).map(|at| quantile(&lossy, at as f64 / (BOUNDS - 1) as f64, |round| round.delivered_bps));
    let best = bounds.min_by(|&a, &b| error(a).total_cmp(&error(b)))?;
    (error(best) < EXPLAINS * EXPLAINS * by_chance).then_some(best)
}

/// The loss of a round's datagrams on a path that carries `bound_bps` and no more.
fn excess(round: &Round, bound_bps: f64) -> f64 {
    (1.0 - bound_bps / round.sent_bps.max(round.paced_bps).max(1.0)).max(0.0)
}

/// How far a round's loss lies outside of what the bound would cost at its rate and at the rate before.
fn unexplained((round, before): &Pair, bound_bps: f64) -> f64 {
    let (a, b) = (excess(round, bound_bps), excess(before, bound_bps));
    round.loss - round.loss.clamp(a.min(b), a.max(b))
}

/// What lies behind a bound, by the delay that exceeding it adds, or by one that is there all the time: at the path's own rate a queue that is full stays so.
fn kind_of_bound(pairs: &[Pair], bound_bps: f64) -> Verdict {
    let is_over = |round: &Round| excess(round, bound_bps) > OVERLOAD;
    let over: Vec<_> =
        pairs.iter().filter(|(round, before)| round.loss > OVERLOAD && (is_over(round) || is_over(before))).collect();
    let over: Vec<_> = over.into_iter().map(|(round, _)| *round).collect();
    let all: Vec<_> = pairs.iter().map(|(round, _)| *round).collect();
    let added = quantile(&over, 0.75, |round| round.mean_queue_s) - quantile(&all, 0.1, |round| round.mean_queue_s);
    let is_full = quantile(&over, 0.5, |round| round.queue_s) > LEAST_FULL_S;
    if added > LEAST_QUEUE_S || is_full { Verdict::ShallowQueue } else { Verdict::Policer }
}

/// Mean of a squared value over what was sent.
fn mean_square(pairs: &[Pair], value: impl Fn(&Pair) -> f64) -> f64 {
    let all: f64 = pairs.iter().map(|(round, _)| sent(round)).sum();
    pairs.iter().map(|pair| value(pair).powi(2) * sent(&pair.0)).sum::<f64>() / all.max(1.0)
}

fn sent(round: &Round) -> f64 {
    round.seconds * round.sent_bps
}

fn sum(rounds: &[Round], value: impl Fn(&Round) -> f64) -> f64 {
    rounds.iter().map(value).sum()
}

/// Mean over what was sent.
fn mean_sent(rounds: &[Round], value: impl Fn(&Round) -> f64) -> f64 {
    sum(rounds, |round| value(round) * sent(round)) / sum(rounds, sent).max(1.0)
}

/// The quantile `share` of a value; 0 of none.
fn quantile(rounds: &[Round], share: f64, value: impl Fn(&Round) -> f64) -> f64 {
    let mut values: Vec<_> = rounds.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values.get((values.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH_BPS: f64 = 100e6;

    /// A round at `paced` of the path's rate, all of which arrives.
    fn round(paced: f64) -> Round {
        let bps = paced * PATH_BPS;
        Round {
            seconds: 0.02,
            least_rtt_s: 0.02,
            paced_bps: bps,
            sent_bps: bps,
            delivered_bps: bps,
            ..Round::default()
        }
    }

    /// What is above the path's rate is lost after a delay of `queue_s`, and `chance` of the rest.
    fn bounded(paced: f64, queue_s: f64, chance: f64) -> Round {
        let over = paced > 1.0;
        let loss = (1.0 - 1.0 / paced).max(chance);
        let queue_s = if over { queue_s } else { 0.0 };
        let delivered_bps = paced * PATH_BPS * (1.0 - loss);
        Round { loss, delivered_bps, queue_s, mean_queue_s: queue_s + 0.000_1, ..round(paced) }
    }

    /// Rounds at the path's rate, every eighth a probe above it.
    fn verdict_of(each: impl Fn(usize, f64) -> Round) -> Option<Verdict> {
        let mut evidence = Evidence::default();
        (0..80).for_each(|at| evidence.note(each(at, if at.is_multiple_of(8) { 1.08 } else { 0.99 })));
        evidence.verdict()
    }

    #[test]
    fn few_rounds_say_nothing() {
        let mut evidence = Evidence::default();
        evidence.note(round(1.0));
        assert_eq!(evidence.verdict(), None);
    }

    #[test]
    fn a_path_on_which_nothing_happens_is_limited_by_itself() {
        assert_eq!(verdict_of(|_, _| round(1.0)), Some(Verdict::Link));
    }

    #[test]
    fn a_rate_that_was_asked_for_and_kept_is_what_limits() {
        assert_eq!(verdict_of(|_, _| Round { capped: true, ..round(1.0) }), Some(Verdict::Rate));
    }

    #[test]
    fn loss_above_a_rate_is_a_policers_without_delay_and_a_queues_with_it() {
        assert_eq!(verdict_of(|_, paced| bounded(paced, 0.0, 0.0)), Some(Verdict::Policer));
        assert_eq!(verdict_of(|_, paced| bounded(paced, 0.001, 0.0)), Some(Verdict::ShallowQueue));
        assert_eq!(verdict_of(|_, paced| bounded(paced, 0.02, 0.0)), Some(Verdict::Link));
    }

    #[test]
    fn a_short_queue_that_stays_full_is_no_policer() {
        let full = |_, paced| Round { queue_s: 0.000_9, mean_queue_s: 0.001, ..bounded(paced, 0.0, 0.0) };
        assert_eq!(verdict_of(full), Some(Verdict::ShallowQueue));
        let late = |_, paced| Round { queue_s: 0.000_1, mean_queue_s: 0.001, ..bounded(paced, 0.0, 0.0) };
        assert_eq!(verdict_of(late), Some(Verdict::Policer));
    }

    #[test]
    fn loss_at_every_rate_is_random() {
        let lossy = |at: usize, paced: f64| Round {
            loss: if at.is_multiple_of(2) { 0.002 } else { 0.0 },
            ..round(paced.min(1.0))
        };
        assert_eq!(verdict_of(lossy), Some(Verdict::RandomLoss));
    }

    #[test]
    fn a_policer_is_seen_in_spite_of_random_loss() {
        assert_eq!(verdict_of(|_, paced| bounded(paced, 0.0, 0.01)), Some(Verdict::Policer));
    }

    #[test]
    fn a_standing_queue_is_ours_if_the_rate_is_steady_and_shared_if_not() {
        let queued = |delivered: f64| Round { queue_s: 0.01, delivered_bps: delivered * PATH_BPS, ..round(1.0) };
        assert_eq!(verdict_of(|at, _| queued(1.0 - 0.001 * (at % 5) as f64)), Some(Verdict::Link));
        assert_eq!(verdict_of(|at, _| queued(1.0 - 0.005 * at as f64)), Some(Verdict::Shared));
    }

    #[test]
    fn a_receiver_is_known_by_its_drops_and_by_what_waits_for_it() {
        let dropping = |at: usize, _| Round {
            kernel_drops: u32::from(at.is_multiple_of(8)),
            loss: if at % 8 < 2 { 0.05 } else { 0.0 },
            ..round(1.0)
        };
        assert_eq!(verdict_of(dropping), Some(Verdict::Receiver));
        let waiting = |at: usize, _| Round { behind_s: if at.is_multiple_of(5) { 0.019 } else { 0.0 }, ..round(1.0) };
        assert_eq!(verdict_of(waiting), Some(Verdict::Receiver));
    }

    #[test]
    fn one_drop_among_many_losses_does_not_blame_the_receiver() {
        let lossy = |at: usize, _| Round { kernel_drops: u32::from(at == 40), loss: 0.01, ..round(1.0) };
        assert_eq!(verdict_of(lossy), Some(Verdict::RandomLoss));
    }

    #[test]
    fn a_sender_behind_its_schedule_is_told_from_one_without_work() {
        let late = |at: usize, _| Round { sent_bps: if at.is_multiple_of(4) { 0.5e8 } else { 1e8 }, ..round(1.0) };
        assert_eq!(verdict_of(late), Some(Verdict::Sender));
        let idle = |_, _| Round { sent_bps: 0.5e8, source_limited: true, ..round(1.0) };
        assert_eq!(verdict_of(idle), Some(Verdict::Source));
    }
}
