//! What came of a measurement.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use visapult_ripp::control::Transport;
use visapult_ripp::rate::Cause;

use super::{Account, SAMPLE};
use crate::policy::Ruling;
use crate::session::{Rate, Session, Statistics};

/// Share of a rate that counts as all of it.
const REACHED: f64 = 0.95;

/// Least, median and 99th percentile of round-trip times, in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct RttMicros {
    /// Least.
    pub min: u64,
    /// Median.
    pub median: u64,
    /// 99th percentile.
    pub p99: u64,
}

/// What the users of both ends have ruled for the path.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rulings {
    /// Of the sending end.
    pub sender: Option<Ruling>,
    /// Of the receiving end.
    pub receiver: Option<Ruling>,
}

/// What came of a measurement. Bytes are of objects unless the name says otherwise; times are seconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Object bits per second that were placed at the receiver, from the first byte sent on; over the time asked for, or until all was there.
    pub goodput_bps: f64,
    /// Bytes that arrived in all.
    pub bytes: u64,
    /// Every byte that arrived was what was sent.
    pub verified: bool,
    /// What was wrong, if something was.
    pub faults: Vec<String>,
    /// Bytes of IP packets that were sent.
    pub wire_bytes: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams lost on the way.
    pub datagrams_lost: u64,
    /// Bytes in them.
    pub bytes_lost: u64,
    /// Bytes sent again.
    pub bytes_retransmitted: u64,
    /// Round-trip times.
    pub rtt_us: RttMicros,
    /// From the first byte sent until nine tenths of the median rate arrived.
    pub ramp_to_90_s: f64,
    /// From the first offer until all was acknowledged.
    pub seconds: f64,
    /// From the first packet of the handshake to its end.
    pub setup_s: f64,
    /// Processor time of the sending process.
    pub sender_cpu_s: f64,
    /// Processor time of the receiving process.
    pub receiver_cpu_s: f64,
    /// Error of the rate that was kept, where one was asked for, in millionths.
    pub rate_error_ppm: Option<f64>,
    /// The rate that was kept from the first burst to the last, in bits of IP packets per second, all lanes together.
    #[serde(default)]
    pub kept_bps: f64,
    /// What the users of both ends have ruled for the path.
    #[serde(default)]
    pub policy: Rulings,
    /// What limited the rate, in one word.
    pub limited_by: String,
    /// Rounds that each cause limited.
    pub limits: Vec<(String, u64)>,
    /// How data moved.
    pub transport: Transport,
    /// UDP payload of a full datagram.
    pub datagram: u16,
    /// Lanes with a path.
    pub lanes: usize,
    /// When the first byte was placed, within some milliseconds, by the receiving side's clock, in seconds since 1970.
    #[serde(default)]
    pub first_byte_unix_s: Option<f64>,
    /// Bytes placed in each tenth of a second since then.
    pub bytes_per_100_ms: Vec<u64>,
}

impl Report {
    pub(super) fn new(
        session: &Session,
        statistics: &Statistics,
        account: &Account,
        seconds: Duration,
        asked: Option<Duration>,
        sender_cpu_s: f64,
        lanes: usize,
    ) -> Self {
        let sent = statistics.sent();
        let first = statistics.lanes.first();
        let us = |time: Duration| time.as_micros() as u64;
        let rtt = first
            .map(|lane| &lane.rtt)
            .map(|rtt| RttMicros {
                min: us(least_rtt(statistics)),
                median: us(rtt.quantile(0.5)),
                p99: us(rtt.quantile(0.99)),
            })
            .unwrap_or_default();
        let one_way_s = rtt.min as f64 * 0.5e-6;
        let over_s = asked.map_or(arrival_s(account), |asked| asked.as_secs_f64() - one_way_s) + one_way_s;
        let kept: f64 = statistics.lanes.iter().map(|lane| lane.kept_bps).sum();
        let policy = Rulings { sender: session.ruling().cloned(), receiver: account.ruling.clone() };
        let causes = statistics.causes();
        let mut limits: Vec<_> = Cause::ALL.map(|cause| (cause.to_string(), causes.rounds(cause))).into();
        limits.retain(|(_, rounds)| *rounds > 0);
        limits.sort_by_key(|(_, rounds)| std::cmp::Reverse(*rounds));
        Self {
            goodput_bps: goodput_bps(account, over_s, one_way_s),
            bytes: account.bytes,
            verified: account.faults.is_empty(),
            faults: account.faults.clone(),
            wire_bytes: sent.wire_bytes,
            datagrams: sent.datagrams,
            datagrams_lost: sent.lost,
            bytes_lost: sent.lost_bytes,
            bytes_retransmitted: sent.resent_bytes,
            rtt_us: rtt,
            ramp_to_90_s: ramp_s(account) + one_way_s,
            seconds: seconds.as_secs_f64(),
            setup_s: session.setup_time().as_secs_f64(),
            sender_cpu_s,
            receiver_cpu_s: account.cpu_s,
            rate_error_ppm: match session.rate() {
                Rate::Fixed(bps) => Some((kept / bps as f64 - 1.0) * 1e6),
                Rate::Auto { .. } => None,
            },
            kept_bps: kept,
            limited_by: match session.verdict() {
                _ if policy.is_reached(kept, statistics) => "policy".to_owned(),
                Some(verdict) => verdict.to_string(),
                None => "nothing".to_owned(),
            },
            policy,
            limits,
            transport: session.transport(),
            datagram: first.map_or(0, |lane| lane.datagram),
            lanes,
            first_byte_unix_s: account.first_unix_s,
            bytes_per_100_ms: per_100_ms(account),
        }
    }
}

