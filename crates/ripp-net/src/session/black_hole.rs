//! Whether a path swallows what a lane sends, while the smaller datagrams that carry pings and reports get through.

use std::time::Duration;

use visapult_ripp::time::Time;

/// Reports in a row that tell of losses, after which that is no chance, whatever the rate.
const REPORTS: u32 = 20;
/// Or so few, where so many datagrams were lost meanwhile, for so long.
const FEW_REPORTS: u32 = 4;
const MANY_LOST: u64 = 64;
const A_WHILE: Duration = Duration::from_millis(200);
/// What arrives all the same, the ends of objects, is small: of so many that are lost one.
const LOST_PER_ARRIVAL: u64 = 500;
/// After so long without an arrival a path is of no use.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reports in a row with losses and next to no arrivals.
#[derive(Default)]
pub(super) struct BlackHole {
    row: Option<Row>,
    /// Datagrams arrived and lost at the last report.
    counts: (u64, u64),
}

struct Row {
    reports: u32,
    began: Time,
    last_arrival: Time,
    /// Datagrams arrived and lost when it began.
    counts: (u64, u64),
}

impl BlackHole {
    /// Takes note of a report, with the datagrams that have arrived and were lost in all.
    pub(super) fn note(&mut self, now: Time, arrived: u64, lost: u64) {
        let before = std::mem::replace(&mut self.counts, (arrived, lost));
        let (some_arrived, some_lost) = (arrived > before.0, lost > before.1);
        let Some(row) = &mut self.row else {
            if some_lost && !some_arrived {
                self.row = Some(Row { reports: 1, began: now, last_arrival: now, counts: before });
            }
            return;
        };
        row.reports += u32::from(some_lost);
        if some_arrived {
            row.last_arrival = now;
            let arrivals = arrived.saturating_sub(row.counts.0);
            if arrivals * LOST_PER_ARRIVAL > lost.saturating_sub(row.counts.1) {
                self.begin_anew();
            }
        }
    }

    pub(super) fn begin_anew(&mut self) {
        self.row = None;
    }

    /// Smaller datagrams may get through.
    pub(super) fn is_by_size(&self, now: Time) -> bool {
        self.row.as_ref().is_some_and(|row| {
            let is_much = self.counts.1.saturating_sub(row.counts.1) >= MANY_LOST && now.since(row.began) >= A_WHILE;
            row.reports > REPORTS || (row.reports >= FEW_REPORTS && is_much)
        })
    }

    /// The path is of no use, at this size of datagrams.
    pub(super) fn is_all(&self, now: Time) -> bool {
        self.row.as_ref().is_some_and(|row| row.reports > REPORTS && now.since(row.last_arrival) >= PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn many_datagrams_lost_for_a_while_are_a_hole_and_so_are_a_few_after_many_reports() {
        let mut fast = BlackHole::default();
        fast.note(ms(0), 1000, 3);
        for report in 1..=4 {
            assert!(!fast.is_by_size(ms(70 * report - 1)));
            fast.note(ms(70 * report), 1000, 3 + 30 * report);
        }
        assert!(fast.is_by_size(ms(280)) && !fast.is_all(ms(280)));
        fast.begin_anew();
        assert!(!fast.is_by_size(ms(280)));

        let mut slow = BlackHole::default();
        for report in 1..=21 {
            assert!(!slow.is_by_size(ms(200 * report)));
            slow.note(ms(200 * report), 0, report);
        }
        assert!(slow.is_by_size(ms(4_200)) && !slow.is_all(ms(4_200)) && slow.is_all(ms(5_200)));
    }

    #[test]
    fn small_datagrams_that_arrive_now_and_then_do_not_hide_it() {
        let mut swallowed = BlackHole::default();
        for report in 1..=30 {
            swallowed.note(ms(10 * report), report / 10, 1000 * report);
        }
        assert!(swallowed.is_by_size(ms(300)));
        // As long as any come the path is of some use.
        for report in 31..=900 {
            swallowed.note(ms(10 * report), report / 10, 1000 * report);
        }
        assert!(!swallowed.is_all(ms(9_000)) && swallowed.is_all(ms(14_000)));
    }

    #[test]
    fn a_rate_far_beyond_the_path_and_a_burst_of_losses_are_none() {
        let mut swallowed = BlackHole::default();
        for report in 1..=1000 {
            swallowed.note(ms(10 * report), report / 2, 100 * report);
            assert!(!swallowed.is_by_size(ms(10 * report)));
        }
        let mut burst = BlackHole::default();
        for report in 1..=3 {
            burst.note(ms(100 * report), 50, 400 * report);
        }
        burst.note(ms(400), 60, 1200);
        assert!(!burst.is_by_size(ms(400)));
    }
}
