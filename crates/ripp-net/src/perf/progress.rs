//! What is told of a measurement while it runs, by either side in the same figures.

use std::time::{Duration, Instant};

use crate::session::Statistics;

const EVERY: Duration = Duration::from_millis(500);

/// What is told while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Since the first offer.
    pub elapsed: Duration,
    /// Bytes that have arrived: as the sending side knows by now, or placed at the receiving one.
    pub arrived: u64,
    /// Bits of IP packets per second: those that are sent, or those that came since this was told last.
    pub rate_bps: f64,
    /// Share of datagrams that were lost.
    pub loss: f64,
    /// The round-trip time at present; none where only the other end knows it.
    pub rtt: Option<Duration>,
    /// Bytes that were sent again, or that came where others after them had come before.
    pub repaired: u64,
}

fn share(lost: u64, arrived: u64) -> f64 {
    lost as f64 / (lost + arrived).max(1) as f64
}

fn rtt(statistics: &Statistics) -> Option<Duration> {
    statistics.lanes.first().map(|lane| lane.rtt.smooth()).filter(|rtt| !rtt.is_zero())
}

/// When to tell next.
#[derive(Debug)]
pub(super) struct Teller {
    began: Instant,
    told: Instant,
    /// Bytes of IP packets that had come by then.
    received_bytes: u64,
}

impl Teller {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { began: now, told: now, received_bytes: 0 }
    }

    pub(super) fn is_due(&self) -> bool {
        self.told.elapsed() > EVERY
    }

    /// As the sending side sees it.
    pub(super) fn sending(&mut self, statistics: &Statistics) -> Progress {
        self.told = Instant::now();
        let sent = statistics.sent();
        Progress {
            elapsed: self.began.elapsed(),
            arrived: sent.arrived_bytes,
            rate_bps: statistics.lanes.iter().map(|lane| lane.rate_bps).sum::<u64>() as f64,
            loss: share(sent.lost, sent.arrived),
            rtt: rtt(statistics),
            repaired: sent.resent_bytes,
        }
    }

    /// As the receiving side sees it, where `placed` bytes are in their places and `late` of these came after others behind them. Lanes bring
    /// bytes out of order as well: no more was repaired than was lost.
    pub(super) fn receiving(&mut self, statistics: &Statistics, placed: u64, late: u64) -> Progress {
        let since = std::mem::replace(&mut self.told, Instant::now()).elapsed();
        let before = std::mem::replace(&mut self.received_bytes, statistics.received_bytes);
        let (came, lost) = (statistics.received_datagrams, statistics.missing_datagrams);
        let lost_bytes = lost as f64 * statistics.received_bytes as f64 / came.max(1) as f64;
        Progress {
            elapsed: self.began.elapsed(),
            arrived: placed,
            rate_bps: (statistics.received_bytes - before) as f64 * 8.0 / since.as_secs_f64().max(1e-9),
            loss: share(lost, came),
            rtt: rtt(statistics),
            repaired: late.min(lost_bytes as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_was_repaired_than_was_lost() {
        let mut teller = Teller::new();
        let mut told = |came, lost, late| {
            let statistics = Statistics {
                received_bytes: 1_000 * came,
                received_datagrams: came,
                missing_datagrams: lost,
                ..Statistics::default()
            };
            let progress = teller.receiving(&statistics, 7, late);
            (progress.loss, progress.repaired, progress.arrived)
        };
        assert_eq!(told(0, 0, 0), (0.0, 0, 7));
        assert_eq!(told(90, 10, 50_000), (0.1, 10_000, 7));
        assert_eq!(told(180, 20, 5_000), (0.1, 5_000, 7));
    }
}
