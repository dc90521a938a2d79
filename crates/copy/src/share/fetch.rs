//! A share that takes from another, for somebody who may write there: for as long as they stay, or on without them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use visapult_ripp_net::{Options, Session};

use super::audit::sources;
use super::copies::Copy;
use super::ends::failures;
use super::{Audit, POLL, Share, inner};
use crate::copying::{RETRY, pull};
use crate::error::CopyError;
use crate::landing::Landing;
use crate::people::Right;
use crate::redial::redialled;
use crate::report::{Event, Report, Tally};
use crate::request::{LAST_PATIENCE, Request, Verb};
use crate::stripes::Striped;
use crate::words::{MOST_WHY, Word};

impl Share {
    /// Tells whoever dialled what is fetched for them, and stops one of these.
    pub(super) fn tell_fetches(&self, session: &Session, stop: Option<u64>) {
        let states = self.fetches.of(session.member(), stop).into_iter().map(Word::Fetch);
        for word in states.chain([Word::Finished(Tally::default())]) {
            // Whoever is gone does not want to know.
            let _ = session.note(&word.to_text());
        }
        session.wait_ended(LAST_PATIENCE);
    }

    /// Takes from another share what whoever dialled wants.
    pub(super) fn fetch(
        &self,
        copy: &Copy,
        request: &Request,
        stop: &AtomicBool,
        told: &mut Audit,
    ) -> Result<(), CopyError> {
        let Verb::Fetch { from, paths, only, span, part, to, into, wish, most_bps, detach } = &request.verb else {
            return Ok(());
        };
        let Copy { session, portion, .. } = copy;
        let path = inner(to)?;
        let (dir, to) = self.place_to_write(session, wish, &path)?;
        let may_read = self.place(session, Right::Read, &path).is_ok();
        if !self.fetches.may_dial(&from.host) {
            let host = &from.host;
            let why =
                format!("this share does not fetch from {host}; whoever shares it has to share it with fetch {host}");
            return Err(CopyError::Here(why));
        }
        if from.fingerprint.is_none() || from.token.is_none() {
            return Err(CopyError::Here(
                "a share is fetched from only by its whole URL, token and fingerprint".to_owned(),
            ));
        }
        let source = sources(from, paths);
        let source = visapult_objects::cut(&source, MOST_WHY);
        let fetch = self.fetches.begin(session.member(), source, &told.paths.join(" "))?;
        // Whoever means to leave does so once it has begun: what cannot be had at all they are told themselves.
        let is_alone = AtomicBool::new(false);
        let leave_alone = || {
            if *detach && !is_alone.swap(true, Ordering::Relaxed) {
                // Whoever is gone already finds it among those that are fetched.
                let _ = session.note(&Word::Detached { number: fetch.number() }.to_text());
            }
        };
        let options = Options { most_receive_bps: self.most_receive_bps(session, *most_bps), ..self.session.clone() };
        let verb = Verb::Get { paths: paths.clone(), only: only.clone(), span: *span, part: part.clone() };
        // What is fetched may be in this very share.
        let request = Request::new(&format!("{}-from", request.job), verb).weighing(request.weight);
        let is_over = AtomicBool::new(false);
        let mut report = Report::default();
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let is_left = !is_alone.load(Ordering::Relaxed) && !session.is_alive();
                    if is_left || stop.load(Ordering::Relaxed) || self.rights.out_of_hours(session).is_some() {
                        fetch.stop.store(true, Ordering::Relaxed);
                    }
                    thread::sleep(POLL);
                }
            });
            let mut tell = |event| {
                if let Event::Progress(progress) = &event {
                    portion.arrived.store(progress.arrived, Ordering::Relaxed);
                    if progress.is_listed || progress.tally != Tally::default() {
                        leave_alone();
                    }
                }
                if let Some(word) = fetch.note(event) {
                    // Whoever is gone asks again, or does not want to know.
                    let _ = session.note(&word.to_text());
                }
            };
            let may_dial = |host: &str| self.fetches.may_dial(host);
            let striped = Striped::new(from, request, options, &may_dial, &portion.most_bps);
            let outcome = redialled(RETRY, &fetch.stop, &mut report, &mut tell, |attempt, watch| {
                let landing = Landing::within(&dir, to, *into, wish.dry_run)?;
                let landing = landing.map(|landing| landing.known(may_read).for_span(span.is_some()));
                let session = striped.dial(&fetch.stop)?;
                attempt.was_admitted = true;
                pull(&session, Some(&striped), landing.transpose()?, *wish, &fetch.stop, &mut attempt.moved, watch)
            });
            is_over.store(true, Ordering::Relaxed);
            outcome
        });
        let fault = outcome.as_ref().err().map(|cause| format!("from {}: {cause}", from.without_secret()));
        let Report { tally, arrived, .. } = report;
        let failed = failures(tally.failed);
        (told.files, told.bytes) = (tally.files, arrived);
        fetch.end(fault.as_deref().or(failed.as_deref()));
        if let Some(fault) = fault {
            return Err(CopyError::Here(fault));
        }
        told.fault = failed;
        leave_alone();
        if session.note(&Word::Finished(tally).to_text()).is_ok() {
            session.wait_ended(LAST_PATIENCE);
        }
        Ok(())
    }

    /// The least of what the share, a person's policy and whoever asks allow; 0 sets no limit.
    fn most_receive_bps(&self, session: &Session, asked: u64) -> u64 {
        let own = self.session.rate.most_bps().unwrap_or(0);
        let person = self.rights.most_bps(session).unwrap_or(0);
        [own, person, asked, self.session.most_receive_bps].into_iter().filter(|&bps| bps > 0).min().unwrap_or(0)
    }
}
