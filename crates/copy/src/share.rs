//! A folder that others copy from, and into where its user allows it.

mod fetch;
mod link;
mod stripe;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cap_std::fs::Dir;
use visapult_ripp_net::{Clients, Identity, Listener, ListenerOptions, Member, Options, RippUrl, Session, Token};

use self::link::Portion;
use self::stripe::Stripe;
use crate::error::CopyError;
use crate::fetching::Fetches;
use crate::fields::{FieldPart, ONE_SOURCE, Turn};
use crate::filter::Filter;
use crate::give::{Given, give};
use crate::hours::Moment;
use crate::landing::Landing;
use crate::names::{Name, inner_path, shown};
use crate::people::{People, Right, last_name};
use crate::take::{Taken, take};
use crate::walk::{Root, Walk};
use crate::weights;
use crate::words::{Patterns, Request, STRIPES, Span, Verb, Wish, Word, unescaped};

const POLL: Duration = Duration::from_millis(100);
/// A dialler that has all it wants ends the session within this time.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
/// The session of a dialler that is back ends within this time.
const TURN_PATIENCE: Duration = Duration::from_secs(20);
/// Copies at one time.
const MOST_COPIES: usize = 32;
/// Paths of one request.
const MOST_PATHS: usize = 1000;

/// What is shared, and how.
#[derive(Debug)]
pub struct ShareOptions {
    /// The folder.
    pub folder: PathBuf,
    /// Who may copy what.
    pub access: Access,
    /// Hosts that it fetches from, as URLs name them, where somebody wants it who may write; none to fetch nothing.
    pub fetch: Vec<String>,
    /// Where to listen.
    pub bind: SocketAddr,
    /// Who we are; none is plaintext, on loopback only.
    pub identity: Option<Identity>,
    /// Options of the sessions.
    pub session: Options,
}

/// Who may copy what.
#[derive(Debug)]
pub enum Access {
    /// Whoever has the URL may copy from the share; and into it, where that is said.
    Url {
        /// Others may copy into it, too.
        write: bool,
    },
    /// Those that this file names, each what it says of them.
    Policy(PathBuf),
}

/// What was copied, by whom.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The name that the policy has for them.
    pub who: Option<String>,
    /// From where.
    pub peer: SocketAddr,
    /// Since when.
    pub began: SystemTime,
    /// It was copied into the share, not from it.
    pub into: bool,
    /// The share that it was fetched from, for whoever asked for that.
    pub fetched_from: Option<String>,
    /// What, below the share.
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

/// A folder that others copy from, and into where its user allows it.
#[derive(Debug)]
pub struct Share {
    listener: Listener,
    /// Where it lies.
    path: PathBuf,
    dir: Dir,
    name: String,
    rights: Rights,
    fetches: Fetches,
    session: Options,
    copies: Mutex<HashMap<String, Arc<Copy>>>,
    stripe: Option<Stripe>,
    /// Parts of fields are made one at a time.
    turn: Turn,
}

/// Which of what somebody wants is meant.
struct Which<'a> {
    only: &'a Patterns,
    span: Option<Span>,
    part: Option<&'a FieldPart>,
}

#[derive(Debug)]
enum Rights {
    Url { write: bool },
    People(People),
}

/// A copy under way.
#[derive(Debug)]
struct Copy {
    session: Session,
    portion: Portion,
    is_over: AtomicBool,
}

impl Share {
    /// Shares a folder: from now on it can be dialled, and is served once [`Share::serve`] runs.
    ///
    /// # Errors
    /// If it is no folder, or the address cannot be had.
    pub fn open(options: ShareOptions) -> Result<Self, CopyError> {
        let ShareOptions { folder, access, fetch, bind, identity, session } = options;
        let wrong = |cause: std::io::Error| CopyError::at(&folder, &cause);
        let real = std::fs::canonicalize(&folder).map_err(wrong)?;
        let dir = Dir::open_ambient_dir(&real, cap_std::ambient_authority()).map_err(wrong)?;
        let mut clients = Clients::default();
        let (token, rights) = match access {
            Access::Url { write } => {
                let token = Token::fresh().map_err(|cause| CopyError::Here(cause.to_string()))?;
                (Some(token), Rights::Url { write })
            }
            Access::Policy(file) => {
                let people = People::read(&file, &dir)?;
                clients.members = people.members();
                (None, Rights::People(people))
            }
        };
        let fetches = Fetches::new(&fetch)?;
        let listener = Listener::bind(bind, ListenerOptions { identity, token, clients, session: session.clone() })?;
        let (name, copies) = (url_name(&real), Mutex::default());
        Ok(Self {
            listener,
            path: real,
            dir,
            name,
            rights,
            fetches,
            session,
            copies,
            stripe: None,
            turn: Turn::default(),
        })
    }

