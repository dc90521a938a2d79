//! Lanes of one path, one of which looks for the rate: when it is found they divide it, and each goes on from its part.
//!
//! Many that begin at once would each find all of it, and lose what they send beyond that together.

use std::time::Duration;

use crate::lane_out::LaneOut;
use crate::time::Time;

/// A lane that has not been heard for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Wakes those of the lanes of one path that wait, once the rate is known that they divide with those that are awake; the first of them, if none is.
/// True if it did.
pub fn wake(lanes: &mut [&mut LaneOut], now: Time) -> bool {
    let Some(first) = lanes.iter().position(|lane| lane.may_wake()) else { return false };
    let awake: Vec<usize> = (0..lanes.len()).filter(|&at| lanes[at].is_awake(now, PATIENCE)).collect();
    if awake.is_empty() {
        lanes[first].wake(now);
        return true;
    }
    if awake.iter().any(|&at| lanes[at].is_starting()) {
        return false;
    }
    let sleepers: Vec<usize> = (0..lanes.len()).filter(|&at| lanes[at].may_wake()).collect();
    let all_bps: f64 = awake.iter().map(|&at| lanes[at].path_bps()).sum();
    let part_bps = all_bps / (awake.len() + sleepers.len()) as f64;
    let fastest = awake.iter().copied().max_by(|&a, &b| lanes[a].path_bps().total_cmp(&lanes[b].path_bps()));
    let known = lanes[fastest.unwrap_or(awake[0])].controller().clone();
    for at in sleepers {
        lanes[at].wake_beside(&known, part_bps, now);
    }
    for at in awake {
        lanes[at].make_room(part_bps, now);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane_out::Sizes;
    use crate::rate::{Auto, Controller, Fixed};
    use crate::wire::Pong;

    const SIZES: Sizes = Sizes { datagram: 1472, headers: 28, burst: 44 };
    const RTT: Duration = Duration::from_millis(80);
    const PATH_BPS: u64 = 90_000_000;

    fn looking() -> Controller {
        Controller::Auto(Box::new(Auto::new(1_000_000, None)))
    }

    /// One that has found its rate.
    fn found() -> Controller {
        let mut controller = looking();
        controller.go_on_at(PATH_BPS as f64);
        controller
    }

    fn lane(controller: Controller) -> LaneOut {
        LaneOut::new(std::sync::Arc::default(), SIZES, controller, RTT, Time::ZERO)
    }

    fn hear(lane: &mut LaneOut, now: Time) {
        lane.on_pong(now, &Pong { size: 60, sent_us: now.wire_us(), challenge: 0, hold_us: 0 });
    }

    fn rates(lanes: &[LaneOut]) -> Vec<u64> {
        lanes.iter().map(LaneOut::rate_bps).collect()
    }

    fn wake_all(lanes: &mut [LaneOut], now: Time) -> bool {
        wake(&mut lanes.iter_mut().collect::<Vec<_>>(), now)
    }

    #[test]
    fn those_that_wait_divide_what_the_first_has_found_once_they_are_heard() {
        let now = Time::ZERO.after(RTT);
        let mut lanes = [lane(looking()), lane(looking()).asleep(), lane(looking()).asleep()];
        hear(&mut lanes[1], now);
        assert!(!wake_all(&mut lanes, now), "it is still being looked for");
        lanes[0] = lane(found());
        assert!(wake_all(&mut lanes, now));
        assert_eq!(rates(&lanes), [PATH_BPS / 2, PATH_BPS / 2, 0]);
        hear(&mut lanes[2], now);
        assert!(wake_all(&mut lanes, now));
        assert_eq!(rates(&lanes), [PATH_BPS / 3; 3]);
        assert!(!lanes[2].is_starting() && !wake_all(&mut lanes, now));
    }

    #[test]
    fn one_that_is_silent_is_not_waited_for() {
        let mut lanes = [lane(looking()), lane(looking()).asleep(), lane(looking()).asleep()];
        let later = Time::ZERO.after(2 * PATIENCE);
        lanes[1..].iter_mut().for_each(|lane| hear(lane, later));
        assert!(wake_all(&mut lanes, later));
        // The first of them looks for the rate, and the other waits for it.
        assert_eq!(lanes.each_ref().map(LaneOut::is_asleep), [false, false, true]);
        assert!(lanes[1].is_starting() && !wake_all(&mut lanes, later));
    }

    #[test]
    fn one_that_is_woken_goes_at_its_part_at_once_where_the_rate_is_bounded() {
        let mut lanes = [lane(found()), lane(looking()).asleep()];
        lanes[0].set_asked(PATH_BPS * 31 / 32);
        lanes[1].set_asked(PATH_BPS / 32);
        lanes.iter_mut().for_each(|lane| hear(lane, Time::ZERO));
        assert!(wake_all(&mut lanes, Time::ZERO));
        let part = PATH_BPS * 31 / 64;
        lanes.iter_mut().for_each(|lane| lane.set_asked(PATH_BPS / 2));
        assert_eq!(rates(&lanes), [part; 2]);
    }

    #[test]
    fn a_fixed_rate_is_known_beforehand() {
        let fixed = || lane(Controller::Fixed(Fixed::new(PATH_BPS)));
        let mut lanes = [fixed(), fixed().asleep()];
        assert!(!wake_all(&mut lanes, Time::ZERO), "it has not been heard");
        hear(&mut lanes[1], Time::ZERO);
        assert!(wake_all(&mut lanes, Time::ZERO) && !lanes[1].is_asleep());
    }
}
