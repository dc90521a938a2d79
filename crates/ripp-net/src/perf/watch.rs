//! Ends a measurement that its user stops, or in which nothing moves any more.
//!
//! A session outlives any silence of its programs, for one may pause. A measurement has no reason to, and a server that waited for one would
//! serve nobody else.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::STOPPED;
use crate::session::{Session, SessionError};

const LOOK: Duration = Duration::from_millis(20);

/// How long a measurement is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Once its user asked to stop.
    pub(super) stop: Duration,
    /// While nothing moves, whatever keeps the session alive: the control connection, over which objects are offered, may stand still for long
    /// where packets are lost.
    pub(super) still: Duration,
}

impl Patience {
    /// Waits so long for what is under way when the user asks to stop.
    pub(super) const fn once_stopped(stop: Duration) -> Self {
        Self { stop, still: Duration::from_secs(20) }
    }
}

/// Offers so far, which are a sign of life beside the data.
#[derive(Debug, Default)]
pub(super) struct Offers(AtomicU64);

impl Offers {
    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Does `work`, but ends the session when patience ends, wherever the work waits then.
///
/// # Errors
/// Those of the work, or that no thread could be had.
pub(super) fn watched<T>(
    session: &Session,
    stop: &AtomicBool,
    patience: Patience,
    work: impl FnOnce(&Offers) -> Result<T, SessionError>,
) -> Result<T, SessionError> {
    let (done, offers) = (AtomicBool::new(false), Offers::default());
    thread::scope(|scope| {
        let watch = || {
            let mut asked = None;
            let mut stillness = Stillness::default();
            while !done.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) && asked.get_or_insert_with(Instant::now).elapsed() >= patience.stop {
                    return session.end_because(STOPPED);
                }
                if stillness.look(moved(session, &offers)) >= patience.still {
                    let s = patience.still.as_secs();
                    return session.end_because(&format!("nothing has moved for {s} s, though the other end is there"));
                }
                thread::park_timeout(LOOK);
            }
        };
        let watch = thread::Builder::new().spawn_scoped(scope, watch).map_err(SessionError::Thread)?;
        let outcome = work(&offers);
        done.store(true, Ordering::Relaxed);
        watch.thread().unpark();
        outcome
    })
}

/// What changes as long as something moves: bytes that came, datagrams that arrived or were lost, and offers.
fn moved(session: &Session, offers: &Offers) -> [u64; 4] {
    let statistics = session.statistics();
    let sent = statistics.sent();
    [statistics.received_bytes, sent.arrived, sent.lost, offers.0.load(Ordering::Relaxed)]
}

/// For how long nothing has moved. Looks are counted: time that this process was stopped for says nothing about the other end.
#[derive(Debug, Default)]
struct Stillness {
    seen: [u64; 4],
    looks: u32,
}

impl Stillness {
    fn look(&mut self, moved: [u64; 4]) -> Duration {
        self.looks = if self.seen == moved { self.looks + 1 } else { 0 };
        self.seen = moved;
        LOOK * self.looks
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::sync::{Arc, Mutex};

    use visapult_ripp::outbox::Mode;

    use super::*;
    use crate::perf::receiving::receive_within;
    use crate::perf::sending::send_within;
    use crate::perf::{Amount, FLOW};
    use crate::session::{Listener, ListenerOptions, Options, Source};
    use crate::trust::{Clients, Trust};

    const PATIENCE: Patience = Patience { stop: Duration::ZERO, still: Duration::from_millis(300) };

    fn sessions() -> (Session, Session) {
        let options =
            ListenerOptions { identity: None, token: None, clients: Clients::default(), session: Options::default() };
        let listener = Listener::bind(([127, 0, 0, 1], 0).into(), options).unwrap();
        let url = listener.url("127.0.0.1", FLOW);
        let left = Session::dial(&url, &Trust::InsecureLoopback, None, &Options::default()).unwrap();
        (left, listener.accept(Duration::from_secs(30)).unwrap().unwrap())
    }

    /// Waits for somebody who lets go of it.
    struct Stuck(Mutex<Receiver<()>>);

    impl Stuck {
        fn new() -> (Sender<()>, Self) {
            let (held, stuck) = channel();
            (held, Self(Mutex::new(stuck)))
        }
    }

    impl Source for Stuck {
        fn length(&self) -> u64 {
            1 << 20
        }

        fn read_at(&self, _offset: u64, _into: &mut [u8]) -> io::Result<()> {
            self.0.lock().unwrap().recv().map_err(io::Error::other)
        }
    }

    fn assert_given_up(outcome: Result<crate::perf::Report, crate::session::SessionError>, other: &Session) {
        assert!(outcome.unwrap_err().to_string().contains("nothing has moved"));
        assert!(other.wait_ended(Duration::from_secs(30)), "the other end goes on");
        let told = other.why_ended().unwrap();
        assert!(told.contains("other end") && told.contains("nothing has moved"), "{told}");
    }

    #[test]
    fn a_sender_that_stays_and_offers_nothing_is_given_up() {
        let (left, right) = sessions();
        assert_given_up(receive_within(&right, &AtomicBool::new(false), PATIENCE, |_| {}), &left);
    }

    #[test]
    fn a_sender_that_stays_and_sends_nothing_of_what_it_offered_is_given_up() {
        let (left, right) = sessions();
        let (held, stuck) = Stuck::new();
        let _outgoing = left.open_flow(FLOW, Mode::Reliable, 1).unwrap().send("0", Arc::new(stuck)).unwrap();
        assert_given_up(receive_within(&right, &AtomicBool::new(false), PATIENCE, |_| {}), &left);
        drop(held);
    }

    #[test]
    fn a_receiver_that_stays_and_takes_nothing_is_given_up() {
        let (left, right) = sessions();
        let amount = Amount::Bytes(1 << 20);
        assert_given_up(send_within(&left, amount, Mode::Reliable, &AtomicBool::new(false), PATIENCE, |_| {}), &right);
    }

    #[test]
    fn whatever_moves_begins_the_wait_anew() {
        let mut stillness = Stillness::default();
        for (moved, looks) in [([0; 4], 1), ([0; 4], 2), ([9, 0, 0, 0], 0), ([9, 0, 0, 0], 1), ([9, 0, 7, 0], 0)] {
            assert_eq!(stillness.look(moved), LOOK * looks);
        }
    }
}
