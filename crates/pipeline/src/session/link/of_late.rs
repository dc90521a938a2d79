//! The most extreme of what was measured of late.

use std::collections::VecDeque;
use std::time::Instant;

use super::MEMORY;

/// What was measured of late, as far as it may yet be the most extreme, which is first.
#[derive(Debug)]
pub(super) struct OfLate<T>(VecDeque<(Instant, T)>);

impl<T> Default for OfLate<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> OfLate<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn most_extreme(&self) -> Option<&T> {
        self.0.front().map(|(_, kept)| kept)
    }

    /// The latest.
    pub(super) fn last(&self) -> Option<&T> {
        self.0.back().map(|(_, kept)| kept)
    }

    /// Adds what was measured `now`; `yields` tells what a new one makes pointless.
    pub(super) fn add(&mut self, new: T, now: Instant, yields: impl Fn(&T, &T) -> bool) {
        while self.0.front().is_some_and(|(at, _)| now.duration_since(*at) > MEMORY) {
            self.0.pop_front();
        }
        while self.0.back().is_some_and(|(_, kept)| yields(kept, &new)) {
            self.0.pop_back();
        }
        self.0.push_back((now, new));
    }

    /// The latest counts as measured `now`.
    pub(super) fn renew_last(&mut self, now: Instant) {
        if let Some((at, _)) = self.0.back_mut() {
            *at = now;
        }
    }

    pub(super) fn retain(&mut self, holds: impl Fn(&T) -> bool) {
        self.0.retain(|(_, kept)| holds(kept));
    }
}
