//! A flood of dials that come to nothing: few are logged, and a log that nobody reads holds up one thread.

use std::collections::HashSet;
use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::sync::{Condvar, Mutex, OnceLock};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use visapult_ripp_net::{ControlEvent, ControlLink, Listener, RippUrl, Trust};

use crate::common::{PATIENCE, assert_works, dial, eventually, listener};

/// More than are logged one after the other.
const MANY: usize = 60;
/// So many are, and one more every ten seconds.
const MOST_LOGGED: usize = 20;

/// Lines that tell of no session, each of which waits while its port is stuck.
#[derive(Default)]
struct Log {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<String>,
    /// Nobody reads lines with these ports.
    stuck: HashSet<u16>,
}

/// The log of this program, in which other tests run.
fn log() -> &'static Log {
    static LOG: OnceLock<&'static Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log: &'static Log = Box::leak(Box::default());
        tracing::subscriber::set_global_default(log).unwrap();
        log
    })
}

impl Log {
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let done = work(&mut self.state.lock().unwrap());
        self.changed.notify_all();
        done
    }
}

/// The port of the peer in a line such as `no session with 127.0.0.1:4000: why`.
fn port(line: &str) -> Option<u16> {
    let peer = line.strip_prefix("no session with ")?.split(": ").next()?;
    peer.parse::<SocketAddr>().ok().map(|peer| peer.port())
}

impl Subscriber for &'static Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::INFO
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let Some(port) = port(&line.0) else { return };
        let mut state = self.state.lock().unwrap();
        state.lines.push(line.0);
        while state.stuck.contains(&port) {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            write!(self.0, "{value:?}").unwrap();
        }
    }
}

/// Dials that say what is no message, and hear that that is wrong. Returns their ports.
fn flood(url: &RippUrl, before: impl Fn(u16)) -> HashSet<u16> {
    let dial = |_| {
        let link = ControlLink::dial(url, &Trust::for_url(url).unwrap(), None, PATIENCE).unwrap();
        let port = link.local_addr().port();
        before(port);
        let (sender, receiver) = link.split().unwrap();
        sender.send(b"null").unwrap();
        assert!(matches!(receiver.recv_timeout(PATIENCE), Some(ControlEvent::Message(_))));
        port
    };
    (0..MANY).map(dial).collect()
}

fn lines_of(ports: &HashSet<u16>) -> Vec<String> {
    let is_theirs = |line: &&String| port(line).is_some_and(|port| ports.contains(&port));
    log().with(|state| state.lines.iter().filter(is_theirs).cloned().collect())
}

fn assert_still_works(listener: &Listener, url: &RippUrl) {
    let left = dial(url);
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    assert_works(&left, &right);
}

#[test]
fn few_of_a_flood_are_logged() {
    log();
    let (listener, url) = listener();
    let ports = flood(&url, |_| {});
    assert_still_works(&listener, &url);
    let lines = lines_of(&ports);
    assert!((1..=MOST_LOGGED).contains(&lines.len()), "{lines:?}");
}

#[test]
fn a_log_that_nobody_reads_holds_up_one_thread() {
    log();
    let (listener, url) = listener();
    let ports = flood(&url, |port| assert!(log().with(|state| state.stuck.insert(port))));
    assert_still_works(&listener, &url);
    eventually("a line", || !lines_of(&ports).is_empty());
    assert_eq!(lines_of(&ports).len(), 1);
    log().with(|state| state.stuck.retain(|port| !ports.contains(port)));
    // The next that comes tells of the others.
    let told = || lines_of(&flood(&url, |_| {})).first().is_some_and(|line| line.contains("nothing was told"));
    eventually("what was left out is told", told);
}
