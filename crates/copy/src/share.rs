//! A folder that others copy from, and into where its user allows it.

mod audit;
mod copies;
mod ends;
mod fetch;
mod folders;
mod link;
mod policy;
mod rights;
mod stripe;

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, Metadata};
use visapult_objects::unescaped;
use visapult_ripp_net::{Clients, Identity, Listener, ListenerOptions, Member, Options, RippUrl, Session, Token};

pub use self::audit::{Audit, Deed};
use self::copies::{Copies, Copy};
use self::ends::Which;
use self::folders::Folders;
use self::link::Portion;
use self::policy::Policy;
use self::rights::Rights;
use self::stripe::Stripe;
use crate::endpoint::Endpoint;
use crate::error::CopyError;
use crate::fetching::Fetches;
use crate::fields::Turn;
use crate::give::Begin;
use crate::names::{inner_path, shown};
use crate::request::{EARLY, GRANTS, LAST_PATIENCE, Request, SHARE, STRIPES, Verb};
use crate::source_id::SourceId;
use crate::weights;
use crate::words::Word;

const POLL: Duration = Duration::from_millis(100);
/// Diallers come back.
const STOPPED: &str = "the share was stopped";

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
    /// The folder that our key and tokens are kept in, which is nothing to be shared.
    pub secrets: Option<PathBuf>,
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
    /// Those that this file names, each what it says of them. It is read again when it changes.
    Policy(PathBuf),
}

/// What happens while a share is served.
#[derive(Clone, Debug)]
pub enum ShareEvent {
    /// A copy has ended, or was refused, or a check of the path has ended, or somebody was not let in.
    Done(Audit),
    /// The policy grants something that cannot be: all else in it holds.
    Withheld {
        /// Where that stands, why, and what mends it.
        why: String,
    },
    /// The policy was read again and has a mistake: what it said before holds for those whom it still names.
    MistakenPolicy {
        /// Which, and where.
        why: String,
        /// Those whom it does not name any more.
        out: Vec<String>,
    },
    /// The policy was read again and holds.
    Policy {
        /// Those who have tokens that nobody had before: their URLs are new.
        fresh: Vec<String>,
    },
}

/// A folder that others copy from, and into where its user allows it.
#[derive(Debug)]
pub struct Share {
    listener: Listener,
    /// Where it lies.
    path: PathBuf,
    dir: Arc<Dir>,
    name: String,
    rights: Rights,
    fetches: Fetches,
    session: Options,
    copies: Copies,
    folders: Folders,
    stripe: Option<Stripe>,
    /// Parts of fields are made one at a time.
    turn: Turn,
}

