//! What the dialler of a copy asks the listener for, in the request of its session.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use visapult_ripp_net::{RippUrl, Service};

use crate::fields::FieldPart;
use crate::selection::{Patterns, Span};
use crate::wish::Wish;

/// Files and folders.
pub(crate) const SHARE: Service =
    Service { name: "share", printed_by: "visapult share", taken_by: "visapult copy, visapult ls and visapult verify" };
/// A dialler that has heard the last word ends the session within this time.
pub(crate) const LAST_PATIENCE: Duration = Duration::from_secs(5);
/// What this build speaks: what every build of it understands; with parts of fields, which older ones would take for whole files; and with links
/// followed, which those would take for links.
pub(crate) const VERSION: u32 = 2;
const VERSION_WITH_PARTS: u32 = 3;
const VERSION_THAT_FOLLOWS: u32 = 4;
/// What a dialler is able of that takes from, or gives to, several nodes of a striped share at once.
pub(crate) const STRIPES: &str = "stripes";
/// What a dialler is able of that holds ranges which are offered before it could ask for them, until it knows whether it wants them.
pub(crate) const EARLY: &str = "early";
/// What a dialler is able of that lists, and is told what it may read below what it asks for, where it may not read that itself.
pub(crate) const GRANTS: &str = "grants";
const KIND: &str = "copy";

/// What the dialler wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    kind: String,
    pub(crate) version: u32,
    /// What the dialler can beside what every build of this version can.
    #[serde(default)]
    pub(crate) able: Vec<String>,
    /// The same for every session of one copy, and for no other copy.
    pub(crate) job: String,
    /// Of those that share a link with it: this many times as much as one of weight 1.
    #[serde(default = "one")]
    pub(crate) weight: u32,
    #[serde(flatten)]
    pub(crate) verb: Verb,
}

/// Which way things go. Paths are below the share, and [`escaped`](visapult_objects::escaped).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case")]
pub(crate) enum Verb {
    /// The listener gives these.
    Get {
        /// Files and folders.
        paths: Vec<String>,
        /// Which of what is in them.
        #[serde(default)]
        only: Patterns,
        /// Which bytes of the one file.
        #[serde(default)]
        span: Option<Span>,
        /// Which part of the fields in the one source.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<FieldPart>,
    },
    /// The listener gives what the dialler wants of these, as one node of a striped share, of which another lists and counts.
    Stripe {
        /// Files and folders.
        paths: Vec<String>,
        /// Which of what is in them.
        #[serde(default)]
        only: Patterns,
        /// Which bytes of the one file.
        #[serde(default)]
        span: Option<Span>,
    },
    /// The listener takes what the dialler gives.
    Put {
        /// Where to.
        to: String,
        /// Into a folder of that name, whether it is there or not.
        into: bool,
        #[serde(default)]
        wish: Wish,
    },
    /// The listener takes these from another share.
    Fetch {
        /// The other share, with its token.
        #[serde(with = "url_text")]
        from: RippUrl,
        /// Files and folders there.
        paths: Vec<String>,
        #[serde(default)]
        only: Patterns,
        #[serde(default)]
        span: Option<Span>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<FieldPart>,
        /// Where to, here.
        to: String,
        into: bool,
        #[serde(default)]
        wish: Wish,
        /// Bits per second at most; 0 sets no limit.
        #[serde(default)]
        most_bps: u64,
        /// It goes on when the dialler leaves.
        #[serde(default)]
        detach: bool,
    },
    /// The listener tells what it fetches.
    Fetches {
        /// And stops this one.
        #[serde(default)]
        stop: Option<u64>,
    },
}

impl Verb {
    /// What it is about, below the share.
    pub(crate) fn places(&self) -> &[String] {
        match self {
            Self::Get { paths, .. } | Self::Stripe { paths, .. } => paths,
            Self::Put { to, .. } | Self::Fetch { to, .. } => std::slice::from_ref(to),
            Self::Fetches { .. } => &[],
        }
    }
}

const fn one() -> u32 {
    1
}

/// A URL as text.
mod url_text {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use visapult_ripp_net::RippUrl;

    pub(super) fn serialize<S: Serializer>(url: &RippUrl, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(url)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RippUrl, D::Error> {
        String::deserialize(from)?.parse().map_err(de::Error::custom)
    }
}

impl Request {
    pub(crate) fn new(job: &str, verb: Verb) -> Self {
        let version = match &verb {
            Verb::Get { only, .. } | Verb::Stripe { only, .. } | Verb::Fetch { only, .. } if only.follow => {
                VERSION_THAT_FOLLOWS
            }
            Verb::Get { part: Some(_), .. } | Verb::Fetch { part: Some(_), .. } => VERSION_WITH_PARTS,
            _ => VERSION,
        };
        Self { kind: KIND.to_owned(), version, able: Vec::new(), job: job.to_owned(), weight: 1, verb }
    }

    /// Whoever dialled can do this.
    pub(crate) fn is_able(&self, what: &str) -> bool {
        self.able.iter().any(|able| able == what)
    }

    /// The same with this weight.
    pub(crate) fn weighing(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    pub(crate) fn to_text(&self) -> String {
        #[expect(clippy::expect_used, reason = "plain data")]
        serde_json::to_string(self).expect("plain data")
    }

    /// Why it is not understood here, if so.
    pub(crate) fn misfit(&self) -> Option<String> {
        let theirs = self.version;
        let is_known = (VERSION..=VERSION_THAT_FOLLOWS).contains(&theirs);
        (!is_known).then(|| {
            format!("it speaks version {VERSION_THAT_FOLLOWS} of the copy protocol, you {theirs}: update the older one")
        })
    }

    /// None if the dialler wants something else.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        serde_json::from_str::<Self>(text).ok().filter(|request| request.kind == KIND)
    }
}

#[cfg(test)]
mod tests {
    use visapult_objects::escaped;

    use super::*;

    #[test]
    fn requests_survive_the_journey() {
        let only = Patterns { include: vec!["*.h5".to_owned()], ..Patterns::default() };
        for verb in [
            Verb::Get { paths: vec![escaped(b"a b/\xff")], only, span: Some(Span { start: 5, end: None }), part: None },
            Verb::Get {
                paths: vec![String::new()],
                only: Patterns::default(),
                span: None,
                part: Some(FieldPart::default()),
            },
            Verb::Put { to: String::new(), into: true, wish: Wish { dry_run: true, ..Wish::default() } },
        ] {
            let request = Request::new("1f", verb);
            assert_eq!(Request::from_text(&request.to_text()), Some(request));
        }
        assert_eq!(Request::from_text(r#"{"kind":"perf","version":1,"job":"","verb":"get","paths":[]}"#), None);
    }
}
