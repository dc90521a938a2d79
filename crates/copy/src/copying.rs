//! Copies: what is asked for, held against what can be, and attempts at it until all is there.

mod attempt;
mod near;
mod plan;

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use visapult_ripp_net::Options;

pub(crate) use self::attempt::pull;
use self::near::is_content;
use self::plan::Plan;
use crate::conflicts::check_apart;
use crate::endpoint::Endpoint;
use crate::error::CopyError;
use crate::fields::FieldPart;
use crate::filter::Filter;
use crate::redial::redialled;
use crate::report::{Event, Report, Tally};
use crate::request::{Request, Verb};
use crate::selection::{Patterns, Span};
use crate::source_id::SourceId;
use crate::wish::{Alike, Delete, Wish};

/// How long a lost connection is dialled again, unless something else is said.
pub const RETRY: Duration = Duration::from_secs(300);

/// What is copied, and how.
#[derive(Clone, Debug)]
pub struct CopyOptions {
    /// What is copied: all in one share, or all that this machine reads itself, from folders and object stores.
    pub sources: Vec<Endpoint>,
    /// Where to.
    pub destination: Endpoint,
    /// What of it is meant.
    pub only: Patterns,
    /// Which bytes of the one file that is copied; then the destination is a new name.
    pub span: Option<Span>,
    /// Which part of the fields in the one source; then the destination is a Zarr group.
    pub part: Option<FieldPart>,
    /// What the taking end is to do.
    pub wish: Wish,
    /// What the patterns leave out is deleted, too, where anything is.
    pub unmatched: bool,
    /// Options of the session.
    pub session: Options,
    /// From one share into another: it goes on without us.
    pub detach: bool,
    /// Where copies share the other end's link: as many times as much as one of weight 1.
    pub weight: u32,
    /// How long a lost connection is dialled again.
    pub retry: Duration,
}

impl CopyOptions {
    /// All of these, to there, at whatever rate the path carries.
    #[must_use]
    pub fn new(sources: Vec<Endpoint>, destination: Endpoint) -> Self {
        Self {
            sources,
            destination,
            only: Patterns::default(),
            span: None,
            part: None,
            wish: Wish::default(),
            unmatched: false,
            session: Options::default(),
            detach: false,
            weight: 1,
            retry: RETRY,
        }
    }

    /// Holds what is asked for against itself.
    ///
    /// # Errors
    /// Which of it does not go together, and what to do.
    pub fn check(&self) -> Result<(), CopyError> {
        let has_patterns = !(self.only.include.is_empty() && self.only.exclude.is_empty());
        let deletes = self.wish.delete != Delete::Nothing;
        for (what, patterns) in [("include", &self.only.include), ("exclude", &self.only.exclude)] {
            if patterns.iter().any(String::is_empty) {
                let mend = "give it a pattern, such as '*.h5', or leave it out";
                return Err(CopyError::Misfit(format!("{what} is empty: {mend}")));
            }
        }
        let why = if deletes && has_patterns && !self.unmatched {
            "delete would delete what include and exclude leave out, too: if that is meant, say so (--delete-unmatched, delete=\"unmatched\")"
        } else if self.span.is_some() && (has_patterns || deletes) {
            "a range is of one file, which becomes a new one: leave out include, exclude and delete"
        } else if self.part.is_some() && (has_patterns || self.only.follow || self.span.is_some() || self.unmatched) {
            "a part of fields is named by field, box, stride, level, steps and error alone: leave out include, exclude, following links, range and \
             the deletion of what is unmatched"
        } else {
            return Ok(());
        };
        Err(CopyError::Misfit(why.to_owned()))
    }

    /// The part of fields that is meant, each of them once.
    fn part(&self) -> Option<FieldPart> {
        let mut part = self.part.clone()?;
        let mut seen = HashSet::new();
        part.fields.retain(|field| seen.insert(field.trim_matches('/').to_owned()));
        Some(part)
    }

    fn request(&self, job: &str, verb: Verb) -> Request {
        Request::new(job, verb).weighing(self.weight)
    }

    /// What the taking end is to do, for these sources.
    pub(crate) fn wish(&self) -> Wish {
        let is_content = self.sources.iter().any(|source| match source {
            Endpoint::Here(path) => is_content(path),
            Endpoint::There(remote) => remote.is_content,
            Endpoint::Stored(url) => url.is_content,
        });
        let mut wish = Wish { source: SourceId::around(&self.sources), ..self.wish };
        if (is_content || self.part.is_some()) && wish.delete != Delete::Nothing {
            wish.delete = Delete::InDestination;
        }
        if let Some(span) = self.span {
            // Other bytes of the same file have the same time.
            wish.start = Some(span.start);
            if wish.alike == Alike::SizeAndTime {
                wish.alike = Alike::All;
            }
        }
        wish
    }
}

/// Copies until all is there. What was copied when it fails is kept, and the next copy goes on from there.
///
/// # Errors
/// Why it ended before that. Files that could not be copied do not end it: they are counted, and told to `watch`.
pub fn copy(options: &CopyOptions, stop: &AtomicBool, watch: &mut dyn FnMut(Event)) -> Result<Report, CopyError> {
    options.check()?;
    options.sources.iter().try_for_each(Endpoint::check_source)?;
    options.destination.check_destination()?;
    Filter::new(&options.only).map_err(CopyError::Misfit)?;
    let plan = Plan::of(options)?;
    if !options.wish.is_comparison() {
        check_apart(options)?;
    }
    let mut report = Report::default();
    redialled(options.retry, stop, &mut report, watch, |attempt, watch| plan.attempt(options, stop, attempt, watch))?;
    if !options.detach {
        unmatched(&options.only, &report.tally).into_iter().for_each(|notice| watch(Event::Notice(notice)));
    }
    Ok(report)
}

/// What is to be said where patterns let nothing through.
fn unmatched(only: &Patterns, tally: &Tally) -> Option<String> {
    let Tally { wanted_files, same_files, links, failed, .. } = tally;
    if wanted_files + same_files + links + failed > 0 {
        return None;
    }
    let (include, exclude) = (only.include.join(" "), only.exclude.join(" "));
    match (include.is_empty(), exclude.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("exclude {exclude} leaves no file of the sources")),
        (false, true) => Some(format!("no file of the sources matches include {include}")),
        (false, false) => {
            Some(format!("no file of the sources that exclude {exclude} leaves matches include {include}"))
        }
    }
}
