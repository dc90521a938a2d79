//! What a copy has done, and what it tells while it goes on.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use visapult_ripp_net::units::prefixed;

use crate::inventory::Item;

/// What the taking end has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Files that are to be copied, as far as is known.
    pub wanted_files: u64,
    /// Bytes of those that were not there yet.
    pub wanted_bytes: u64,
    /// Files copied: whole, verified and in their place.
    pub files: u64,
    /// Bytes of the files copied.
    pub bytes: u64,
    /// Bytes of them that were there from an earlier attempt.
    pub resumed_bytes: u64,
    /// Bytes of files that are there by now, their holes and what was resumed among them: of small files those in their place. 0 if it is not told.
    pub here_bytes: u64,
    /// Files that were there already.
    pub same_files: u64,
    /// Bytes of those.
    pub same_bytes: u64,
    /// Links made.
    pub links: u64,
    /// Folders made.
    pub folders: u64,
    /// Things that failed.
    pub failed: u64,
    /// Things left out: neither file, folder nor link, or called like what copies keep for themselves.
    pub left_out: u64,
    /// Files, folders and links deleted that the sources do not have, or have as something of another kind; what was in a folder is not counted.
    pub deleted: u64,
}

impl Tally {
    /// Both together.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            wanted_files: self.wanted_files + other.wanted_files,
            wanted_bytes: self.wanted_bytes + other.wanted_bytes,
            files: self.files + other.files,
            bytes: self.bytes + other.bytes,
            resumed_bytes: self.resumed_bytes + other.resumed_bytes,
            here_bytes: self.here_bytes + other.here_bytes,
            same_files: self.same_files + other.same_files,
            same_bytes: self.same_bytes + other.same_bytes,
            links: self.links + other.links,
            folders: self.folders + other.folders,
            failed: self.failed + other.failed,
            left_out: self.left_out + other.left_out,
            deleted: self.deleted + other.deleted,
        }
    }

    /// This, after which came `now`, for which what was copied before was there already.
    pub(crate) fn then(&self, now: &Self) -> Self {
        Self {
            wanted_files: self.files + now.wanted_files,
            wanted_bytes: self.bytes + now.wanted_bytes,
            files: self.files + now.files,
            bytes: self.bytes + now.bytes,
            here_bytes: self.bytes + now.here_bytes,
            links: self.links + now.links,
            folders: self.folders + now.folders,
            resumed_bytes: if *self == Self::default() { now.resumed_bytes } else { self.resumed_bytes },
            same_files: now.same_files.saturating_sub(self.files),
            same_bytes: now.same_bytes.saturating_sub(self.bytes),
            ..*now
        }
    }

    /// What a dry run has found, in one line.
    #[must_use]
    pub fn foreseen(&self) -> String {
        let (wanted, same) = (counted(self.wanted_files, "file"), counted(self.same_files, "file"));
        let deleted = if self.deleted > 0 { format!("; would delete {}", self.deleted) } else { String::new() };
        let failed = if self.failed > 0 { format!("; {} would fail", self.failed) } else { String::new() };
        format!("would copy {wanted}, {}; {same} there already{deleted}{failed}", size(self.wanted_bytes))
    }
}

/// What limits a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Reading at the giving end.
    SourceDisk,
    /// The path between.
    Network,
    /// Writing at the taking end.
    SinkDisk,
    /// The rate that was asked for, or that a rule allows.
    Rate,
    /// The processor of the giving end.
    Sender,
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::SourceDisk => "source disk",
            Self::Network => "network",
            Self::SinkDisk => "sink disk",
            Self::Rate => "rate",
            Self::Sender => "sender",
        })
    }
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Files, as the taking end counts them.
    pub tally: Tally,
    /// All files are known: the counts of what is wanted are final.
    pub is_listed: bool,
    /// Bytes of content that have arrived.
    pub arrived: u64,
    /// Since the copy began.
    pub elapsed: Duration,
    /// What limits it, if anything can be told.
    pub limit: Option<Limit>,
}

/// How something differs that is not here at all.
pub const NOT_THERE: &str = "is not there";

