//! Which packets the wire loses: independently, or in bursts (Gilbert 1960: a good state and a bad one that loses all).

use fastrand::Rng;

/// The loss process of one direction.
#[derive(Debug, Clone)]
pub(super) struct Loss {
    share: f64,
    /// Chance to leave the bad state after a packet; `None` for independent loss.
    leave: Option<f64>,
    bad: bool,
}

impl Loss {
    /// Loses `share` of the packets in the long run, `burst` in a row on average.
    pub(super) fn new(share: f64, burst: f64) -> Self {
        Self { share, leave: (burst > 1.0 && share < 1.0).then(|| 1.0 / burst), bad: false }
    }

    /// Whether the next packet is lost.
    pub(super) fn next(&mut self, random: &mut Rng) -> bool {
        if self.share <= 0.0 {
            return false;
        }
        let Some(leave) = self.leave else { return random.f64() < self.share };
        // In equilibrium the bad state holds enter / (enter + leave) = share of the packets.
        let enter = self.share * leave / (1.0 - self.share);
        self.bad = if self.bad { random.f64() >= leave } else { random.f64() < enter };
        self.bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKETS: usize = 2_000_000;

    fn run(share: f64, burst: f64) -> (f64, f64) {
        let (mut random, mut loss) = (Rng::with_seed(7), Loss::new(share, burst));
        let (mut lost, mut bursts, mut before) = (0, 0, false);
        for _ in 0..PACKETS {
            let now = loss.next(&mut random);
            lost += usize::from(now);
            bursts += usize::from(now && !before);
            before = now;
        }
        (lost as f64 / PACKETS as f64, lost as f64 / bursts.max(1) as f64)
    }

    #[test]
    fn independent_loss_has_the_share_asked_for() {
        let (share, length) = run(0.01, 1.0);
        assert!((share - 0.01).abs() < 0.0005, "{share}");
        assert!((length - 1.0 / 0.99).abs() < 0.02, "{length}");
    }

    #[test]
    fn bursts_have_the_share_and_the_mean_length_asked_for() {
        let (share, length) = run(0.01, 20.0);
        assert!((share - 0.01).abs() < 0.002, "{share}");
        assert!((length - 20.0).abs() < 2.0, "{length}");
    }

    #[test]
    fn nothing_and_everything_are_exact() {
        assert_eq!(run(0.0, 5.0).0, 0.0);
        assert_eq!(run(1.0, 5.0).0, 1.0);
    }
}
