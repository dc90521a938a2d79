//! Which part each lane has of a rate that bounds all of them: an equal one, but what is of no use to a lane the others have. A lane may be gone, or its path may
//! carry less than others do.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use visapult_ripp::division::{demand, divide};
use visapult_ripp::lane_out::LaneOut;

use super::shared::{Out, Shared};

/// Of an equal part, what a lane is left that makes no use of it: with that it may begin.
const LEAST_PART: f64 = 1.0 / 16.0;

/// Divides anew what lanes may send and receive; `since` they were last divided.
pub(super) fn divide_rates(shared: &Shared, since: Duration) {
    if shared.links().nth(1).is_none() {
        return;
    }
    divide_sending(&mut shared.out());
    shared.wake_senders();
    let arrivals: Vec<&Arrivals> = shared.links().map(|link| &link.arrivals).collect();
    divide_receiving(&arrivals, shared.most_receive_bps(), since);
}

/// Divides anew what lanes may send, where that is bounded.
pub(super) fn divide_sending(out: &mut Out) {
    let bounds = [out.asked_bps, out.most_send_bps].into_iter().filter(|&bps| bps > 0);
    if let Some(most_bps) = bounds.min().map(|bps| bps as f64) {
        let least_bps = LEAST_PART * most_bps / out.lanes.len() as f64;
        let demand_bps = |(lane, part): (&Option<LaneOut>, &f64)| {
            lane.as_ref().map_or(least_bps, |lane| lane.demand_bps(part * most_bps, least_bps))
        };
        let wants = out.lanes.iter().zip(&out.parts).map(demand_bps);
        out.parts = parts_of(most_bps, wants);
    }
    out.limit_lanes();
}

/// Lanes that are added have so much as they may begin with, and those that there are the rest; the first have all of it alike.
pub(super) fn add_parts<'a>(there: impl Iterator<Item = &'a Arrivals>, added: impl Iterator<Item = &'a Arrivals>) {
    let (there, added): (Vec<_>, Vec<_>) = (there.collect(), added.collect());
    let all = (there.len() + added.len()).max(1) as f64;
    let part = if there.is_empty() { 1.0 / all } else { LEAST_PART / all };
    let left = 1.0 - part * added.len() as f64;
    there.iter().for_each(|lane| lane.set_part(lane.part() * left));
    added.iter().for_each(|lane| lane.set_part(part));
}

/// The other end is told with the next report of each lane.
fn divide_receiving(lanes: &[&Arrivals], most_bps: u64, since: Duration) {
    if most_bps == 0 {
        return;
    }
    let most_bps = most_bps as f64;
    let least_bps = LEAST_PART * most_bps / lanes.len() as f64;
    let wants = lanes.iter().map(|lane| {
        let used_bps = lane.take() as f64 * 8.0 / since.as_secs_f64();
        demand(used_bps, lane.part() * most_bps, least_bps)
    });
    for (lane, part) in lanes.iter().zip(parts_of(most_bps, wants)) {
        lane.set_part(part);
    }
}

fn parts_of(most_bps: f64, wants: impl Iterator<Item = f64>) -> Vec<f64> {
    let wants: Vec<_> = wants.map(|demand_bps| (1, demand_bps)).collect();
    divide(most_bps, &wants).into_iter().map(|share_bps| share_bps / most_bps).collect()
}

/// What arrives on a lane, and which part it has of the rate at which all lanes together may receive.
#[derive(Debug)]
pub(super) struct Arrivals {
    /// Bytes of IP packets since it was divided last.
    bytes: AtomicU64,
    /// In millionths.
    part: AtomicU64,
    /// Datagrams that came, and packet numbers below theirs that did not.
    datagrams: [AtomicU64; 2],
}

const MILLION: f64 = 1e6;

impl Arrivals {
    /// Of a lane that has all of it, until that is divided.
    pub(super) fn of_lane() -> Self {
        Self { bytes: AtomicU64::new(0), part: AtomicU64::new(MILLION as u64), datagrams: Default::default() }
    }

    pub(super) fn note(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes note of how many datagrams came, and how many packet numbers are missing.
    pub(super) fn count(&self, came: u64, missing: u64) {
        self.datagrams[0].store(came, Ordering::Relaxed);
        self.datagrams[1].store(missing, Ordering::Relaxed);
    }

    /// How many datagrams came, and how many packet numbers are missing.
    pub(super) fn datagrams(&self) -> (u64, u64) {
        (self.datagrams[0].load(Ordering::Relaxed), self.datagrams[1].load(Ordering::Relaxed))
    }

    fn take(&self) -> u64 {
        self.bytes.swap(0, Ordering::Relaxed)
    }

    fn part(&self) -> f64 {
        self.part.load(Ordering::Relaxed) as f64 / MILLION
    }

    fn set_part(&self, part: f64) {
        self.part.store((part * MILLION) as u64, Ordering::Relaxed);
    }

    /// What of a rate the lane may receive; not nothing, which would be no limit.
    pub(super) fn share_of(&self, most_bps: u64) -> u64 {
        (most_bps as f64 * self.part()).ceil() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_BPS: u64 = 100_000_000;

    #[test]
    fn what_does_not_arrive_on_one_lane_may_arrive_on_another() {
        let lanes = [Arrivals::of_lane(), Arrivals::of_lane()];
        add_parts(std::iter::empty(), lanes.iter());
        let shares = |arrived: [u64; 2]| {
            lanes.iter().zip(arrived).for_each(|(lane, bps)| lane.note(bps / 8));
            divide_receiving(&lanes.each_ref(), MOST_BPS, Duration::from_secs(1));
            lanes.each_ref().map(|lane| lane.share_of(MOST_BPS))
        };
        assert_eq!(shares([50_000_000, 50_000_000]), [50_000_000; 2]);
        assert_eq!(shares([50_000_000, 10_000_000]), [87_500_000, 12_500_000]);
        // It is gone, and comes back.
        assert_eq!(shares([87_500_000, 0]), [96_875_000, 3_125_000]);
        assert_eq!(shares([96_875_000, 3_125_000]), [50_000_000; 2]);
        // Nobody needs more than he has.
        assert_eq!(shares([1_000_000, 0]), [50_000_000; 2]);
        assert_eq!(Arrivals::of_lane().share_of(0), 0);
    }

    #[test]
    fn lanes_that_are_added_have_a_little_and_never_nothing() {
        let lanes = [(); 4].map(|()| Arrivals::of_lane());
        let shares = || lanes.each_ref().map(|lane| lane.share_of(MOST_BPS));
        add_parts(std::iter::empty(), lanes[..1].iter());
        assert_eq!(shares()[0], MOST_BPS);
        add_parts(lanes[..1].iter(), lanes[1..].iter());
        assert_eq!(shares(), [95_312_500, 1_562_500, 1_562_500, 1_562_500]);
    }
}
