//! The sending side of a measurement.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use visapult_ripp::outbox::Mode;

use super::content::{PATTERN, Patterned, pattern};
use super::report::Report;
use super::{Account, Amount, FLOW, NOTES, cpu, ended, give_note, take_note};
use crate::session::{Flow, Outgoing, Rate, Session, SessionError, Statistics};

/// Time of the rate that is on offer ahead of what has arrived, beside two round trips.
const AHEAD: f64 = 0.25;
const LEAST_OBJECT: usize = 64 << 10;
/// Bytes on offer at most: what the receiving side holds in memory.
const MOST_AHEAD: u64 = 256 << 20;
const POLL: Duration = Duration::from_millis(5);

/// What is told while it runs.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Since the first byte.
    pub elapsed: Duration,
    /// Bytes known to have arrived.
    pub arrived: u64,
    /// The session's counts.
    pub statistics: Statistics,
}

/// Sends as much as `amount` says and returns what came of it. `stop` ends it early.
///
/// # Errors
/// If the session ends before that.
pub fn send(
    session: &Session,
    amount: Amount,
    mode: Mode,
    rate: Rate,
    stop: &AtomicBool,
    mut progress: impl FnMut(&Progress),
) -> Result<Report, SessionError> {
    let flow = session.open_flow(FLOW, mode, 1)?;
    let pattern = pattern();
    let cpu = cpu::seconds();
    let began = Instant::now();
    let mut under_way: VecDeque<Outgoing> = VecDeque::new();
    let mut offered = 0_u64;
    let mut index = 0;
    let mut told = Instant::now();
    let mut most_ahead = LEAST_OBJECT as u64;
    loop {
        let more = !stop.load(Ordering::Relaxed)
            && match amount {
                Amount::Bytes(bytes) => offered < bytes,
                Amount::Time(time) => began.elapsed() < time,
            };
        while under_way.front().is_some_and(Outgoing::is_over) {
            under_way.pop_front();
        }
        if !more && under_way.is_empty() {
            break;
        }
        if !session.is_alive() {
            return Err(ended(session.why_ended().unwrap_or_default()));
        }
        let statistics = session.statistics();
        most_ahead = most_ahead.max(bytes_ahead(&statistics));
        let length = object_length(most_ahead, amount, offered);
        let ahead = offered - statistics.sent().arrived_bytes.min(offered);
        if more && ahead + length as u64 <= most_ahead.max(2 * length as u64) && under_way.len() < 4096 {
            let source = Patterned { pattern: Arc::clone(&pattern), index, length };
            under_way.push_back(flow.send(&index.to_string(), Arc::new(source))?);
            offered += length as u64;
            index += 1;
            continue;
        }
        if told.elapsed() > Duration::from_millis(500) {
            told = Instant::now();
            progress(&Progress { elapsed: began.elapsed(), arrived: statistics.sent().arrived_bytes, statistics });
        }
        std::thread::sleep(POLL);
    }
    let seconds = began.elapsed();
    let statistics = session.statistics();
    let (notes, account) = settle(session)?;
    let asked = match amount {
        Amount::Time(time) => Some(time),
        Amount::Bytes(_) => None,
    };
    let lanes = session.statistics().lanes.len();
    let cpu_s = cpu::seconds() - cpu;
    let report = Report::new(session, &statistics, &account, seconds, asked, rate, cpu_s, lanes);
    give_note(&notes, "report", &report)?;
    Ok(report)
}

fn bytes_ahead(statistics: &Statistics) -> u64 {
    let ahead = |lane: &crate::session::LaneStatistics| {
        lane.rate_bps as f64 / 8.0 * (AHEAD + 3.0 * lane.rtt.smooth().as_secs_f64())
    };
    (statistics.lanes.iter().map(ahead).sum::<f64>() as u64).clamp(2 * LEAST_OBJECT as u64, MOST_AHEAD)
}

fn object_length(most_ahead: u64, amount: Amount, offered: u64) -> usize {
    let length = (most_ahead as usize / 8).clamp(LEAST_OBJECT, PATTERN).next_multiple_of(LEAST_OBJECT).min(PATTERN);
    match amount {
        Amount::Bytes(bytes) => length.min(usize::try_from(bytes - offered.min(bytes)).unwrap_or(length)),
        Amount::Time(_) => length,
    }
}

/// Tells the receiving side that this was all, and takes its account.
fn settle(session: &Session) -> Result<(Flow, Account), SessionError> {
    let notes = session.open_flow(NOTES, Mode::Reliable, 1)?;
    give_note(&notes, "end", &"end")?;
    Ok((notes, take_note(session, "account of what arrived")?))
}
