//! When the next step is chosen, where those under way take long: both ends go by it, the one that is asked for any newer step and the one that asks for steps
//! by number.

use std::time::Duration;

/// What is under way is nearly through when it takes so many round trips more, and so long beside them, which busy machines need: the next step is
/// asked for, offered, accepted and begins to come meanwhile. One that is chosen before waits for what is under way, and is old when it comes.
const LAST_ROUND_TRIPS: u32 = 6;
/// See `LAST_ROUND_TRIPS`.
const LAST: Duration = Duration::from_millis(250);

/// Whether so many bytes come at this rate within the time that the next step takes to begin.
pub fn is_nearly_through(bytes: u64, rate_bps: f64, rtt: Duration) -> bool {
    bytes as f64 * 8.0 <= rate_bps * (LAST + rtt * LAST_ROUND_TRIPS).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_nearly_through_where_the_next_step_would_come_too_late_for_an_idle_path() {
        let rtt = Duration::from_millis(25);
        // 400 ms at 8 Mbit/s.
        assert!(is_nearly_through(400_000, 8e6, rtt) && !is_nearly_through(400_001, 8e6, rtt));
    }
}
