//! Where a program that publishes and its back ends find each other, as it is said on a command line or in the environment.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use visapult_ripp_net::units::parse_rate;
use visapult_ripp_net::{
    Identity, IdentityError, PolicyError, PolicyFile, Rate, RippUrl, Token, Undisturbed, own_host, user_folder,
};
use visapult_trace::Recording;

use crate::aloud::say;
use crate::error::FlowError;
use crate::publisher::{Publisher, PublisherOptions};

/// Names the back end to publish to, where the program names none.
pub const URL_VARIABLE: &str = "VISAPULT_URL";

/// The rate that a rank sends at, where the program says none: bits of IP packets per second (200M), or `auto`.
pub const RATE_VARIABLE: &str = "VISAPULT_RATE";

/// Names the trace file of a program that publishes; each of several ranks writes its own, with its number before the extension.
pub const TRACE_VARIABLE: &str = "VISAPULT_TRACE";

/// Names the steering log of an earlier run, whose changes and end are done again before the same steps.
pub const REPLAY_VARIABLE: &str = "VISAPULT_REPLAY";

/// Where a publisher and its back ends meet.
#[derive(Clone, Debug)]
pub enum Meeting {
    /// Back ends come to us.
    Here {
        /// The address to listen on; port 0 takes any.
        at: SocketAddr,
        /// What others call this machine.
        host: String,
    },
    /// We go to the back end.
    There(Box<RippUrl>),
    /// Nobody looks: an earlier run is done again.
    Nowhere,
}

impl Meeting {
    /// What a program asks for: the `url` of a back end, or an address to `listen` on and the name of this `host`. If it asks for neither,
    /// the back end is the one that [`URL_VARIABLE`] names; none if that is not set: nobody wants to see anything. A URL that is blank is none, here
    /// and there.
    ///
    /// # Errors
    /// If it asks for both, or one makes no sense.
    pub fn find(url: Option<&str>, listen: Option<&str>, host: Option<&str>) -> Result<Option<Self>, FlowError> {
        // The URL itself may hold a token: no message shows it.
        let there = |url: &str, from: &str| {
            let parsed = url.trim().parse().map_err(|cause| FlowError::Usage(format!("{from}: {cause}")))?;
            Ok(Some(Self::There(Box::new(parsed))))
        };
        match (url.filter(|url| !url.trim().is_empty()), listen) {
            (Some(_), Some(_)) => Err(FlowError::Usage(
                "both a URL to dial and an address to listen on are given: leave one out".to_owned(),
            )),
            (Some(url), None) => there(url, "the URL"),
            (None, Some(listen)) => {
                let wrong = |cause| {
                    FlowError::Usage(format!(
                        "cannot listen on {listen:?}: {cause}; say ADDRESS:PORT with the address in numbers, such as 0.0.0.0:0 or 127.0.0.1:0"
                    ))
                };
                let at: SocketAddr = listen.trim().parse().map_err(wrong)?;
                host.map_or(Ok(()), RippUrl::check_host).map_err(|cause| FlowError::Usage(cause.to_string()))?;
                Ok(Some(Self::Here { at, host: host.map_or_else(|| own_host(at), str::to_owned) }))
            }
            (None, None) => match env::var(URL_VARIABLE) {
                Ok(url) if !url.trim().is_empty() => there(&url, URL_VARIABLE),
                _ => Ok(replay_of_environment().map(|_| Self::Nowhere)),
            },
        }
    }
}

impl Publisher {
    /// Publishes where `meeting` says. Who listens has the user's identity: all is encrypted, and the URL holds the token that is asked for, the same
    /// each time at the same address and port.
    ///
    /// # Errors
    /// If what is declared makes no sense, or the address cannot be had.
    pub fn open(meeting: &Meeting, mut options: PublisherOptions) -> Result<Self, FlowError> {
        if let Some(rate) = rate_of_environment()? {
            options.session.rate = rate;
        }
        let _undisturbed = Undisturbed::begin();
        options.session.policy = policy_here(options.session.policy);
        let recording = recording_of_environment(options.rank, options.ranks);
        let mut publisher = match meeting {
            Meeting::There(url) => Self::dial(url, options),
            Meeting::Nowhere => Self::alone(options),
            Meeting::Here { at, host } => Self::listen(*at, host, Some(protection_at(*at)?), options),
        }?;
        publisher.recording = recording;
        if let Some(log) = replay_of_environment() {
            publisher.replay(&log)?;
        }
        Ok(publisher)
    }
}

/// A program is not kept from publishing where nothing can be kept, as on a node without the user's home.
fn protection_at(at: SocketAddr) -> Result<(Identity, Token), FlowError> {
    kept_protection(at).or_else(|cause| {
        say(&format!("{cause}; this run has a certificate and a URL of its own"));
        let identity = Identity::fresh().map_err(|cause| FlowError::Usage(cause.to_string()))?;
        Ok((identity, Token::fresh().map_err(|cause| FlowError::Usage(cause.to_string()))?))
    })
}

