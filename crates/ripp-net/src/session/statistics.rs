//! What a session has done, in numbers.

use std::time::Duration;

use visapult_ripp::lane_out::{RoundTrip, SentCounts};
use visapult_ripp::rate::{Cause, Causes, Verdict};

use super::shared::Shared;

/// What one lane has sent.
#[derive(Clone, Debug, Default)]
pub struct LaneStatistics {
    /// Counts since the lane began.
    pub sent: SentCounts,
    /// The rate now, in bits of IP packets per second.
    pub rate_bps: u64,
    /// UDP payload of a full datagram; 0 for a stream.
    pub datagram: u16,
    /// Round-trip times.
    pub rtt: RoundTrip,
    /// Queueing delay at present.
    pub queue: Duration,
    /// Rate that was kept from the first burst to the last, in bits of IP packets per second.
    pub kept_bps: f64,
    /// What limited its rounds.
    pub causes: Causes,
}

/// What a session has done.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Lanes that have a path, and streams.
    pub lanes: Vec<LaneStatistics>,
    /// Counts of lanes that were given up.
    pub retired: SentCounts,
    /// Bytes of IP packets that came with data.
    pub received_bytes: u64,
    /// Datagrams that came.
    pub received_datagrams: u64,
    /// Packet numbers below theirs under which nothing came.
    pub missing_datagrams: u64,
    /// Objects being sent.
    pub outgoing: usize,
    /// Objects on offer or being received.
    pub incoming: usize,
}

impl Statistics {
    /// Counts of all lanes, given up or not.
    #[must_use]
    pub fn sent(&self) -> SentCounts {
        self.lanes.iter().fold(self.retired, |sum, lane| sum.plus(&lane.sent))
    }

    /// What limited the rounds of all lanes.
    #[must_use]
    pub fn causes(&self) -> Causes {
        let mut sum = Causes::default();
        self.lanes.iter().for_each(|lane| sum.add(&lane.causes));
        sum
    }
}

pub(super) fn gather(shared: &Shared) -> Statistics {
    let out = shared.out();
    let lanes = out.lanes.iter().flatten().map(|lane| LaneStatistics {
        sent: *lane.counts(),
        rate_bps: lane.rate_bps(),
        datagram: lane.sizes().datagram,
        rtt: lane.rtt().clone(),
        queue: Duration::from_secs_f64(lane.queue_s()),
        kept_bps: lane.span().map_or(0.0, |(time, bytes)| bytes as f64 * 8.0 / time.as_secs_f64().max(1e-9)),
        causes: lane.causes().clone(),
    });
    let streams = out.streams.iter().map(|stream| LaneStatistics {
        sent: *stream.counts(),
        rate_bps: stream.rate_bps(),
        datagram: 0,
        rtt: stream.rtt().clone(),
        queue: Duration::ZERO,
        kept_bps: stream.kept_bps(),
        causes: stream.causes().clone(),
    });
    let lanes = lanes.chain(streams).collect();
    let (outgoing, retired) = (out.sending.live(), out.retired);
    drop(out);
    let received_bytes = shared.received_bytes.load(std::sync::atomic::Ordering::Relaxed);
    let received = shared.links().map(|link| link.arrivals.datagrams());
    let (received_datagrams, missing_datagrams) =
        received.fold((0, 0), |(came, missing), lane| (came + lane.0, missing + lane.1));
    let incoming = shared.incoming().receiving.live();
    Statistics { lanes, retired, received_bytes, received_datagrams, missing_datagrams, outgoing, incoming }
}

/// What limits the lanes, each counted by what has arrived over it; or the streams, where they are used.
pub(super) fn verdict(shared: &Shared) -> Option<Verdict> {
    let out = shared.out();
    let lanes = out.lanes.iter().flatten();
    let found = lanes.filter_map(|lane| Some((lane.evidence().verdict()?, lane.counts().arrived_bytes)));
    let mut votes: Vec<(Verdict, u64)> = Vec::new();
    for (verdict, bytes) in found {
        match votes.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, sum)) => *sum += bytes,
            None => votes.push((verdict, bytes)),
        }
    }
    let of_lanes = votes.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(verdict, _)| verdict);
    let mut causes = Causes::default();
    out.streams.iter().for_each(|stream| causes.add(stream.causes()));
    if out.streams.is_empty() { of_lanes } else { of_streams(&causes) }
}

/// Streams know only whether the connection was full, the rate reached, or nothing there to send.
fn of_streams(causes: &Causes) -> Option<Verdict> {
    let known = [(Cause::Queue, Verdict::Link), (Cause::Rate, Verdict::Rate), (Cause::Source, Verdict::Source)];
    let most = known.into_iter().max_by_key(|(cause, _)| causes.rounds(*cause));
    most.filter(|(cause, _)| causes.rounds(*cause) > 0).map(|(_, verdict)| verdict)
}
