//! The sending side of a measurement.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use visapult_ripp::outbox::Mode;

use super::content::{PATTERN, Patterned, pattern};
use super::notes;
use super::progress::{Progress, Teller};
use super::report::Report;
use super::watch::{Offers, Patience, watched};
use super::{Account, Amount, FLOW, LAST_PATIENCE, NOT_NEEDED, STOP_PATIENCE, cpu, ended};
use crate::session::{LaneStatistics, Outgoing, Rate, Session, SessionError, Statistics};
use crate::text::printable;

/// Time of the rate, in seconds, that is on offer ahead of what has arrived, beside three round trips: objects that lose something end late.
const AHEAD: f64 = 0.25;
/// The same of fast paths, beyond so many bytes: more would only pass through memory that no cache holds.
const FAST_AHEAD: f64 = 0.01;
const CACHED: f64 = (8 << 20) as f64;
/// A round trip beyond twice the least is what waits for a processor or in a queue: but for so much, nothing is gained by offers that wait there, too.
const WAITING: Duration = Duration::from_millis(1);
/// Where lost bytes stay lost, nothing but offers and their answers could hold up the rest: the control connection, which loses packets as the path does, may stand
/// still for so long (TCP's pauses double), in seconds of the rate and bytes at most.
const LOSSY_AHEAD: f64 = 3.0;
const MOST_LOSSY_AHEAD: f64 = (32 << 20) as f64;
/// What has arrived and is not verified yet may be as much again: more would fill memory that no cache holds while the processor is short.
const VERIFYING: u64 = 2;
/// Bytes on offer, and in an object, before it is known how fast and how long the path is: what follows is accepted a round trip after that is known.
const FIRST_AHEAD: u64 = 64 << 20;
/// The same of a fixed rate, in seconds of it: what leaves along with the hello over 300 ms needs two round trips until offers that are made by what is known then are
/// accepted.
const FIRST_AHEAD_S: f64 = 0.8;
const FIRST_OBJECT: u64 = 8 << 10;
const LEAST_OBJECT: usize = 64 << 10;
/// An object that has begun is finished when the time is up: it takes no more than this, in seconds of the rate, and is no smaller than that.
const MOST_OBJECT_S: f64 = 0.25;
const LEAST_OBJECT_OF_SLOW: usize = 1 << 10;
/// And of those that have begun, the first that take no longer than this together: where a slow path lost much at the start, many have.
const LAST_S: f64 = 1.0;
/// Bytes on offer at most: what the receiving side holds in memory.
const MOST_AHEAD: u64 = 256 << 20;
const POLL: Duration = Duration::from_millis(5);

/// Sends as much as `amount` says and returns what came of it. `stop` ends it early: what is under way still arrives, if it does so soon.
///
/// # Errors
/// If the session ends before that.
pub fn send(
    session: &Session,
    amount: Amount,
    mode: Mode,
    stop: &AtomicBool,
    progress: impl FnMut(&Progress),
) -> Result<Report, SessionError> {
    send_within(session, amount, mode, stop, Patience::once_stopped(STOP_PATIENCE), progress)
}

pub(super) fn send_within(
    session: &Session,
    amount: Amount,
    mode: Mode,
    stop: &AtomicBool,
    patience: Patience,
    progress: impl FnMut(&Progress),
) -> Result<Report, SessionError> {
    watched(session, stop, patience, |offers| send_until(session, amount, mode, stop, offers, progress))
}