/// Nor where the user's rules for paths cannot be seen for that.
fn policy_here(policy: PolicyFile) -> PolicyFile {
    match policy.load() {
        Err(cause @ PolicyError::NoHome(_)) => {
            say(&format!("{cause}; this run obeys none"));
            PolicyFile::Nowhere
        }
        _ => policy,
    }
}

fn kept_protection(at: SocketAddr) -> Result<(Identity, Token), IdentityError> {
    let folder = user_folder()?;
    Ok((Identity::load_or_create(&folder)?, Token::of_listener(&folder, "publisher", at)?))
}

fn replay_of_environment() -> Option<PathBuf> {
    env::var_os(REPLAY_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn rate_of_environment() -> Result<Option<Rate>, FlowError> {
    let Ok(text) = env::var(RATE_VARIABLE) else { return Ok(None) };
    match text.trim() {
        "" | "auto" => Ok(None),
        rate => parse_rate(rate)
            .map(|bps| Some(Rate::Fixed(bps)))
            .map_err(|cause| FlowError::Usage(format!("{RATE_VARIABLE}={rate}: {cause}"))),
    }
}

/// Traces of publishers of this process: one does not take the place of another.
static TRACES: AtomicU32 = AtomicU32::new(0);

/// A program is not kept from publishing by a trace that cannot be written.
fn recording_of_environment(rank: u32, ranks: u32) -> Option<Recording> {
    let file = env::var_os(TRACE_VARIABLE).filter(|file| !file.is_empty())?;
    let first = trace_file(file.as_ref(), rank, ranks);
    let file = nth_trace_file(&first, TRACES.load(Ordering::Relaxed) + 1);
    let recording = Recording::to_file(&file, &format!("rank {rank}"))
        .inspect_err(|cause| say(&format!("{TRACE_VARIABLE}: {cause}; the program goes on without")))
        .ok()?;
    TRACES.fetch_add(1, Ordering::Relaxed);
    if file != first {
        let (file, first) = (file.display(), first.display());
        say(&format!("{TRACE_VARIABLE}: {first} is of an earlier publisher of this process: this one writes {file}"));
    }
    Some(recording)
}

/// The file of the `number`th publisher of a process, counted from 1.
fn nth_trace_file(first: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return first.to_owned();
    }
    let mut name = first.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = first.extension() {
        name.push(".");
        name.push(extension);
    }
    first.with_file_name(name)
}

fn trace_file(named: &Path, rank: u32, ranks: u32) -> PathBuf {
    if ranks == 1 {
        return named.to_owned();
    }
    match named.extension() {
        Some(extension) => named.with_extension(format!("{rank}.{}", extension.to_string_lossy())),
        None => named.with_extension(rank.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_listens_or_dials_and_not_both() {
        let here = Meeting::find(None, Some("0.0.0.0:0"), Some("login.example.org")).unwrap().unwrap();
        assert!(matches!(here, Meeting::Here { host, .. } if host == "login.example.org"));
        let there = Meeting::find(Some("ripp://127.0.0.1:9/run"), None, None).unwrap().unwrap();
        assert!(matches!(there, Meeting::There(_)));
        let both = Meeting::find(Some("ripp://127.0.0.1:9/run"), Some("127.0.0.1:0"), None);
        assert!(both.unwrap_err().to_string().contains("leave one out"));
    }

    #[test]
    fn a_blank_url_is_none() {
        for blank in ["", " \n"] {
            let here = Meeting::find(Some(blank), Some("127.0.0.1:0"), None).unwrap();
            assert!(matches!(here, Some(Meeting::Here { .. })));
            // Tests have no URL in their environment.
            assert!(Meeting::find(Some(blank), None, None).unwrap().is_none());
        }
    }

    #[test]
    fn each_rank_has_a_trace_file_of_its_own() {
        let named = Path::new("out/run.json");
        assert_eq!(trace_file(named, 0, 1), named);
        assert_eq!(trace_file(named, 2, 4), Path::new("out/run.2.json"));
        assert_eq!(trace_file(Path::new("run"), 2, 4), Path::new("run.2"));
    }

    #[test]
    fn each_publisher_of_a_process_has_a_trace_file_of_its_own() {
        let named = Path::new("out/run.2.json");
        assert_eq!(nth_trace_file(named, 1), named);
        assert_eq!(nth_trace_file(named, 3), Path::new("out/run.2-3.json"));
        assert_eq!(nth_trace_file(Path::new("run"), 2), Path::new("run-2"));
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_the_reason() {
        let listen = Meeting::find(None, Some("here"), None).unwrap_err().to_string();
        assert!(listen.contains("\"here\"") && listen.contains("ADDRESS:PORT"), "{listen}");
        let host = Meeting::find(None, Some("127.0.0.1:0"), Some("a b#c")).unwrap_err().to_string();
        assert!(host.contains("\"a b#c\""), "{host}");
        let url = Meeting::find(Some("http://x"), None, None).unwrap_err().to_string();
        assert!(url.starts_with("the URL: "), "{url}");
    }
}
