//! What was found, and what could not be seen.

use serde::Serialize;

use crate::change::Change;

/// Something that holds the host or the path back at the rate asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// Stable; the name of its section in the book.
    pub id: &'static str,
    /// What it is, in two or three words.
    pub what: String,
    /// What is seen.
    pub seen: String,
    /// What it costs, and how that comes about.
    pub cost: String,
    /// The rate that is had with it, where that can be said.
    pub limit_bps: Option<u64>,
    /// What it could be.
    pub better: String,
    /// What mends it.
    pub changes: Vec<Change>,
    /// Commands that mend it, or help to, and that are not run by `--apply`.
    pub by_hand: Vec<String>,
}

/// Something that was not seen.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Unseen {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

/// What came of looking.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What was found.
    pub found: Vec<Finding>,
    /// What could not be seen.
    pub unseen: Vec<Unseen>,
    /// The path that was to be looked along, where that could not be done.
    pub no_path: Option<Unseen>,
    /// How many things were looked at and are fine.
    pub fine: usize,
}

impl Finding {
    pub(crate) fn new(id: &'static str, what: &str, seen: impl Into<String>) -> Self {
        Self {
            id,
            what: what.to_owned(),
            seen: seen.into(),
            cost: String::new(),
            limit_bps: None,
            better: String::new(),
            changes: Vec::new(),
            by_hand: Vec::new(),
        }
    }

    pub(crate) fn cost(mut self, cost: impl Into<String>) -> Self {
        self.cost = cost.into();
        self
    }

    pub(crate) fn limit(mut self, bps: f64) -> Self {
        self.limit_bps = Some(bps.max(0.0) as u64);
        self
    }

    pub(crate) fn better(mut self, better: impl Into<String>) -> Self {
        self.better = better.into();
        self
    }

    pub(crate) fn change(mut self, change: Change) -> Self {
        self.changes.push(change);
        self
    }

    pub(crate) fn by_hand(mut self, command: impl Into<String>) -> Self {
        self.by_hand.push(command.into());
        self
    }
}

impl Findings {
    pub(crate) fn add(&mut self, finding: Finding) {
        self.found.push(finding);
    }

    pub(crate) fn fine(&mut self) {
        self.fine += 1;
    }

    pub(crate) fn unseen(&mut self, what: &str, why: impl Into<String>) {
        self.unseen.push(Unseen { what: what.to_owned(), why: why.into() });
    }

    /// Takes `finding` if the rate that is had with it is less than `wanted_bps`.
    pub(crate) fn judge(&mut self, wanted_bps: f64, finding: Finding) {
        match finding.limit_bps {
            Some(limit) if (limit as f64) >= wanted_bps => self.fine(),
            _ => self.add(finding),
        }
    }

    /// Takes over what another look came to.
    pub fn merge(&mut self, other: Self) {
        self.found.extend(other.found);
        self.unseen.extend(other.unseen);
        self.no_path = self.no_path.take().or(other.no_path);
        self.fine += other.fine;
    }
}
