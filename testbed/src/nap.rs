//! Short sleeps that end when they should, though each takes longer than asked for.

/// A sleep that took longer than this over its time says nothing about the next, in nanoseconds.
const MOST_OVERSHOOT: u64 = 80_000;

/// Learns how much longer a short sleep takes than asked for.
#[derive(Debug, Default)]
pub(crate) struct Nap {
    overshoot: u64,
}

impl Nap {
    /// What to ask for, to wake up in `left` nanoseconds; nothing if that is now. It is never nothing because sleeps take too long: who does not sleep at all
    /// does not learn when they are shorter again, and a realtime thread that never sleeps is stopped by the kernel for the rest of each second.
    pub(crate) fn asks(&self, left: u64) -> Option<u64> {
        (left > 0).then(|| left.saturating_sub(self.overshoot).max(1))
    }

    /// A sleep took so long instead of what was asked for.
    pub(crate) fn took(&mut self, asked: u64, time: u64) {
        let over = time.saturating_sub(asked).min(MOST_OVERSHOOT);
        self.overshoot = (7 * self.overshoot + over) / 8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nap_asks_for_less_by_what_sleeps_take_too_long() {
        let mut nap = Nap::default();
        assert_eq!(nap.asks(50_000), Some(50_000));
        for _ in 0..100 {
            nap.took(30_000, 45_000);
        }
        let asked = nap.asks(50_000).unwrap();
        assert!((35_000..35_100).contains(&asked), "asks for {asked}");
        assert_eq!(nap.asks(0), None);
    }

    #[test]
    fn who_overslept_again_and_again_still_sleeps_and_recovers() {
        let mut nap = Nap::default();
        for _ in 0..100 {
            nap.took(1, 200_000);
        }
        let asked = nap.asks(50_000).expect("some sleep, or it would spin for ever");
        assert!(asked < 1_000, "asks for {asked}");
        for _ in 0..100 {
            nap.took(1, 5_000);
        }
        assert!(nap.asks(50_000).unwrap() > 44_000);
    }
}
