//! A token bucket that drops what exceeds it.

use crate::settings;

/// The state of a policer.
#[derive(Debug, Clone)]
pub(super) struct Policer {
    bits_per_second: u64,
    /// Nanobits: bits times 10^9, so that no token is lost to rounding.
    tokens: u128,
    most: u128,
    filled_at: u64,
}

impl Policer {
    /// A full bucket at `now` (nanoseconds).
    pub(super) fn new(settings: settings::Policer, now: u64) -> Self {
        let most = u128::from(settings.burst.0) * 8 * 1_000_000_000;
        Self { bits_per_second: settings.rate.0, tokens: most, most, filled_at: now }
    }

    /// Takes the tokens of a packet of `length` bytes, if there are enough.
    pub(super) fn admits(&mut self, now: u64, length: u32) -> bool {
        let elapsed = now.saturating_sub(self.filled_at);
        self.filled_at = now.max(self.filled_at);
        self.tokens = (self.tokens + u128::from(elapsed) * u128::from(self.bits_per_second)).min(self.most);
        let cost = u128::from(length) * 8 * 1_000_000_000;
        if cost > self.tokens {
            return false;
        }
        self.tokens -= cost;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Bytes, Rate};

    #[test]
    fn passes_the_rate_and_one_burst() {
        let mut policer = Policer::new(settings::Policer { rate: Rate(8_000_000), burst: Bytes(10_000) }, 0);
        // Twice the rate for a second: 1000 bytes each 0.5 ms.
        let passed = (0..2000).filter(|i| policer.admits(i * 500_000, 1000)).count();
        assert!((1009..=1010).contains(&passed), "{passed}");
    }
}
