//! A share as the giving and as the taking end of a copy.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use visapult_ripp_net::Session;

use super::{Audit, Share, inner};
use crate::error::CopyError;
use crate::fields::{FieldPart, ONE_SOURCE};
use crate::filter::Filter;
use crate::give::{Begin, Lister, give};
use crate::landing::Landing;
use crate::opened::Opened;
use crate::people::Right;
use crate::report::Moved;
use crate::request::LAST_PATIENCE;
use crate::root::Root;
use crate::selection::{Patterns, Span};
use crate::take::take;
use crate::walk::Walk;
use crate::wish::Wish;

/// Paths of one request.
pub(super) const MOST_PATHS: usize = 1000;

/// Which of what somebody wants is meant, and when it is offered.
pub(super) struct Which<'a> {
    pub(super) only: &'a Patterns,
    pub(super) span: Option<Span>,
    pub(super) part: Option<&'a FieldPart>,
    pub(super) begin: Begin,
    /// Whoever may not read what they ask for is told what they may read below.
    pub(super) tells_grants: bool,
}

impl Share {
    /// Gives these of what whoever dialled may read.
    pub(super) fn give(
        &self,
        session: &Session,
        paths: &[String],
        which: &Which<'_>,
        stop: &AtomicBool,
        told: &mut Audit,
    ) -> Result<(), CopyError> {
        if paths.len() > MOST_PATHS {
            return Err(CopyError::Here(format!("{} paths are too many; {MOST_PATHS} may be asked for", paths.len())));
        }
        let (mut roots, mut opened) = (Vec::new(), Opened::default());
        let mut holding = self.folders.hold(session.member());
        for path in paths {
            let is_content = path.ends_with("/.");
            let path = inner(path)?;
            if which.tells_grants && self.tell_granted(session, &path)? {
                continue;
            }
            let (dir, name, path) = self.place(session, Right::Read, &path)?;
            let root = Root::within(&dir, name.as_ref(), path, &mut opened)?;
            holding.set(opened.count()).map_err(CopyError::Here)?;
            let root = if is_content { root.content() } else { root };
            roots.push(match (which.span, which.part) {
                (None, None) => root,
                (Some(span), _) => root.cut(span)?,
                (None, Some(_)) if paths.len() > 1 => return Err(CopyError::Here(ONE_SOURCE.to_owned())),
                (None, Some(part)) => root.part(part, Arc::clone(&self.turn))?,
            });
        }
        // From here on they are open as long as their files are to be had.
        drop(opened);
        let filter = Filter::new(which.only).map_err(CopyError::Here)?;
        let mut given = Moved::default();
        let outcome =
            give(session, Lister::start(Walk::new(roots, filter)), which.begin, stop, &mut given, &mut |_| {});
        (told.files, told.bytes) = (given.tally.files, given.arrived);
        told.fault = failures(given.tally.failed);
        outcome
    }

    /// Takes what whoever dialled gives to a place that they may write.
    pub(super) fn take(
        &self,
        session: &Session,
        to: &str,
        into: bool,
        wish: Wish,
        stop: &AtomicBool,
        told: &mut Audit,
    ) -> Result<(), CopyError> {
        let path = inner(to)?;
        let (dir, to) = self.place_to_write(session, &wish, &path)?;
        let may_read = self.place(session, Right::Read, &path).is_ok();
        let landing = Landing::within(&dir, to, into, wish.dry_run)?;
        let landing = landing.map(|landing| landing.known(may_read).for_span(wish.start.is_some())).transpose()?;
        let mut taken = Moved::default();
        let outcome = take(session, None, landing, wish, stop, &mut taken, &mut |_| {});
        (told.files, told.bytes) = (taken.tally.files, taken.arrived);
        told.fault = failures(taken.tally.failed);
        if outcome.is_ok() {
            session.wait_ended(LAST_PATIENCE);
        }
        outcome
    }
}

/// What an audit says of things that were not copied.
pub(super) fn failures(failed: u64) -> Option<String> {
    (failed > 0).then(|| format!("{failed} failed"))
}
