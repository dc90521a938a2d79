//! The socket through which `wan stats`, `wan set` and `wan down` speak to a running emulator: one line of JSON each way.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::emulator::Order;
use crate::namespaces;
use crate::stats::Report;

const LONGEST_LINE: u64 = 1 << 16;
const PATIENCE: Duration = Duration::from_secs(10);

/// What is asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// The counters, which then start from zero if `reset`.
    Stats {
        /// Whether to count anew.
        reset: bool,
    },
    /// Changes, now and later, as text.
    Set {
        /// Now.
        changes: Vec<String>,
        /// Later.
        scheduled: Vec<String>,
    },
    /// Take the link down.
    Down,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The counters.
    Report(Box<Report>),
    /// It is done.
    Done,
    /// It is not.
    Error(String),
}

/// Where the sockets and logs of all testbeds are.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from("/run/visapult-wan")
}

/// The socket of a testbed.
#[must_use]
pub fn socket(testbed: &str) -> PathBuf {
    folder().join(format!("{testbed}.sock"))
}

/// Where the emulator of a testbed says what went wrong.
#[must_use]
pub fn log(testbed: &str) -> PathBuf {
    folder().join(format!("{testbed}.log"))
}

/// Asks a running emulator; `None` if none runs under that name.
///
/// # Errors
/// If it does not answer.
pub fn ask(testbed: &str, request: &Request) -> io::Result<Option<Answer>> {
    let Ok(mut stream) = UnixStream::connect(socket(testbed)) else { return Ok(None) };
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(|cause| match cause.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(
            io::ErrorKind::TimedOut,
            format!("the emulator of {testbed} has not answered for {PATIENCE:?}"),
        ),
        _ => cause,
    })?;
    Ok(Some(serde_json::from_str(&answer)?))
}

/// Listens under a testbed's name.
///
/// # Errors
/// If the socket cannot be made.
pub fn listen(testbed: &str) -> io::Result<UnixListener> {
    fs::create_dir_all(folder())?;
    let path = socket(testbed);
    let _ = fs::remove_file(&path);
    UnixListener::bind(path)
}

/// Passes requests on to the emulator.
#[derive(Debug)]
pub struct Server {
    /// The testbed's name.
    pub name: String,
    /// Where requests come from.
    pub listener: UnixListener,
    /// To the emulator.
    pub orders: Sender<Order>,
    /// Rung after each order.
    pub bell: Arc<OwnedFd>,
}

impl Server {
    /// Serves one request after the other, and returns the stream and the answer of a request to go down.
    #[must_use]
    pub fn run(&self) -> Option<(UnixStream, Answer)> {
        let mut unread_before = 0;
        loop {
            let (mut stream, _) = self.listener.accept().ok()?;
            let Ok(request) = receive(&stream) else { continue };
            let down = matches!(request, Request::Down);
            let answer = self.answer(request, &mut unread_before);
            if down {
                self.order(Order::Stop);
                return Some((stream, answer));
            }
            send(&mut stream, &answer);
        }
    }

    fn answer(&self, request: Request, unread_before: &mut u64) -> Answer {
        match request {
            Request::Stats { reset } => self.report(reset, unread_before),
            Request::Down => self.report(false, unread_before),
            Request::Set { changes, scheduled } => self.set(&changes, &scheduled),
        }
    }

    fn report(&self, reset: bool, unread_before: &mut u64) -> Answer {
        let (reply, answer) = channel();
        self.order(Order::Report { reset, reply });
        let Ok(mut report) = answer.recv_timeout(PATIENCE) else { return stuck() };
        let unread = namespaces::unread(&self.name);
        // Less where a side could not be asked.
        report.own_errors.unread = unread.saturating_sub(*unread_before);
        report.own_errors = report.own_errors.judged(report.seconds);
        if reset {
            *unread_before = unread.max(*unread_before);
        }
        Answer::Report(Box::new(report))
    }

    fn set(&self, changes: &[String], scheduled: &[String]) -> Answer {
        let changes = changes.iter().map(|change| change.parse()).collect::<Result<Vec<_>, _>>();
        let scheduled = scheduled.iter().map(|entry| entry.parse()).collect::<Result<Vec<_>, _>>();
        match (changes, scheduled) {
            (Ok(changes), Ok(scheduled)) => {
                let (reply, answer) = channel();
                self.order(Order::Set { changes, scheduled, reply });
                match answer.recv_timeout(PATIENCE) {
                    Ok(Ok(())) => Answer::Done,
                    Ok(Err(error)) => Answer::Error(error.to_string()),
                    Err(_) => stuck(),
                }
            }
            (Err(error), _) | (_, Err(error)) => Answer::Error(error.to_string()),
        }
    }

    fn order(&self, order: Order) {
        // An emulator that has ended answers nothing, which the caller notices.
        let _ = self.orders.send(order);
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
    }
}

fn stuck() -> Answer {
    Answer::Error("the emulator does not answer: it has ended or is starved of CPU time".into())
}

fn receive(stream: &UnixStream) -> io::Result<Request> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST_LINE)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Sends an answer; who asked may have gone.
pub fn send(stream: &mut UnixStream, answer: &Answer) {
    if let Ok(mut line) = serde_json::to_string(answer) {
        line.push('\n');
        let _ = stream.write_all(line.as_bytes());
    }
}
