//! How fast a copy goes, and how long it will take.

use std::fmt;
use std::time::{Duration, Instant};

use crate::report::{Progress, Tally, rate, size};

/// The rate is that of the latest seconds.
const OVER: Duration = Duration::from_secs(3);
/// Files, rather than bytes, tell how fast it goes.
const MANY_FILES_PER_S: f64 = 10.0;

/// What has come in the latest seconds: when, bytes, and files.
#[derive(Debug, Default)]
pub struct Pace {
    latest: Vec<(Instant, u64, u64)>,
}

/// How far a copy is, and how fast it goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headway {
    /// How far.
    pub progress: Progress,
    /// Bits of content per second, holes as they pass.
    pub bps: f64,
    /// Files that were copied per second.
    pub files_per_s: f64,
}

impl Pace {
    /// Takes note of how far it is at this time.
    pub fn note(&mut self, now: Instant, progress: &Progress) -> Headway {
        let Tally { resumed_bytes, files, .. } = progress.tally;
        // What was there before has taken no time.
        let bytes = here(progress).saturating_sub(resumed_bytes);
        self.latest.retain(|(at, ..)| now.duration_since(*at) < OVER);
        if self.latest.first().is_some_and(|(_, before, files_before)| *before > bytes || *files_before > files) {
            // It was dialled again, and counts anew.
            self.latest.clear();
        }
        self.latest.push((now, bytes, files));
        let first = self.latest.first().copied().unwrap_or((now, bytes, files));
        let seconds = now.duration_since(first.0).as_secs_f64().max(1e-3);
        let (bps, files_per_s) = ((bytes - first.1) as f64 * 8.0 / seconds, (files - first.2) as f64 / seconds);
        Headway { progress: *progress, bps, files_per_s }
    }
}

/// Bytes of files that are there: as the taking end counts them, if it does.
fn here(progress: &Progress) -> u64 {
    match progress.tally.here_bytes {
        0 => progress.arrived + progress.tally.resumed_bytes,
        bytes => bytes,
    }
}

impl Headway {
    /// Bytes that are there, of those that are wanted.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        here(&self.progress).min(self.progress.tally.wanted_bytes)
    }

    /// How long it will take from now on, in seconds, if that can be told.
    #[must_use]
    pub fn left_s(&self) -> Option<f64> {
        let Tally { wanted_bytes, wanted_files, files, .. } = self.progress.tally;
        let left_bits = (wanted_bytes - self.bytes()) as f64 * 8.0;
        // Where all bytes are there, files are that have none, or wait for their names.
        let left = if left_bits > 0.0 {
            left_bits / self.bps
        } else {
            wanted_files.saturating_sub(files) as f64 / self.files_per_s
        };
        (self.progress.is_listed && left.is_finite() && left < 1e6).then_some(left)
    }
}

impl fmt::Display for Headway {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { files, wanted_files, wanted_bytes, same_files, .. } = self.progress.tally;
        let more = if self.progress.is_listed { "" } else { "+" };
        write!(out, "{} of {}{more}, ", size(self.bytes()), size(wanted_bytes))?;
        write!(out, "{files} of {wanted_files}{more} files, {}", rate(self.bps))?;
        if same_files > 0 {
            write!(out, ", {same_files} there already")?;
        }
        if self.files_per_s >= MANY_FILES_PER_S {
            write!(out, ", {:.0} files/s", self.files_per_s)?;
        }
        if let Some(left) = self.left_s() {
            write!(out, ", {} left", time(left))?;
        }
        self.progress.limit.map_or(Ok(()), |limit| write!(out, ", limited by {limit}"))
    }
}

fn time(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m}:{s:02} min"),
        (h, m, s) => format!("{h}:{m:02}:{s:02} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_tells_what_is_left() {
        let tally = Tally { files: 1, wanted_files: 4, wanted_bytes: 2_000_000_000, ..Tally::default() };
        let at = |arrived| Progress { tally, is_listed: true, arrived, ..Progress::default() };
        let (mut pace, began) = (Pace::default(), Instant::now());
        assert_eq!(pace.note(began, &at(980_000_000)).left_s(), None);
        let headway = pace.note(began + Duration::from_secs(2), &at(1_000_000_000));
        assert_eq!(headway.to_string(), "1.00 GB of 2.00 GB, 1 of 4 files, 80.0 Mbit/s, 1:40 min left");
        // Dialled again.
        assert_eq!(pace.note(began + Duration::from_secs(3), &at(0)).bps, 0.0);
        assert_eq!(pace.note(began + Duration::from_secs(4), &at(1_000_000)).bps, 8_000_000.0);
    }

    #[test]
    fn holes_and_files_without_bytes_are_headway_and_what_was_there_is_none() {
        let tally = Tally { wanted_bytes: 1_000_000, wanted_files: 301, here_bytes: 200_000, ..Tally::default() };
        let at = |more: Tally, arrived| Progress { tally: more, is_listed: true, arrived, ..Progress::default() };
        let (mut pace, began) = (Pace::default(), Instant::now());
        pace.note(began, &at(tally, 200_000));
        // Nothing has travelled.
        let holes = pace.note(began + Duration::from_secs(1), &at(Tally { here_bytes: 600_000, ..tally }, 200_000));
        assert_eq!((holes.bps, holes.bytes(), holes.left_s()), (3_200_000.0, 600_000, Some(1.0)));
        let resumed = Tally { here_bytes: 900_000, resumed_bytes: 300_000, ..tally };
        assert_eq!(pace.note(began + Duration::from_secs(2), &at(resumed, 200_000)).bps, 1_600_000.0);
        let last = Tally { here_bytes: 1_000_000, resumed_bytes: 300_000, files: 100, ..tally };
        pace.note(began + Duration::from_secs(20), &at(Tally { files: 0, ..last }, 200_000));
        let files = pace.note(began + Duration::from_secs(21), &at(last, 200_000));
        assert_eq!((files.bps, files.files_per_s, files.left_s()), (0.0, 100.0, Some(2.01)));
        assert!(files.to_string().ends_with("0 bit/s, 100 files/s, 3 s left"), "{files}");
        // Comparing is headway, too.
        let tally = Tally { same_files: 12_000, ..Tally::default() };
        let compared = Pace::default().note(began, &Progress { tally, ..Progress::default() });
        assert_eq!(compared.to_string(), "0 bytes of 0 bytes+, 0 of 0+ files, 0 bit/s, 12000 there already");
    }
}