impl Rulings {
    /// The greatest rate that both users allow.
    fn most_bps(&self) -> Option<u64> {
        let send = self.sender.as_ref().and_then(|ruling| ruling.most_send_bps);
        let receive = self.receiver.as_ref().and_then(|ruling| ruling.most_receive_bps);
        [send, receive].into_iter().flatten().min()
    }

    /// What is allowed was sent, or would have been.
    fn is_reached(&self, kept_bps: f64, statistics: &Statistics) -> bool {
        let Some(most_bps) = self.most_bps() else { return false };
        let now_bps: u64 = statistics.lanes.iter().map(|lane| lane.rate_bps).sum();
        kept_bps.max(now_bps as f64) >= REACHED * most_bps as f64
    }
}

/// The least of all lanes or streams: what one of them sends may always have waited.
fn least_rtt(statistics: &Statistics) -> Duration {
    let known = statistics.lanes.iter().map(|lane| lane.rtt.least()).filter(|rtt| !rtt.is_zero());
    known.min().unwrap_or_default()
}

/// Time from the first byte placed to the last.
fn arrival_s(account: &Account) -> f64 {
    let last = account.samples.last().copied().unwrap_or(0);
    account.samples.partition_point(|&bytes| bytes < last) as f64 * SAMPLE.as_secs_f64()
}

/// Bytes placed by `seconds` after the first.
fn placed_by(account: &Account, seconds: f64) -> u64 {
    let at = (seconds / SAMPLE.as_secs_f64()).round() as usize;
    account.samples.get(at).or(account.samples.last()).copied().unwrap_or(0)
}

/// What was placed within `over_s`: that begins `one_way_s` before the first byte, and lasts a sample's time at least, for of less nothing is known.
fn goodput_bps(account: &Account, over_s: f64, one_way_s: f64) -> f64 {
    placed_by(account, over_s - one_way_s) as f64 * 8.0 / over_s.max(SAMPLE.as_secs_f64())
}

fn per_100_ms(account: &Account) -> Vec<u64> {
    let every_tenth: Vec<_> = std::iter::once(0).chain(account.samples.iter().skip(10).step_by(10).copied()).collect();
    every_tenth.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

/// When the rate over 50 ms first reached nine tenths of its median.
fn ramp_s(account: &Account) -> f64 {
    const SPAN: usize = 5;
    let rates: Vec<_> =
        account.samples.windows(SPAN + 1).map(|window| window[SPAN].saturating_sub(window[0])).collect();
    let Some(reached) = ({
        let mut sorted = rates.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied()
    }) else {
        return 0.0;
    };
    let at = rates.iter().position(|&rate| rate as f64 >= 0.9 * reached as f64).unwrap_or(0);
    at as f64 * SAMPLE.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_at_once_came_within_a_sample() {
        let account = |samples: &[u64]| Account { samples: samples.to_vec(), ..Account::default() };
        let goodput = |samples: &[u64]| goodput_bps(&account(samples), arrival_s(&account(samples)) + 2e-5, 2e-5);
        assert_eq!(goodput(&[5_000_000]), 4e9);
        let later = goodput(&[1_000_000, 3_000_000, 5_000_000]);
        assert!((1.99e9..2e9).contains(&later), "{later}");
        assert_eq!(goodput(&[]), 0.0);
    }
}