fn send_until(
    session: &Session,
    amount: Amount,
    mode: Mode,
    stop: &AtomicBool,
    offers: &Offers,
    mut progress: impl FnMut(&Progress),
) -> Result<Report, SessionError> {
    let flow = session.open_flow(FLOW, mode, 1)?;
    let pattern = pattern();
    let cpu = cpu::seconds();
    let began = Instant::now();
    let mut under_way: VecDeque<(Outgoing, u64)> = VecDeque::new();
    let mut offered = 0_u64;
    let mut index = 0;
    let mut teller = Teller::new();
    let first_ahead = first_ahead(session.rate());
    let mut most_ahead = 0;
    let mut curtailed = false;
    let mut stopped_after = None;
    loop {
        let stopping = stop.load(Ordering::Relaxed);
        if stopping {
            stopped_after.get_or_insert_with(|| began.elapsed());
        }
        let more = !stopping
            && match amount {
                Amount::Bytes(bytes) => offered < bytes,
                Amount::Time(time) => began.elapsed() < time,
            };
        let curtails = !more && (stopping || matches!(amount, Amount::Time(_)));
        if curtails && !std::mem::replace(&mut curtailed, true) {
            take_back_what_would_take_long(&under_way, rate_bps(&session.statistics()));
        }
        while under_way.front().is_some_and(|(first, _)| first.is_over()) {
            under_way.pop_front();
        }
        if !more && under_way.is_empty() {
            break;
        }
        if !session.is_alive() {
            return Err(ended(session.why_ended().unwrap_or_default()));
        }
        let statistics = session.statistics();
        if is_known(&statistics) {
            most_ahead = bytes_ahead(&statistics).max(most_ahead);
        }
        let most_ahead = if most_ahead == 0 { first_ahead } else { most_ahead };
        let length = object_length(session.rate(), &statistics, most_ahead, amount, offered);
        let pending: u64 = under_way.iter().map(|(_, length)| length).sum();
        let room = most_ahead.max(lossy_ahead(mode, &statistics)).max(2 * length as u64) - length as u64;
        if more && flow.expected() <= room && pending <= VERIFYING * room && under_way.len() < 4096 {
            let source = Patterned { pattern: Arc::clone(&pattern), index, length };
            under_way.push_back((flow.send(&index.to_string(), Arc::new(source))?, length as u64));
            offers.count();
            offered += length as u64;
            index += 1;
            continue;
        }
        if teller.is_due() {
            progress(&teller.sending(&statistics));
        }
        std::thread::sleep(POLL);
    }
    let seconds = began.elapsed();
    let statistics = session.statistics();
    let account = settle(session)?;
    let asked = match amount {
        Amount::Time(time) => Some(stopped_after.map_or(time, |after| time.min(after))),
        Amount::Bytes(_) => None,
    };
    let lanes = session.statistics().lanes.len();
    let cpu_s = cpu::seconds() - cpu;
    let report = Report::new(session, &statistics, &account, seconds, asked, cpu_s, lanes);
    notes::give(session, "report", &report)?.wait().map_err(ended)?;
    Ok(report)
}

/// Offers take a round trip to be accepted: enough for the beginning is on offer before anything is known of the path.
fn first_ahead(rate: Rate) -> u64 {
    match rate {
        Rate::Fixed(bps) => ((FIRST_AHEAD_S * bps as f64 / 8.0) as u64).clamp(2 * LEAST_OBJECT as u64, MOST_AHEAD),
        Rate::Auto { .. } => FIRST_AHEAD,
    }
}

/// When the time is up or the user stops it, what has not begun is not waited for, nor what would take long. The receiving side knows this reason.
fn take_back_what_would_take_long(under_way: &VecDeque<(Outgoing, u64)>, rate_bps: u64) {
    let most = (LAST_S * rate_bps as f64 / 8.0) as u64;
    let mut left = 0;
    for (object, length) in under_way.iter().filter(|(object, _)| !object.is_over()) {
        let arrived = object.arrived();
        left += length - arrived.min(*length);
        if arrived == 0 || (rate_bps > 0 && left > most) {
            object.cancel_because(NOT_NEEDED);
        }
    }
}

fn rate_bps(statistics: &Statistics) -> u64 {
    statistics.lanes.iter().map(|lane| lane.rate_bps).sum()
}

/// Something has arrived, and the time and rate of that are known.
fn is_known(statistics: &Statistics) -> bool {
    statistics.lanes.iter().any(|lane| lane.sent.arrived > 0 && lane.rate_bps > 0)
}

fn bytes_ahead(statistics: &Statistics) -> u64 {
    let ahead = |lane: &LaneStatistics| {
        let bytes_per_s = lane.rate_bps as f64 / 8.0;
        let round_trip = lane.rtt.smooth().min(2 * lane.rtt.least() + WAITING);
        ahead_of_arrival(bytes_per_s) + bytes_per_s * 3.0 * round_trip.as_secs_f64()
    };
    (statistics.lanes.iter().map(ahead).sum::<f64>() as u64).clamp(2 * LEAST_OBJECT as u64, MOST_AHEAD)
}

/// Bytes on offer beside those of round trips.
fn ahead_of_arrival(bytes_per_s: f64) -> f64 {
    (AHEAD * bytes_per_s).min(CACHED).max(FAST_AHEAD * bytes_per_s)
}