impl Share {
    /// Shares a folder: from now on it can be dialled, and is served once [`Share::serve`] runs.
    ///
    /// # Errors
    /// If it is no folder, or the address cannot be had.
    pub fn open(options: ShareOptions) -> Result<Self, CopyError> {
        let ShareOptions { folder, access, fetch, bind, identity, secrets, session } = options;
        Endpoint::Here(folder.clone()).check_shell()?;
        let wrong = |cause: std::io::Error| CopyError::at(&folder, &cause);
        let real = std::fs::canonicalize(&folder).map_err(wrong)?;
        secrets.map_or(Ok(()), |secrets| refuse_secrets(&real, &secrets))?;
        let dir = Arc::new(Dir::open_ambient_dir(&real, cap_std::ambient_authority()).map_err(wrong)?);
        let mut clients = Clients::default();
        let (token, rights) = match access {
            Access::Url { write } => {
                let token = Token::fresh().map_err(|cause| CopyError::Here(cause.to_string()))?;
                (Some(token), Rights::Url { write })
            }
            Access::Policy(file) => {
                let policy = Policy::read(file, &dir, &real)?;
                let people = policy.people();
                if let Some(why) = people.withheld().first().filter(|_| !people.grant_anything()) {
                    return Err(CopyError::Here(why.clone()));
                }
                clients.members = people.members();
                (None, Rights::People(policy))
            }
        };
        let fetches = Fetches::new(&fetch)?;
        let listening = Options { service: Some(SHARE), ..session.clone() };
        let listener = Listener::bind(bind, ListenerOptions { identity, token, clients, session: listening })?;
        Ok(Self {
            listener,
            name: url_name(&real),
            path: real,
            dir,
            rights,
            fetches,
            session,
            copies: Copies::default(),
            folders: Folders::as_limited(),
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
            Rights::People(policy) => {
                let of = |member: Member| (Some(member.name), RippUrl { token: Some(member.token), ..url.clone() });
                policy.people().members().into_iter().map(of).collect()
            }
        }
    }

    /// Serves until `stop` is set; tells of every copy that has ended, of checks of the path, of who was not let in, and of another policy. `tell` is
    /// called by who sees to rights, too, and waits for nobody.
    ///
    /// # Errors
    /// If nobody can be listened to any more.
    pub fn serve(&self, stop: &AtomicBool, tell: &(dyn Fn(ShareEvent) + Sync)) -> Result<(), CopyError> {
        let mut divided = Instant::now();
        self.tell_withheld(tell);
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                self.follow_policy(tell);
                self.end_out_of_hours();
                if divided.elapsed() >= weights::EVERY {
                    self.divide_link();
                    divided = Instant::now();
                }
                while let Some(check) = self.listener.answered_check() {
                    tell(ShareEvent::Done(Audit::of_check(check)));
                }
                while let Some(refused) = self.listener.refused() {
                    tell(ShareEvent::Done(Audit::of_refusal(refused)));
                }
                let Some(session) = self.listener.accept(POLL)? else { continue };
                scope.spawn(move || self.serve_one(session, stop, tell));
            }
            Ok(())
        })
    }

    fn serve_one(&self, session: Session, stop: &AtomicBool, tell: &(dyn Fn(ShareEvent) + Sync)) {
        let request = Request::from_text(session.request());
        let mut told = Audit::of_request(&session, request.as_ref());
        let turn_away = |session: &Session, told: Audit, why: String| {
            refuse(session, &why);
            tell(ShareEvent::Done(Audit { fault: Some(why), ..told }));
        };
        let Some(request) = request else {
            return turn_away(&session, told, SHARE.to_string());
        };
        if let Err(why) = self.check(&session, &request) {
            return turn_away(&session, told, why);
        }
        if let Verb::Fetches { stop } = request.verb {
            return self.tell_fetches(&session, stop);
        }
        if self.may_spread(&session, &request) && self.tell_nodes(&session) {
            session.wait_ended(LAST_PATIENCE);
            return;
        }
        let portion = Portion::of(&request.verb, request.weight);
        let copy = Arc::new(Copy::new(session, portion));
        // Whose rate has a bound copies one thing at a time.
        let alone = self.rights.most_bps(&copy.session).is_some();
        if let Err(why) = self.copies.enter(&copy, &request.job, alone) {
            return turn_away(&copy.session, told, why);
        }
        // It may have no more than its portion from the beginning.
        self.divide_link();
        let began = Instant::now();
        let outcome = match (self.rights.out_of_hours(&copy.session), &request.verb) {
            (Some(why), _) => Err(CopyError::Here(why)),
            (None, Verb::Get { paths, only, span, part }) => {
                if request.is_able(STRIPES) && part.is_none() {
                    self.tell_nodes(&copy.session);
                }
                self.tell_itself(&copy.session);
                let begin = if request.is_able(EARLY) { Begin::AtOnce } else { Begin::WhenAsked };
                let tells_grants = request.is_able(GRANTS);
                let which = Which { only, span: *span, part: part.as_ref(), begin, tells_grants };
                self.give(&copy.session, paths, &which, stop, &mut told)
            }
            (None, Verb::Stripe { paths, only, span }) => {
                let which = Which { only, span: *span, part: None, begin: Begin::WhenAsked, tells_grants: false };
                self.give(&copy.session, paths, &which, stop, &mut told)
            }
            (None, Verb::Fetch { .. }) => self.fetch(&copy, &request, stop, &mut told),
            (None, Verb::Fetches { .. }) => Ok(()),
            (None, Verb::Put { to, into, wish }) => self.take(&copy.session, to, *into, *wish, stop, &mut told),
        };
        told.elapsed = began.elapsed();
        if let Err(cause) = outcome {
            if stop.load(Ordering::Relaxed) && self.is_found_again() {
                copy.session.end_because(STOPPED);
            } else {
                refuse(&copy.session, &cause.to_string());
            }
            told.fault = Some(cause.to_string());
        }
        self.copies.leave(&copy);
        tell(ShareEvent::Done(told));
    }

    /// Tells of the other nodes of the stripe; true if there are any. Whoever may have so much a second and no more has it from one.
    fn tell_nodes(&self, session: &Session) -> bool {
        let is_bounded = self.rights.most_bps(session).is_some();
        let urls = self.stripe.as_ref().filter(|_| !is_bounded).map(Stripe::others).unwrap_or_default();
        // Whoever is gone needs not be told.
        !urls.is_empty() && session.note(&Word::Nodes { urls }.to_text()).is_ok()
    }

    /// Tells which share it is: what was begun from another is not gone on with. Nodes of a stripe may have its folder elsewhere.
    fn tell_itself(&self, session: &Session) {
        if self.stripe.is_none() {
            // Whoever is gone needs not be told.
            let _ = session.note(&Word::Share { source: SourceId::at(&self.path) }.to_text());
        }
    }

    /// Whoever dials once more finds it when it is back, or another node of its stripe: tokens of a policy stay what they are.
    fn is_found_again(&self) -> bool {
        let has_others = |stripe: &Stripe| !stripe.others().is_empty();
        matches!(self.rights, Rights::People(_)) || self.stripe.as_ref().is_some_and(has_others)
    }

    /// Whoever dialled wants to copy into this share, may do that, and can copy into several at once.
    fn may_spread(&self, session: &Session, request: &Request) -> bool {
        let (Verb::Put { to, wish, .. } | Verb::Fetch { to, wish, .. }) = &request.verb else { return false };
        let may_write = |to: &Path| self.place_to_write(session, wish, to).is_ok();
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
        if !rights::is_same(std::fs::metadata(&self.path).map(Metadata::from_just_metadata), &self.dir) {
            let mend = "whoever shares it sees that it is the right one, and starts the share again";
            return Err(format!("the folder is not the one any more that was shared: {mend}"));
        }
        Ok(())
    }

    /// Ends copies whose hours are over: their diallers come back, and are told.
    fn end_out_of_hours(&self) {
        for copy in self.copies.look().values() {
            if let Some(why) = self.rights.out_of_hours(&copy.session) {
                copy.session.end_because(&why);
            }
        }
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

/// Whoever reads our key and tokens could pass for us.
fn refuse_secrets(shared: &Path, secrets: &Path) -> Result<(), CopyError> {
    if std::fs::canonicalize(secrets).is_ok_and(|at| at.starts_with(shared)) {
        let what = "holds your key and tokens, and lies in the folder that is shared";
        let mend = "share a folder that does not hold it, or keep it elsewhere (XDG_CONFIG_HOME)";
        return Err(CopyError::Here(format!("{} {what}: {mend}", shown(secrets))));
    }
    Ok(())
}

/// What a folder is called in a URL.
fn url_name(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.as_bytes()).unwrap_or(b"share");
    let sign =
        |&byte: &u8| if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) { char::from(byte) } else { '-' };
    name.iter().map(sign).collect()
}
