//! A link of one's own for a test, between namespaces of its own.

use std::io::{self, Write};
use std::process::{Command, Output};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use visapult_ripp_net::{Clients, Identity, Listener, ListenerOptions, Options, Session, SessionError, Token, Trust};
use visapult_testbed::namespaces::{Side, enter};

/// Long enough that only something broken runs into it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The address on the right.
pub(crate) const RIGHT: &str = "10.7.0.2";

/// Waits for `condition`, while these sessions go on.
pub(crate) fn eventually(what: &str, sessions: &[&Session], condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        let goes_on = sessions.iter().all(|session| session.is_alive()) && Instant::now() < deadline;
        assert!(goes_on, "{what} did not happen: {:?}", sessions.iter().map(|it| it.statistics()).collect::<Vec<_>>());
        thread::sleep(Duration::from_millis(5));
    }
}

/// A link that is up until this is dropped.
pub(crate) struct Testbed {
    name: String,
}

impl Testbed {
    /// A link of its own, or nothing where there can be none.
    pub(crate) fn up(test: &str, options: &[&str]) -> Option<Self> {
        let tun = std::path::Path::new("/dev/net/tun").exists();
        let iproute = Command::new("ip").arg("-V").output().is_ok();
        if !rustix::process::geteuid().is_root() || !tun || !iproute {
            // Past the capture of the test runner, so that it is seen.
            let line = format!("SKIPPED {test}: needs root, /dev/net/tun and iproute2\n");
            io::stderr().write_all(line.as_bytes()).unwrap();
            return None;
        }
        let testbed = Self { name: format!("test-{test}-{}", std::process::id()) };
        testbed.must("up", &[&["--for", "2m"], options].concat());
        Some(testbed)
    }

    /// Runs something on one side.
    pub(crate) fn at<T: Send + 'static>(&self, side: Side, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        let namespace = side.namespace(&self.name);
        thread::spawn(move || {
            enter(&namespace).unwrap();
            work()
        })
    }

    /// What `wan` calls it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs a command of `wan` on the link.
    pub(crate) fn wan(&self, command: &str, options: &[&str]) -> Output {
        let arguments = [&[command, "--name", &self.name], options].concat();
        Command::new(env!("CARGO_BIN_EXE_wan")).args(arguments).output().unwrap()
    }

    /// The same for a command that must succeed.
    pub(crate) fn must(&self, command: &str, options: &[&str]) {
        let output = self.wan(command, options);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        self.wan("down", &[]);
    }
}

/// A listener on the right, and a session to it from the left.
pub(crate) fn session(testbed: &Testbed, options: Options) -> Result<(Listener, Session), SessionError> {
    let listen = || {
        let identity = Some(Identity::load_or_create(tempfile::tempdir().unwrap().path()).unwrap());
        let token = Some(Token::fresh().unwrap());
        let options = ListenerOptions { identity, token, clients: Clients::default(), session: Options::default() };
        Listener::bind(format!("{RIGHT}:0").parse().unwrap(), options).unwrap()
    };
    let listener = testbed.at(Side::Right, listen).join().unwrap();
    let url = listener.url(RIGHT, "");
    let dial = move || Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &options);
    testbed.at(Side::Left, dial).join().unwrap().map(|session| (listener, session))
}
