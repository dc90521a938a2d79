//! What a path carries, and what is wrong with it: short measurements with the listener at its other end, both ways.
//!
//! Each way is measured twice: as fast as it goes, and at a fraction of that, where what is lost is not lost for want of room. What comes from
//! there is measured once more with each datagram handed over by itself.

mod judge;

use std::net::SocketAddr;
use std::time::Duration;

use visapult_ripp_net::perf::{self, Checked, Report};
use visapult_ripp_net::{Identity, LaneSocket, Options, Rate, RippUrl, SessionError, Transport, Trust};

use crate::finding::Findings;

pub use judge::judge_path;

const FAST_TIME: Duration = Duration::from_millis(1_500);
const SLOW_TIME: Duration = Duration::from_millis(1_000);
/// So much faster it is to come with each datagram by itself, time and again, until putting them together is to blame.
const SINGLY_FASTER: f64 = 1.15;
/// The share of what the path carries that leaves it idle.
const SLOW_SHARE: f64 = 0.25;
/// Bytes of headers that the largest datagram is told with.
const HEADERS: u16 = 28;
const SLOW_BPS: std::ops::RangeInclusive<f64> = 1e6..=1e8;

/// A path, as it was measured.
#[derive(Debug)]
pub struct Path {
    /// The other end.
    pub peer: SocketAddr,
    /// To there.
    pub out: Way,
    /// From there; `None` if it did not come to that.
    pub back: Option<Way>,
    /// Bytes of packets that this host believes to arrive, after it has tried.
    pub believed_mtu: Option<usize>,
}

/// One way.
#[derive(Debug)]
pub struct Way {
    /// As fast as it goes.
    pub fast: Report,
    /// At a fraction of that; streams hide what is lost, and are not measured again.
    pub slow: Option<Report>,
    /// As fast as it goes with each datagram handed over by itself, where that was faster each time that it was tried.
    pub singly: Option<Report>,
}

/// Why a path was not measured.
#[derive(Debug)]
pub struct NoPath {
    /// The listener was reached: it is of another kind, or too old.
    pub is_reached: bool,
    /// In the words of the session.
    pub why: String,
}

impl Path {
    /// Measures the path to the listener of `url` for some seconds.
    ///
    /// # Errors
    /// If there is no session, or the listener does not answer checks.
    pub fn measure(url: &RippUrl, trust: &Trust, identity: Option<&Identity>) -> Result<Self, NoPath> {
        let mut known = Options::default();
        let once = |options: &Options, time: Duration, reverse: bool| {
            perf::check(url, trust, identity, options, time, reverse)
        };
        let mut way = |reverse: bool| -> Result<(Way, SocketAddr), SessionError> {
            let Checked { report: fast, peer } = once(&known, FAST_TIME, reverse)?;
            if fast.transport == Transport::Tcp {
                known.transport = Some(Transport::Tcp);
                return Ok((Way { fast, slow: None, singly: None }, peer));
            }
            let bps = (judge::carried(&fast) * SLOW_SHARE).clamp(*SLOW_BPS.start(), *SLOW_BPS.end()) as u64;
            // What is lost to a size that does not pass is no loss of the path.
            let mtu = Some(fast.datagram.saturating_add(HEADERS));
            let slow = match reverse {
                true => Options { most_receive_bps: bps, mtu, ..known.clone() },
                false => Options { rate: Rate::Fixed(bps), mtu, ..known.clone() },
            };
            let slow = Some(once(&slow, SLOW_TIME, reverse)?.report);
            let apart = Options { coalesce: false, ..known.clone() };
            let again = |is_apart| once(if is_apart { &apart } else { &known }, FAST_TIME, reverse);
            // It is asked of the end that receives, which is this one on the way back.
            let singly = if reverse {
                singly_faster(&fast, |is_apart| Ok(again(is_apart)?.report)).unwrap_or(None)
            } else {
                None
            };
            Ok((Way { fast, slow, singly }, peer))
        };
        let (out, peer) = way(false)
            .map_err(|cause| NoPath { is_reached: matches!(cause, SessionError::Ended(_)), why: cause.to_string() })?;
        let back = way(true).ok().map(|(way, _)| way);
        Ok(Self { peer, out, back, believed_mtu: believed_mtu(peer) })
    }

    /// What the path carries the better way, unless something is in the way that keeps it from showing.
    #[must_use]
    pub fn carries_bps(&self) -> Option<u64> {
        let best = self.ways().map(|(_, way)| judge::carried(&way.fast)).fold(0.0, f64::max);
        (self.out.fast.transport == Transport::Udp && best > 0.0).then_some(best as u64)
    }

    /// How many streams data moves over, and their round trip in seconds, where no datagrams come through.
    #[must_use]
    pub fn streams(&self) -> Option<(usize, f64)> {
        let report = &self.out.fast;
        let is_streams = report.transport == Transport::Tcp && report.lanes > 0 && report.rtt_us.min > 0;
        is_streams.then_some((report.lanes, report.rtt_us.min as f64 * 1e-6))
    }

    /// What it carries, in a sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        judge::summary(self)
    }

    /// Figures, one to a line.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        judge::lines(self)
    }

    fn ways(&self) -> impl Iterator<Item = (Direction, &Way)> {
        std::iter::once((Direction::Out, &self.out)).chain(self.back.iter().map(|way| (Direction::Back, way)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Out,
    Back,
}

impl Direction {
    const fn words(self) -> &'static str {
        match self {
            Self::Out => "to there",
            Self::Back => "from there",
        }
    }
}

fn believed_mtu(peer: SocketAddr) -> Option<usize> {
    let any: SocketAddr = if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    LaneSocket::bind(any).and_then(|socket| socket.route_mtu(peer)).ok()
}

/// What comes with each datagram handed over by itself, if that is more than `fast`, and more again when both are tried once more.
fn singly_faster(
    fast: &Report,
    mut measure: impl FnMut(bool) -> Result<Report, SessionError>,
) -> Result<Option<Report>, SessionError> {
    let is_faster = |fast: &Report, singly: &Report| judge::carried(singly) > SINGLY_FASTER * judge::carried(fast);
    let singly = measure(true)?;
    Ok((is_faster(fast, &singly) && is_faster(&measure(false)?, &measure(true)?)).then_some(singly))
}

/// Tells that there was nothing to measure with.
pub fn judge_no_path(no_path: &NoPath, url: &RippUrl, findings: &mut Findings) {
    judge::no_path(no_path, url, findings);
}
