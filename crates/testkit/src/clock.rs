//! The clock of one end: an origin of its own, a rate that is a little off, and steps.

use visapult_ripp::time::Time;

/// The clock of one end.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// What it shows when the world begins, in nanoseconds.
    pub origin: u64,
    /// How much faster than the world's it runs, in parts per million.
    pub ppm: i64,
    /// Steps forward, ascending: when, and by how much, in nanoseconds.
    pub steps: Vec<(u64, u64)>,
}

impl Clock {
    /// What it shows at `world` nanoseconds of the world's time.
    #[must_use]
    pub fn local(&self, world: u64) -> Time {
        Time::from_ns(self.drifted(world) + self.stepped(world))
    }

    /// The first moment of the world's time, at `world` or later, at which it shows `local` if it takes no step until then.
    #[must_use]
    pub fn world(&self, local: Time, world: u64) -> u64 {
        let ahead = local.since(self.local(world)).as_nanos() as i128;
        let mut at = world + (ahead * 1_000_000 / i128::from(1_000_000 + self.ppm)) as u64;
        while self.drifted(at) + self.stepped(world) < local.ns() {
            at += 1;
        }
        at
    }

    fn drifted(&self, world: u64) -> u64 {
        self.origin + (i128::from(world) * i128::from(1_000_000 + self.ppm) / 1_000_000) as u64
    }

    fn stepped(&self, world: u64) -> u64 {
        self.steps.iter().filter(|&&(at, _)| at <= world).map(|&(_, by)| by).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_when_the_clock_shows_its_time() {
        for ppm in [-200, 0, 137] {
            let clock = Clock { origin: 5_000_000_000, ppm, steps: vec![(1_000, 700)] };
            let due = clock.local(123_456_789);
            let at = clock.world(due, 2_000);
            assert!(clock.local(at) >= due && at.abs_diff(123_456_789) <= 1);
        }
    }
}
