//! Which of several processes keeps the others waiting for its part of a step.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// So many steps in a row are late before anything is done about it.
const PATIENCE_STEPS: usize = 12;
/// Delays below are the noise of schedulers.
const LEAST_DELAY: Duration = Duration::from_millis(20);
/// Share of the time between two steps from which on a delay counts.
const SHARE: u32 = 4;

/// When each process had its part of a step.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals(BTreeMap<usize, Instant>);

/// The delays of the last steps.
#[derive(Debug, Default)]
pub(super) struct Lags {
    /// The process that was last, and in how many steps in a row.
    last: Option<(usize, usize)>,
    whole: Option<Instant>,
}

/// A PE is to go from one process to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relief {
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Arrivals {
    pub(super) fn add(&mut self, rank: usize, at: Instant) {
        self.0.insert(rank, at);
    }

    fn first(&self) -> Option<(usize, Instant)> {
        self.0.iter().map(|(rank, at)| (*rank, *at)).min_by_key(|(_, at)| *at)
    }

    fn last(&self) -> Option<(usize, Instant)> {
        self.0.iter().map(|(rank, at)| (*rank, *at)).max_by_key(|(_, at)| *at)
    }
}

impl Lags {
    /// A step is whole: who is to be relieved of a PE, and by whom, if one process is late again and again.
    pub(super) fn on_whole(&mut self, arrivals: &Arrivals) -> Option<Relief> {
        let ((first, begin), (last, end)) = arrivals.first().zip(arrivals.last())?;
        let interval = self.whole.replace(end).map(|before| end.saturating_duration_since(before))?;
        if end - begin < LEAST_DELAY.max(interval / SHARE) {
            self.last = None;
            return None;
        }
        let before = self.last.filter(|(rank, _)| *rank == last).map_or(0, |(_, steps)| steps);
        self.last = Some((last, before + 1));
        if before + 1 < PATIENCE_STEPS {
            return None;
        }
        self.last = None;
        Some(Relief { from: last, to: first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps every 100 ms, of which the parts of processes come after so many ms.
    fn relief_after(steps: usize, delays_ms: impl Fn(usize) -> [u64; 3]) -> Option<(usize, Relief)> {
        let (mut lags, began) = (Lags::default(), Instant::now());
        (0..steps).find_map(|step| {
            let mut arrivals = Arrivals::default();
            for (rank, delay) in delays_ms(step).into_iter().enumerate() {
                arrivals.add(rank, began + Duration::from_millis(100 * step as u64 + delay));
            }
            Some((step, lags.on_whole(&arrivals)?))
        })
    }

    #[test]
    fn who_is_late_again_and_again_is_relieved_by_the_quickest() {
        // The first step has none before it.
        assert_eq!(relief_after(50, |_| [5, 60, 0]), Some((PATIENCE_STEPS, Relief { from: 1, to: 2 })));
    }

    #[test]
    fn who_is_late_now_and_then_is_not() {
        assert_eq!(relief_after(200, |step| if step % 10 == 9 { [0, 0, 5] } else { [0, 60, 5] }), None);
        assert_eq!(relief_after(200, |step| if step % 2 == 0 { [0, 60, 5] } else { [60, 0, 5] }), None);
    }

    #[test]
    fn small_delays_do_not_count() {
        assert_eq!(relief_after(200, |_| [0, 22, 5]), None);
    }
}
