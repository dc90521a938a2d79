//! The clock of a process that is traced, a rank or a hand of the back end, brought into line with that of the back end's head by questions and
//! answers beside the data.

use std::time::{Duration, Instant};

use visapult_trace::{Exchange, OffsetEstimator, is_on, now_ns, set_offset};

/// The first questions follow each other soon, so that the clocks agree before much has happened.
const FIRST: u32 = 8;
const FIRST_EVERY: Duration = Duration::from_millis(50);
/// Clocks drift apart by some microseconds in this time.
const EVERY: Duration = Duration::from_secs(1);

/// What is known of the clock of a back end's head.
#[derive(Debug, Default)]
pub struct ClockOfBackEnd {
    estimator: OffsetEstimator,
    asked: u32,
    next: Option<Instant>,
}

impl ClockOfBackEnd {
    /// The time at which a question is to be asked, if one is due: none while nothing is recorded.
    pub fn question(&mut self) -> Option<i64> {
        let now = Instant::now();
        if !is_on() || self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.next = Some(now + if self.asked < FIRST { FIRST_EVERY } else { EVERY });
        self.asked = self.asked.saturating_add(1);
        Some(now_ns())
    }

    /// The answer to a question that was asked at `asked`: from here on events carry the head's time.
    pub fn on_answer(&mut self, asked: i64, heard: i64, answered: i64) {
        if let Some(best) = self.estimator.add(Exchange { asked, heard, answered, received: now_ns() }) {
            set_offset(best.offset_ns);
        }
    }
}
