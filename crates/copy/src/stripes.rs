//! Striped shares, as who dials has them: several machines that share one file system, one of which was named and tells of the others.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use visapult_ripp_net::{Options, RippUrl, Session, Token};

use crate::dialling::{dial, reach};
use crate::error::CopyError;
use crate::request::{EARLY, Request, STRIPES, Verb};

/// Nodes of a striped share beside the one that was dialled, at most.
pub(crate) const MOST_NODES: usize = 63;

/// A share that is copied from, and the other nodes of its stripe, once it has told of them.
pub(crate) struct Striped<'a> {
    url: &'a RippUrl,
    request: Request,
    options: Options,
    may_dial: &'a dyn Fn(&str) -> bool,
    /// What may be received at present beside that; 0 sets no limit.
    most_bps: &'a AtomicU64,
    /// Those that are known.
    nodes: RefCell<Vec<RippUrl>>,
}

/// What came of dialling a node.
pub(crate) struct Dialled {
    /// `host:port`.
    pub(crate) node: String,
    pub(crate) session: Result<Session, CopyError>,
}

impl<'a> Striped<'a> {
    /// What `request`, a [`Verb::Get`], asks for, from `url` and others of its stripe whose host `may_dial` allows, no faster than `most_bps` says.
    pub(crate) fn new(
        url: &'a RippUrl,
        mut request: Request,
        options: Options,
        may_dial: &'a dyn Fn(&str) -> bool,
        most_bps: &'a AtomicU64,
    ) -> Self {
        request.able.extend([STRIPES, EARLY].map(str::to_owned));
        Self { url, request, options, may_dial, most_bps, nodes: RefCell::default() }
    }

    /// Greatest rate of all its sessions together at present; 0 sets no limit.
    pub(crate) fn most_receive_bps(&self) -> u64 {
        let known = [self.options.most_receive_bps, self.most_bps.load(Ordering::Relaxed)];
        known.into_iter().filter(|&bps| bps > 0).min().unwrap_or(0)
    }

    /// Dials the share; where that does not answer any more, another node of it.
    pub(crate) fn dial(&self, stop: &AtomicBool) -> Result<Session, CopyError> {
        let dialled = |url| reach(stop, dial, url, &self.options, &self.request);
        let outcome = dialled(self.url);
        let nodes = self.nodes.borrow();
        match outcome {
            Err(cause) if cause.may_pass() => {
                let session = nodes.iter().find_map(|node| dialled(node).ok());
                session.ok_or_else(|| if stop.load(Ordering::Relaxed) { CopyError::Stopped } else { cause })
            }
            outcome => outcome,
        }
    }

    /// Dials what the share has told of, each on a thread of its own.
    pub(crate) fn dial_nodes(&self, urls: &[String]) -> Receiver<Dialled> {
        let nodes: Vec<RippUrl> = urls.iter().take(MOST_NODES).filter_map(|url| self.node(url)).collect();
        let (dialled_in, dialled) = channel();
        for url in &nodes {
            let Some(request) = self.part_of() else { break };
            let (url, options, dialled) = (url.clone(), self.options.clone(), dialled_in.clone());
            // Whoever is not waited for any more is closed.
            thread::spawn(move || {
                let session = dial(&url, &options, &request);
                let _ = dialled.send(Dialled { node: url.authority(), session });
            });
        }
        self.nodes.replace(nodes);
        dialled
    }

    /// A node that may be dialled: by its certificate, with its own token or that of the share.
    fn node(&self, url: &str) -> Option<RippUrl> {
        let url: RippUrl = url.parse().ok()?;
        let token: Option<Token> = url.token.clone().or_else(|| self.url.token.clone());
        let is_sound = url.fingerprint.is_some() && token.is_some() && (self.may_dial)(&url.host);
        is_sound.then_some(RippUrl { token, ..url })
    }

    /// The same, of a node that neither lists nor counts.
    fn part_of(&self) -> Option<Request> {
        // A part of fields is made by one.
        let Verb::Get { paths, only, span, part: None } = &self.request.verb else { return None };
        let verb = Verb::Stripe { paths: paths.clone(), only: only.clone(), span: *span };
        Some(Request::new(&self.request.job, verb).weighing(self.request.weight))
    }
}
