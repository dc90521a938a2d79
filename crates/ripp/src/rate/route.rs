//! Whether a delay that stands is a queue or a longer route.
//!
//! What waits, waits behind all that is under way: with less of ours every queue is shorter, whoever fills it, for others find out about the room a round
//! trip later. A longer route is as long as before. So where the round trip is longer than it was, two rounds alike, less is sent for a round, and less still
//! for another. What the first of them leaves is no queue that our rate alone makes; if the second leaves as much, it is none at all.

use super::Round;

/// How much longer than the least a round trip must be to be asked about, beside twice the delay that is drained as a queue.
const LONGER: f64 = 1.5;
/// What two rounds' least round trips may differ by, to be taken for the same.
const SAME: f64 = 1.0 / 32.0;
const LEAST_SAME_S: f64 = 0.001;
/// Shares of what was sent before that are sent for a round each; in the third what was sent in the second arrives.
const SENT: [f64; 3] = [0.5, 0.125, 1.0];
/// A round that had more than this share of the rate before tells nothing.
const MOST_LESS: f64 = 0.3;
/// Time after a question where a queue stood and still does.
const REST_S: f64 = 10.0;

/// What is known of the route's length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Route {
    /// Least round trip of the round before, if all of its were longer.
    before_s: Option<f64>,
    /// Time until it may be asked about.
    rest_s: f64,
}

/// A question that is being asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Question {
    /// Rate and least round trip before.
    sent_bps: f64,
    rtt_s: f64,
    /// Rounds since.
    rounds: usize,
    /// Least round trip that the first of them left.
    left_s: f64,
}

/// What is to be done about a question after a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// This rate is to be sent at, in bits per second.
    Send(f64, Question),
    /// It is answered: whether the route is longer.
    Answer(bool),
}

impl Route {
    /// Takes note of a round, `is_lossless` unless more of it was lost than chance takes; gives the question that it raises.
    pub(super) fn on_round(&mut self, round: &Round, is_lossless: bool) -> Option<Question> {
        self.rest_s -= round.seconds;
        let is_far = is_longer(round) && is_lossless && !round.source_limited;
        let before_s = std::mem::replace(&mut self.before_s, is_far.then_some(round.rtt_s))?;
        if !is_far || !is_same(before_s, round.rtt_s) || self.rest_s > 0.0 {
            return None;
        }
        Some(Question { sent_bps: round.sent_bps, rtt_s: round.rtt_s, rounds: 0, left_s: 0.0 })
    }

    /// What is to be done first, and after each round while it is asked.
    pub(super) fn next(&mut self, question: Question, round: &Round, is_lossless: bool) -> Step {
        let asked = question.rounds;
        // What arrived was sent in the round before.
        let left_s = if asked == 2 { round.rtt_s } else { question.left_s };
        let next = Question { rounds: asked + 1, left_s, ..question };
        let share = SENT.get(asked);
        share.map_or_else(
            || Step::Answer(self.answer(question, round, is_lossless)),
            |share| Step::Send(share * question.sent_bps, next),
        )
    }

    fn answer(&mut self, question: Question, round: &Round, is_lossless: bool) -> bool {
        let is_less = round.sent_bps < MOST_LESS * question.sent_bps && !round.source_limited;
        let stands = is_longer(round);
        // A queue of ours that is about to be drained may have stood beside.
        let before_s = question.rtt_s - round.queue_threshold_s();
        let stays = is_same(question.left_s, round.rtt_s) && round.rtt_s > before_s - same_s(before_s);
        let is_answered = is_less && is_lossless && stands && stays;
        if stands && !is_answered {
            self.rest_s = REST_S;
        }
        is_answered
    }
}

fn is_longer(round: &Round) -> bool {
    round.rtt_s > LONGER * round.least_rtt_s + 2.0 * round.queue_threshold_s()
}

fn is_same(one_s: f64, other_s: f64) -> bool {
    (one_s - other_s).abs() <= same_s(one_s)
}

fn same_s(rtt_s: f64) -> f64 {
    (rtt_s * SAME).max(LEAST_SAME_S)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const LEAST_S: f64 = 0.04;
    const SENT_BPS: f64 = 3e7;

    /// Rounds of 0.3 s, sent as the answers say, until one is final: `rtt_s` tells their round trips by what of the rate arrived in them. None if nothing was asked.
    fn answer(route: &mut Route, rounds: usize, rtt_s: impl Fn(f64) -> f64, loss: f64) -> Option<bool> {
        let (mut asked, mut share, mut next) = (None, 1.0, 1.0);
        for _ in 0..rounds {
            let round = Round {
                seconds: 0.3,
                least_rtt_s: LEAST_S,
                rtt_s: rtt_s(share),
                sent_bps: share * SENT_BPS,
                loss,
                ..Round::default()
            };
            share = next;
            let question = route.on_round(&round, loss < 0.01);
            match asked.or(question).map(|question| route.next(question, &round, loss < 0.01)) {
                Some(Step::Answer(is_longer)) => return Some(is_longer),
                Some(Step::Send(rate_bps, question)) => (asked, next) = (Some(question), rate_bps / SENT_BPS),
                None => {}
            }
        }
        None
    }

    #[test]
    fn a_delay_that_stays_whatever_is_sent_is_a_longer_route() {
        assert_eq!(answer(&mut Route::default(), 6, |_| 0.3, 0.0), Some(true));
        // A queue of ours beside it is drained.
        assert_eq!(answer(&mut Route::default(), 6, |share| if share < 1.0 { 0.08 } else { 0.083 }, 0.0), Some(true));
    }

    #[test]
    fn a_delay_that_falls_with_what_is_sent_is_a_queue_whoever_fills_the_most_of_it() {
        for part in [1.0, 0.5, 0.1] {
            let rtt_s = |share: f64| LEAST_S + 0.26 * (1.0 - part + part * share);
            assert_eq!(answer(&mut Route::default(), 6, rtt_s, 0.0), Some(false), "{part}");
        }
    }

    #[test]
    fn a_queue_that_stands_is_not_asked_about_for_a_while_and_one_that_is_gone_may_be() {
        let half_ours = |share: f64| LEAST_S + 0.13 + 0.13 * share;
        let mut route = Route::default();
        assert_eq!(answer(&mut route, 6, half_ours, 0.0), Some(false));
        assert_eq!(answer(&mut route, 30, half_ours, 0.0), None);
        assert_eq!(answer(&mut route, 12, half_ours, 0.0), Some(false));
        let mut route = Route::default();
        let all_ours = |share: f64| LEAST_S + 0.26 * (share - 0.125);
        assert_eq!([(); 2].map(|()| answer(&mut route, 6, all_ours, 0.0)), [Some(false); 2]);
    }

    #[test]
    fn nothing_is_asked_where_the_delay_varies_or_more_is_lost_than_by_chance() {
        assert_eq!(answer(&mut Route::default(), 30, |_| 0.3, 0.02), None);
        let before_s = Cell::new(0.3);
        let varies = |_| before_s.replace(0.62 - before_s.get());
        assert_eq!(answer(&mut Route::default(), 30, varies, 0.0), None);
        // Nor what is drained as a queue.
        assert_eq!(answer(&mut Route::default(), 30, |_| 1.1 * LEAST_S + 0.004, 0.0), None);
    }
}