    /// Gives as one with the shares of the same file system that name the same folder `stripe`, each of which leaves its URL there. Others reach
    /// this machine as `host`.
    ///
    /// # Errors
    /// If the folder is not for us alone, or cannot be written.
    pub fn join(&mut self, stripe: &Path, host: &str) -> Result<(), CopyError> {
        self.stripe = Some(Stripe::join(stripe, &self.path, &self.listener.url(host, &self.name))?);
        Ok(())
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.listener.local_addr()
    }

    /// What others need to copy from it or into it, if they reach this machine as `host`: where there is a policy, each under their name.
    #[must_use]
    pub fn urls(&self, host: &str) -> Vec<(Option<String>, RippUrl)> {
        let url = self.listener.url(host, &self.name);
        match &self.rights {
            Rights::Url { .. } => vec![(None, url)],
            Rights::People(people) => {
                let of = |member: Member| (Some(member.name), RippUrl { token: Some(member.token), ..url.clone() });
                people.members().into_iter().map(of).collect()
            }
        }
    }

    /// Serves until `stop` is set; tells `audit` of every copy that has ended.
    ///
    /// # Errors
    /// If nobody can be listened to any more.
    pub fn serve(&self, stop: &AtomicBool, audit: &(dyn Fn(Audit) + Sync)) -> Result<(), CopyError> {
        let mut divided = Instant::now();
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                self.end_out_of_hours();
                if divided.elapsed() >= weights::EVERY {
                    self.divide_link();
                    divided = Instant::now();
                }
                let Some(session) = self.listener.accept(POLL)? else { continue };
                scope.spawn(move || self.serve_one(session, stop, audit));
            }
            Ok(())
        })
    }

    fn serve_one(&self, session: Session, stop: &AtomicBool, audit: &(dyn Fn(Audit) + Sync)) {
        let Some(request) = Request::from_text(session.request()) else {
            return refuse(&session, "this is a share: dial it with visapult copy");
        };
        if let Err(why) = self.check(&session, &request) {
            return refuse(&session, &why);
        }
        if let Verb::Fetches { stop } = request.verb {
            return self.tell_fetches(&session, stop);
        }
        if self.may_spread(&session, &request) && self.tell_nodes(&session) {
            return linger(&session);
        }
        let portion = Portion::of(&request.verb, request.weight);
        let copy = Arc::new(Copy { session, portion, is_over: AtomicBool::new(false) });
        if let Err(why) = self.enter(&copy, &request.job) {
            return refuse(&copy.session, &why);
        }
        let mut told = Audit {
            who: copy.session.member().map(ToOwned::to_owned),
            peer: copy.session.peer(),
            began: SystemTime::now(),
            into: !matches!(request.verb, Verb::Get { .. } | Verb::Stripe { .. }),
            fetched_from: None,
            paths: Vec::new(),
            files: 0,
            bytes: 0,
            elapsed: Duration::ZERO,
            fault: None,
        };
        let began = Instant::now();
        let outcome = match (self.out_of_hours(&copy.session), &request.verb) {
            (Some(why), _) => Err(CopyError::Here(why)),
            (None, Verb::Get { paths, only, span, part }) => {
                if request.is_able(STRIPES) && part.is_none() {
                    self.tell_nodes(&copy.session);
                }
                let which = Which { only, span: *span, part: part.as_ref() };
                self.give(&copy.session, paths, &which, stop, &mut told)
            }
            (None, Verb::Stripe { paths, only, span }) => {
                let which = Which { only, span: *span, part: None };
                self.give(&copy.session, paths, &which, stop, &mut told)
            }
            (None, Verb::Fetch { .. }) => self.fetch(&copy, &request, stop, &mut told),
            (None, Verb::Fetches { .. }) => Ok(()),
            (None, Verb::Put { to, into, wish }) => self.take(&copy.session, to, *into, *wish, stop, &mut told),
        };
        told.elapsed = began.elapsed();
        if let Err(cause) = outcome {
            refuse(&copy.session, &cause.to_string());
            told.fault = Some(cause.to_string());
        }
        audit(told);
        copy.is_over.store(true, Ordering::Relaxed);
        self.copies().retain(|_, other| !Arc::ptr_eq(other, &copy));
    }

    /// Tells of the other nodes of the stripe; true if there are any. Whoever may have so much a second and no more has it from one.
    fn tell_nodes(&self, session: &Session) -> bool {
        let is_bounded = match (&self.rights, session.member()) {
            (Rights::People(people), Some(name)) => people.most_bps(name).is_some(),
            _ => false,
        };
        let urls = self.stripe.as_ref().filter(|_| !is_bounded).map(Stripe::others).unwrap_or_default();
        // Whoever is gone needs not be told.
        !urls.is_empty() && session.note(&Word::Nodes { urls }.to_text()).is_ok()
    }

    /// Whoever dialled wants to copy into this share, may do that, and can copy into several at once.
    fn may_spread(&self, session: &Session, request: &Request) -> bool {
        let (Verb::Put { to, .. } | Verb::Fetch { to, .. }) = &request.verb else { return false };
        let may_write = |to: &Path| self.place(session, Right::Write, to).is_ok();
        request.is_able(STRIPES) && inner(to).is_ok_and(|to| may_write(&to))
    }

    /// What is asked for is to be had here.
    fn check(&self, session: &Session, request: &Request) -> Result<(), String> {
        if let Some(why) = request.misfit() {
            return Err(why);
        }
        if session.name() != self.name {
            return Err(format!("there is no share of that name here, but {:?}", self.name));
        }
        Ok(())
    }

    /// Why whoever dialled may not copy now, if so.
    fn out_of_hours(&self, session: &Session) -> Option<String> {
        match (&self.rights, session.member()) {
            (Rights::People(people), Some(name)) => people.out_of_hours(name, Moment::now()),
            _ => None,
        }
    }

    /// Ends copies whose hours are over: their diallers come back, and are told.
    fn end_out_of_hours(&self) {
        for copy in self.copies().values() {
            if let Some(why) = self.out_of_hours(&copy.session) {
                copy.session.end_because(&why);
            }
        }
    }

    /// The folder that whoever dialled may do this in and that holds `path`, what that is called, and the rest of the path.
    fn place<'a>(
        &self,
        session: &Session,
        right: Right,
        path: &'a Path,
    ) -> Result<(&Dir, Option<Name>, &'a Path), CopyError> {
        let own_name = || Name::new(self.name.as_bytes());
        match (&self.rights, session.member()) {
            (Rights::Url { write: false }, _) if right == Right::Write => {
                Err(CopyError::Here("the share is read-only; whoever shares it has to say --write".to_owned()))
            }
            (Rights::Url { .. }, _) => Ok((&self.dir, own_name(), path)),
            (Rights::People(people), Some(name)) => {
                let (dir, at, rest) = people.granted(name, right, path)?;
                Ok((dir, last_name(at).or_else(own_name), rest))
            }
            (Rights::People(_), None) => Err(CopyError::Here("nobody knows who you are here".to_owned())),
        }
    }

    /// Takes a copy in. A dialler that is back takes the place of its earlier session.
    fn enter(&self, copy: &Arc<Copy>, job: &str) -> Result<(), String> {
        let before = self.copies().remove(job);
        if let Some(before) = before {
            before.session.end_because("its dialler is back");
            let deadline = Instant::now() + TURN_PATIENCE;
            while !before.is_over.load(Ordering::Relaxed) && Instant::now() < deadline {
                thread::sleep(POLL / 10);
            }
        }
        let limited = match &self.rights {
            Rights::People(people) => copy.session.member().filter(|name| people.most_bps(name).is_some()),
            Rights::Url { .. } => None,
        };
        let deadline = Instant::now() + LAST_PATIENCE;
        let mut copies = self.copies();
        // Whose rate has a bound copies one thing at a time; what they have just done may not be quite over.
        while let Some(name) = limited
            && copies.values().any(|other| other.session.member() == Some(name))
        {
            drop(copies);
            if Instant::now() > deadline {
                return Err(format!("another copy of {name}'s has all of the rate that is allowed; wait for its end"));
            }
            thread::sleep(POLL / 10);
            copies = self.copies();
        }
        if copies.len() >= MOST_COPIES {
            return Err(format!("busy with {MOST_COPIES} copies; try again later"));
        }
        copies.insert(job.to_owned(), Arc::clone(copy));
        drop(copies);
        // It may have no more than its portion from the beginning.
        self.divide_link();
        Ok(())
    }

    fn copies(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Copy>>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(
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
        let mut roots = Vec::new();
        for path in paths {
            let is_content = path.ends_with("/.");
            let path = inner(path)?;
            told.paths.push(shown(&path));
            let (dir, name, path) = self.place(session, Right::Read, &path)?;
            let root = Root::within(dir, name.as_ref(), path)?;
            let root = if is_content { root.content() } else { root };
            roots.push(match (which.span, which.part) {
                (None, None) => root,
                (Some(span), _) => root.cut(span)?,
                (None, Some(_)) if paths.len() > 1 => return Err(CopyError::Here(ONE_SOURCE.to_owned())),
                (None, Some(part)) => root.part(part, Arc::clone(&self.turn))?,
            });
        }
        let filter = Filter::new(which.only).map_err(CopyError::Here)?;
        let mut given = Given::default();
        let outcome = give(session, Walk::new(roots, filter), stop, &mut given, &mut |_| {});
        (told.files, told.bytes) = (given.tally.files, given.arrived);
        told.fault = failures(given.tally.failed);
        outcome
    }

    fn take(
        &self,
        session: &Session,
        to: &str,
        into: bool,
        wish: Wish,
        stop: &AtomicBool,
        told: &mut Audit,
    ) -> Result<(), CopyError> {
        let to = inner(to)?;
        told.paths.push(shown(&to));
        let (dir, _, to) = self.place(session, Right::Write, &to)?;
        let landing = Landing::within(dir, to, into, wish.dry_run)?;
        let landing = landing
            .map(|landing| if wish.start.is_some() { landing.of_one_name() } else { Ok(landing) })
            .transpose()?;
        let mut taken = Taken::default();
        let outcome = take(session, None, landing, wish, stop, &mut taken, &mut |_| {});
        (told.files, told.bytes) = (taken.tally.files, taken.arrived);
        told.fault = failures(taken.tally.failed);
        if outcome.is_ok() {
            linger(session);
        }
        outcome
    }
}

fn failures(failed: u64) -> Option<String> {
    (failed > 0).then(|| format!("{failed} failed"))
}

/// The dialler ends the session, once it has heard the last word.
pub(crate) fn linger(session: &Session) {
    let deadline = Instant::now() + LAST_PATIENCE;
    while session.is_alive() && Instant::now() < deadline {
        thread::sleep(POLL / 10);
    }
}

/// Says why nothing comes of it, in a way that tells the dialler not to try again.
fn refuse(session: &Session, why: &str) {
    // Whoever is gone needs not be told.
    let _ = session.note(&Word::Refused { why: why.to_owned() }.to_text());
    session.end_because(why);
}

/// A path below the share.
fn inner(text: &str) -> Result<PathBuf, CopyError> {
    let path = unescaped(text).and_then(|bytes| inner_path(&bytes));
    path.ok_or_else(|| CopyError::Here("the path leads out of the share".to_owned()))
}

/// What a folder is called in a URL.
fn url_name(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.as_bytes()).unwrap_or(b"share");
    let sign =
        |&byte: &u8| if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) { char::from(byte) } else { '-' };
    name.iter().map(sign).collect()
}
