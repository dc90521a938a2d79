//! Ranks that are not there yet: they are waited for, named, and not waited for without end.

use std::time::{Duration, Instant};

use super::State;
use super::behind::let_go;

/// When missing ranks are named: so long after the last has come or gone.
const NAMED_AFTER: Duration = Duration::from_secs(5);
/// When those that are there, and wait until their steps are taken, are let go on without the others.
const LET_GO_AFTER: Duration = Duration::from_secs(10);
/// Missing ranks that are told by number.
const MOST_NUMBERS: usize = 4;

/// Since when nothing has changed about who is there.
#[derive(Default)]
pub(super) struct Gathering {
    since: Option<Instant>,
    has_let_go: bool,
}

impl Gathering {
    /// A rank has come, or gone.
    pub(super) fn begin(&mut self, now: Instant) {
        *self = Self { since: Some(now), has_let_go: false };
    }

    fn has_lasted(&self, time: Duration, now: Instant) -> bool {
        self.since.is_some_and(|since| now.saturating_duration_since(since) >= time)
    }
}

impl State {
    /// Which ranks have not come, where some have, and have been waited for.
    pub(in crate::flow) fn name_missing(&self, now: Instant) -> Option<String> {
        let is_due = self.gathered.is_none() && self.gathering.has_lasted(NAMED_AFTER, now);
        self.missing().filter(|_| is_due)
    }

    /// How many ranks are there, which are not, and why as far as that is known; none where all or none are there.
    pub(in crate::flow) fn missing(&self) -> Option<String> {
        let (there, ranks) = (self.ranks(), self.links.len());
        if there == 0 || there == ranks {
            return None;
        }
        let missing = (0..ranks).filter(|&rank| self.links[rank].session.is_none());
        let mut who: Vec<String> = missing.map(|rank| rank.to_string()).collect();
        let more = who.len().saturating_sub(MOST_NUMBERS);
        who.truncate(MOST_NUMBERS);
        let who = match (who.as_slice(), more) {
            ([one], _) => format!("rank {one} is missing"),
            (some, 0) => format!("ranks {} are missing", some.join(", ")),
            (some, more) => format!("ranks {} and {more} more are missing", some.join(", ")),
        };
        let why = match &self.trouble {
            Some(why) => format!("the last that was not taken, or has left: {why}"),
            None => "do they have VISAPULT_URL (Open MPI hands it on with -x VISAPULT_URL)?".to_owned(),
        };
        Some(format!("{there} of {ranks} ranks are there, {who}; {why}"))
    }

    /// Lets those go on that wait until each of their steps is taken, where others have not come for long and none can be asked for. Whether it is done now.
    pub(in crate::flow) fn let_go_of_who_waits(&mut self, now: Instant) -> bool {
        let is_due = !self.gathering.has_let_go && self.gathering.has_lasted(LET_GO_AFTER, now);
        if !is_due || !self.is_live() || !self.takes_every() || self.can_ask() {
            return false;
        }
        self.gathering.has_let_go = true;
        self.links.iter().filter_map(|link| link.session.as_ref()).for_each(|session| let_go(session));
        true
    }
}
