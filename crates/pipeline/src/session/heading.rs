//! Where the camera will be when the page has what is made for it now.
//!
//! Owns no clock: the caller passes `now`.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use visapult_render::Camera;

/// How much of the past tells how the camera moves.
const MEMORY: Duration = Duration::from_millis(300);
/// Looking further ahead than this is guessing.
const MOST_LEAD: Duration = Duration::from_secs(1);
/// The same in degrees.
const MOST_TURN_DEG: f64 = 20.0;
/// The same in distance, as a factor.
const MOST_ZOOM: f64 = 1.5;
/// The same for the target, in world units.
const MOST_SHIFT: f64 = 0.25;

/// How the camera of a session moves, and how long a keyframe takes from the view that it is made for to the page.
#[derive(Debug, Default)]
pub(super) struct Heading {
    seen: VecDeque<(Instant, Camera)>,
    /// When the view came that something is being made for.
    begun: Option<Instant>,
    lead: Duration,
}

impl Heading {
    /// A view has come.
    pub(super) fn note(&mut self, now: Instant, camera: Camera) {
        if self.seen.back().is_some_and(|(_, before)| (before.stretch, before.up) != (camera.stretch, camera.up)) {
            // What it is about has moved, and not the camera.
            self.seen.clear();
        }
        self.seen.push_back((now, camera));
        while self.seen.front().is_some_and(|(at, _)| now.duration_since(*at) > MEMORY) && self.seen.len() > 1 {
            self.seen.pop_front();
        }
    }

    /// Something is made for the newest view.
    pub(super) fn begin(&mut self, now: Instant) {
        self.begun = Some(now);
    }

    /// The page has all that it was sent.
    pub(super) fn arrived(&mut self, now: Instant) {
        let Some(begun) = self.begun.take() else { return };
        let took = now.duration_since(begun).min(MOST_LEAD);
        self.lead = if self.lead.is_zero() { took } else { (3 * self.lead + took) / 4 };
    }

    /// The camera at the time at which the page would have what is begun at `now`, if it goes on as it has moved of late.
    pub(super) fn camera(&self, now: Instant) -> Option<Camera> {
        let ((first_at, first), (last_at, last)) = (self.seen.front()?, self.seen.back()?);
        let span = last_at.duration_since(*first_at).as_secs_f64();
        if span <= 0.0 {
            return Some(*last);
        }
        let ahead = now.duration_since(*last_at).saturating_add(self.lead).min(MOST_LEAD).as_secs_f64() / span;
        let turn = |from: f64, to: f64| (ahead * shortest_deg(to - from)).clamp(-MOST_TURN_DEG, MOST_TURN_DEG);
        let shift = |axis: usize| (ahead * (last.target[axis] - first.target[axis])).clamp(-MOST_SHIFT, MOST_SHIFT);
        let zoom = (last.distance / first.distance).powf(ahead).clamp(1.0 / MOST_ZOOM, MOST_ZOOM);
        let pole = Camera::MAX_ELEVATION_DEG;
        Some(Camera {
            azimuth_deg: last.azimuth_deg + turn(first.azimuth_deg, last.azimuth_deg),
            elevation_deg: (last.elevation_deg + turn(first.elevation_deg, last.elevation_deg)).clamp(-pole, pole),
            distance: (last.distance * zoom).min(Camera::MAX_DISTANCE),
            fov_deg: last.fov_deg,
            target: std::array::from_fn(|axis| last.target[axis] + shift(axis)),
            stretch: last.stretch,
            up: last.up,
            crop: last.crop,
        })
    }
}

/// The same turn, by at most half a circle.
fn shortest_deg(turn: f64) -> f64 {
    (turn + 180.0).rem_euclid(360.0) - 180.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    fn facing(azimuth_deg: f64) -> Camera {
        Camera { azimuth_deg, ..Camera::default() }
    }

    fn turning(start: Instant) -> Heading {
        let mut heading = Heading::default();
        // 20 degrees a second, over the place where azimuths begin anew.
        for (ms, azimuth) in [(0, 356.0), (100, 358.0), (200, 0.0)] {
            heading.note(at(start, ms), facing(azimuth));
        }
        heading
    }

    #[test]
    fn who_turns_is_met_where_the_turn_leads_by_the_time_that_keyframes_took() {
        let start = Instant::now();
        let mut heading = turning(start);
        assert!((heading.camera(at(start, 250)).unwrap().azimuth_deg - 1.0).abs() < 1e-9);
        heading.begin(at(start, 0));
        heading.arrived(at(start, 400));
        // What arrives without having been begun tells nothing.
        heading.arrived(at(start, 900));
        assert!((heading.camera(at(start, 250)).unwrap().azimuth_deg - 9.0).abs() < 1e-9);
    }

    #[test]
    fn who_has_come_to_rest_is_met_where_he_is() {
        let start = Instant::now();
        let mut heading = turning(start);
        heading.note(at(start, 900), facing(7.0));
        assert_eq!(heading.camera(at(start, 1000)), Some(facing(7.0)));
        assert_eq!(Heading::default().camera(start), None);
    }

    #[test]
    fn nobody_is_met_far_away_from_where_he_was() {
        let start = Instant::now();
        let mut heading = turning(start);
        let wild =
            Camera { azimuth_deg: 150.0, elevation_deg: 80.0, distance: 0.01, target: [9.0; 3], ..Camera::default() };
        heading.note(at(start, 210), wild);
        let met = heading.camera(at(start, 5000)).unwrap();
        assert!(met.validate().is_ok());
        assert!((met.azimuth_deg - 150.0).abs() <= MOST_TURN_DEG && met.elevation_deg <= Camera::MAX_ELEVATION_DEG);
        assert!((met.distance - 0.01 / MOST_ZOOM).abs() < 1e-9);
        assert_eq!(met.target, [9.0 + MOST_SHIFT; 3]);
    }
}
