//! What a share tells of what somebody has had done there, or wanted.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use visapult_objects::printable;
use visapult_ripp_net::perf::Answered;
use visapult_ripp_net::{Refused, RippUrl, Session};

use super::ends::MOST_PATHS;
use super::inner;
use crate::names::shown;
use crate::request::{Request, Verb};

/// What somebody has had done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It was copied from the share.
    Get,
    /// It was copied into the share.
    Put,
    /// It was copied into the share from another, which they named.
    Fetch {
        /// What of the other: a URL without secret for each place there.
        from: String,
    },
    /// What the path carries was measured.
    Check,
    /// They dialled, and were not let in, or did not ask for a copy.
    Dial,
}

impl Deed {
    fn of(verb: &Verb) -> Self {
        match verb {
            Verb::Get { .. } | Verb::Stripe { .. } | Verb::Fetches { .. } => Self::Get,
            Verb::Put { .. } => Self::Put,
            Verb::Fetch { from, paths, .. } => Self::Fetch { from: sources(from, paths) },
        }
    }
}

/// What is fetched from another share, without its secret.
pub(super) fn sources(from: &RippUrl, paths: &[String]) -> String {
    let share = from.without_secret();
    let whole = |path: String| if path.is_empty() { share.clone() } else { format!("{share}/{path}") };
    paths.iter().take(MOST_PATHS).map(|path| whole(place(path))).collect::<Vec<_>>().join(" ")
}

/// A place below a share, as people read it.
fn place(path: &String) -> String {
    inner(path).map_or_else(|_| printable(path.as_bytes()), |path| shown(&path))
}

/// What was done, by whom.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The name that the policy has for them.
    pub who: Option<String>,
    /// From where.
    pub peer: SocketAddr,
    /// Since when.
    pub began: SystemTime,
    /// What.
    pub deed: Deed,
    /// Of what, below the share.
    pub paths: Vec<String>,
    /// Files copied.
    pub files: u64,
    /// Bytes of content that travelled.
    pub bytes: u64,
    /// How long.
    pub elapsed: Duration,
    /// Why it ended before it was done, or how many things failed.
    pub fault: Option<String>,
}

impl Audit {
    /// Of what somebody asks for, which begins now.
    pub(super) fn of_request(session: &Session, request: Option<&Request>) -> Self {
        let verb = request.map(|request| &request.verb);
        Self {
            who: session.member().map(ToOwned::to_owned),
            peer: session.peer(),
            began: SystemTime::now(),
            deed: verb.map_or(Deed::Dial, Deed::of),
            paths: verb.map_or(&[][..], Verb::places).iter().take(MOST_PATHS).map(place).collect(),
            files: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            fault: None,
        }
    }

    pub(super) fn of_check(check: Answered) -> Self {
        let Answered { who, peer, began, elapsed, bytes, fault } = check;
        Self { who, peer, began, deed: Deed::Check, paths: Vec::new(), files: 0, bytes, elapsed, fault }
    }

    pub(super) fn of_refusal(refused: Refused) -> Self {
        let Refused { peer, when, why, untold } = refused;
        let fault = if untold > 0 { format!("{why}; {untold} more were refused since the one before") } else { why };
        let (paths, elapsed) = (Vec::new(), Duration::ZERO);
        Self { who: None, peer, began: when, deed: Deed::Dial, paths, files: 0, bytes: 0, elapsed, fault: Some(fault) }
    }
}