/// Bytes on offer, where what is lost is lost.
fn lossy_ahead(mode: Mode, statistics: &Statistics) -> u64 {
    let bytes_per_s = statistics.lanes.iter().map(|lane| lane.rate_bps as f64 / 8.0).sum::<f64>();
    if mode == Mode::Lossy { (LOSSY_AHEAD * bytes_per_s).min(MOST_LOSSY_AHEAD) as u64 } else { 0 }
}

fn object_length(rate: Rate, statistics: &Statistics, most_ahead: u64, amount: Amount, offered: u64) -> usize {
    let wanted = (most_ahead / 8) as usize;
    let length = wanted.clamp(LEAST_OBJECT, PATTERN).next_multiple_of(LEAST_OBJECT);
    let length = length.min(most_of_rate(rate, statistics, offered));
    match amount {
        Amount::Bytes(bytes) => length.min(usize::try_from(bytes - offered.min(bytes)).unwrap_or(length)),
        Amount::Time(_) => length,
    }
}

/// The first offers of a rate that is not known are few enough for the first packets of the control connection, and small enough for a slow path.
fn most_of_rate(rate: Rate, statistics: &Statistics, offered: u64) -> usize {
    let bps = match rate {
        Rate::Fixed(bps) => bps,
        Rate::Auto { .. } if is_known(statistics) => rate_bps(statistics),
        Rate::Auto { .. } => return FIRST_OBJECT.max(offered / 2) as usize,
    };
    ((MOST_OBJECT_S * bps as f64 / 8.0) as usize).clamp(LEAST_OBJECT_OF_SLOW, PATTERN)
}

/// Tells the receiving side that this was all, and takes its account.
fn settle(session: &Session) -> Result<Account, SessionError> {
    let end = notes::give(session, "end", &"end")?;
    let account: Option<Account> = notes::take(session, Instant::now() + LAST_PATIENCE)?;
    end.wait().map_err(ended)?;
    let mut account = account.ok_or_else(|| {
        let why = "the receiving side gave no account of what arrived";
        session.end_because(why);
        ended(why)
    })?;
    account.faults.iter_mut().for_each(|fault| *fault = printable(fault));
    Ok(account)
}

#[cfg(test)]
mod tests {
    use visapult_ripp::lane_out::{RoundTrip, SentCounts};
    use visapult_ripp::time::Time;

    use super::*;

    /// What is on offer over one lane of `rate_bps` whose round trip was `least` once, and is `present`.
    fn ahead(rate_bps: u64, least: Duration, present: Duration) -> u64 {
        let mut rtt = RoundTrip::default();
        rtt.note(Time::default(), least);
        (0..100).for_each(|_| rtt.note(Time::default(), present));
        bytes_ahead(&Statistics {
            lanes: vec![LaneStatistics { rate_bps, rtt, ..Default::default() }],
            ..Default::default()
        })
    }

    #[test]
    fn nothing_is_offered_for_packets_that_wait_for_a_processor() {
        let [least, waiting] = [30, 30_000].map(Duration::from_micros);
        let loopback = ahead(30_000_000_000, least, waiting);
        assert!(loopback < 52 << 20, "{loopback}");
        let long = ahead(1_000_000_000, Duration::from_millis(80), Duration::from_millis(90));
        assert!(long > 3 * 125_000 * 90, "{long}");
    }

    #[test]
    fn an_object_takes_a_quarter_of_a_second_at_most_of_any_rate_that_is_known() {
        let second = Amount::Time(Duration::from_secs(1));
        let auto = Rate::Auto { most_bps: None };
        let found = |rate_bps, arrived| {
            let sent = SentCounts { arrived, ..Default::default() };
            let lanes = vec![LaneStatistics { rate_bps, sent, ..Default::default() }; 2];
            object_length(auto, &Statistics { lanes, ..Default::default() }, FIRST_AHEAD, second, 1 << 20)
        };
        assert_eq!([found(50_000, 1), found(1_000_000_000, 1)], [3_125, PATTERN]);
        assert_eq!(found(50_000, 0), 1 << 19);
        let length = |rate| object_length(rate, &Statistics::default(), first_ahead(rate), second, 0);
        assert_eq!(length(Rate::Fixed(100_000)), 3_125);
        assert_eq!(length(Rate::Fixed(1_000)), LEAST_OBJECT_OF_SLOW);
        assert_eq!(length(Rate::Fixed(10_000_000)), 2 * LEAST_OBJECT);
        assert_eq!(length(Rate::Fixed(1_000_000_000)), PATTERN);
    }
}