/// What is told while a copy goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// How far it is.
    Progress(Progress),
    /// One file, folder or link was not copied; others go on.
    Failed {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// Something was left out that no copy has.
    LeftOut {
        /// What.
        path: String,
        /// Why.
        why: String,
    },
    /// In a dry run: this is here otherwise than at the source, or not at all.
    Differs {
        /// What.
        path: String,
        /// How; [`NOT_THERE`] where nothing has its name.
        how: String,
        /// Bytes of the file at the source; none of a folder or link.
        bytes: Option<u64>,
    },
    /// In a listing: this is there.
    Listed(Item),
    /// Something was deleted that the sources do not have, or have as something of another kind; or would be.
    Deleted(String),
    /// The share that fetches it goes on alone, and knows it by this number.
    Detached(u64),
    /// Something that one may want to know.
    Notice(String),
    /// It is dialled again: the hashes that were told are told anew.
    Anew,
    /// The hash of a file that is whole, where hashes were wished for.
    Hash {
        /// Its path below the destination, byte by byte.
        path: Vec<u8>,
        /// BLAKE3 in hexadecimal.
        hash: String,
    },
}

/// What was given, taken or fetched in one attempt.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) tally: Tally,
    /// Bytes of content that arrived at the taking end.
    pub(crate) arrived: u64,
    /// The other end takes nothing before it is asked again, for these take with it.
    pub(crate) nodes: Vec<String>,
    /// Whoever asks may not read what they ask for, but these folders below it, [`escaped`](visapult_objects::escaped).
    pub(crate) granted: Vec<String>,
}

/// What came of a copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What the taking end has counted.
    pub tally: Tally,
    /// Time from the first attempt to the end.
    pub elapsed: Duration,
    /// Bytes of content that travelled, over all attempts of this run.
    pub arrived: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { files, bytes, same_files, failed, resumed_bytes, deleted, left_out, .. } = self.tally;
        let seconds = self.elapsed.as_secs_f64();
        write!(out, "copied {}, {} in {}", counted(files, "file"), size(bytes), time(self.elapsed))?;
        write!(out, ", {}, verified", rate(self.arrived as f64 * 8.0 / seconds.max(1e-3)))?;
        if resumed_bytes > 0 {
            write!(out, "; {} were there from an earlier attempt", size(resumed_bytes))?;
        }
        if same_files > 0 {
            write!(out, "; {} there already", counted(same_files, "file"))?;
        }
        if deleted > 0 {
            write!(out, "; {deleted} deleted")?;
        }
        if left_out > 0 {
            write!(out, "; {left_out} left out")?;
        }
        if failed > 0 {
            write!(out, "; {failed} FAILED")?;
        }
        Ok(())
    }
}

/// `1 file`, `2 files`.
#[must_use]
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Bytes as people read them.
#[must_use]
pub fn size(bytes: u64) -> String {
    scaled(bytes as f64, "B", if bytes == 1 { "byte" } else { "bytes" })
}

/// Bits per second as people read them.
#[must_use]
pub fn rate(bps: f64) -> String {
    scaled(bps, "bit/s", "bit/s")
}

fn scaled(value: f64, unit: &str, plain: &str) -> String {
    match prefixed(value) {
        (value, "") => format!("{value:.0} {plain}"),
        (value, prefix @ ("k" | "M")) => format!("{value:.1} {prefix}{unit}"),
        (value, prefix) => format!("{value:.2} {prefix}{unit}"),
    }
}

fn time(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0..10 => format!("{:.1} s", elapsed.as_secs_f64()),
        seconds @ 10..120 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_of_a_copy_that_is_dialled_again_is_all_of_it() {
        let before =
            Tally { wanted_files: 10, wanted_bytes: 1000, files: 4, bytes: 400, here_bytes: 450, ..Tally::default() };
        let now = Tally {
            wanted_files: 6,
            wanted_bytes: 600,
            files: 6,
            bytes: 600,
            here_bytes: 600,
            resumed_bytes: 50,
            same_files: 4,
            same_bytes: 400,
            ..Tally::default()
        };
        let whole = Tally {
            wanted_files: 10,
            wanted_bytes: 1000,
            files: 10,
            bytes: 1000,
            here_bytes: 1000,
            ..Tally::default()
        };
        assert_eq!(before.then(&now), whole);
        assert_eq!(Tally::default().then(&now), now);
    }

    #[test]
    fn a_report_is_one_line() {
        let tally = Tally { files: 12, bytes: 3_400_000_000, ..Tally::default() };
        let report = Report { tally, elapsed: Duration::from_secs(28), arrived: 3_400_000_000 };
        assert_eq!(report.to_string(), "copied 12 files, 3.40 GB in 28 s, 971.4 Mbit/s, verified");
        let tally = Tally { files: 1, bytes: 5, same_files: 2, failed: 1, ..Tally::default() };
        let report = Report { tally, elapsed: Duration::from_secs(1), arrived: 5 };
        let told = report.to_string();
        assert_eq!(told, "copied 1 file, 5 bytes in 1.0 s, 40 bit/s, verified; 2 files there already; 1 FAILED");
    }
}
