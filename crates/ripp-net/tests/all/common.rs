//! What the tests of sessions share: two ends over loopback, and sources and sinks that misbehave.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::{
    Clients, Identity, Listener, ListenerOptions, MemorySink, Offer, Options, RippUrl, Session, Sink, Source, Token,
    Trust,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn self_signed() -> Identity {
    let made = rcgen::generate_simple_self_signed(vec!["visapult".to_owned()]).unwrap();
    Identity::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap()
}

pub(crate) fn listener() -> (Listener, RippUrl) {
    listener_of(Options::default())
}

pub(crate) fn listener_of(session: Options) -> (Listener, RippUrl) {
    let options = ListenerOptions {
        identity: Some(self_signed()),
        token: Some(Token::fresh().unwrap()),
        clients: Clients::default(),
        session,
    };
    let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).unwrap();
    let url = listener.url("127.0.0.1", "test");
    (listener, url)
}

pub(crate) fn dial(url: &RippUrl) -> Session {
    Session::dial(url, &Trust::for_url(url).unwrap(), None, &Options::default()).unwrap()
}

/// Dialler's and listener's end.
pub(crate) fn sessions() -> (Session, Session) {
    let (listener, url) = listener();
    let dialer = dial(&url);
    let taken = listener.accept(PATIENCE).unwrap().unwrap();
    (dialer, taken)
}

pub(crate) fn next_offer(session: &Session) -> Offer {
    session.next_offer(PATIENCE).unwrap().expect("an offer")
}

/// Waits for `condition`.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}

pub(crate) fn content(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + i / 251 + i / 65_537) as u8).collect()
}

pub(crate) fn bytes_of(sink: &MemorySink) -> Vec<u8> {
    let mut bytes = vec![0; sink.length()];
    sink.read_at(0, &mut bytes).unwrap();
    bytes
}

/// An honest object goes from one end to the other, whole.
pub(crate) fn assert_works(from: &Session, to: &Session) {
    let flow = from.open_flow("honest", visapult_ripp_net::Mode::Reliable, 1).unwrap();
    let sent = content(1 << 20);
    let outgoing = flow.send("object", Arc::new(sent.clone())).unwrap();
    let offer = loop {
        let offer = next_offer(to);
        if offer.flow == "honest" {
            break offer;
        }
        offer.refuse("not this one");
    };
    let sink = Arc::new(MemorySink::new(sent.len()));
    let incoming = offer.accept(Arc::<MemorySink>::clone(&sink));
    assert_eq!(incoming.wait().unwrap().arrived, sent.len() as u64);
    assert_eq!(outgoing.wait().unwrap().arrived, sent.len() as u64);
    assert_eq!((incoming.arrived(), outgoing.arrived()), (sent.len() as u64, sent.len() as u64));
    assert!(bytes_of(&sink) == sent, "wrong bytes");
}

/// Fails once this many bytes have been written or read.
pub(crate) struct Failing {
    pub(crate) memory: Vec<u8>,
    pub(crate) sink: MemorySink,
    pub(crate) after: u64,
    pub(crate) done: AtomicU64,
}

impl Failing {
    pub(crate) fn new(length: usize, after: u64) -> Self {
        Self { memory: content(length), sink: MemorySink::new(length), after, done: AtomicU64::new(0) }
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        let done = self.done.fetch_add(bytes as u64, Ordering::Relaxed);
        if done >= self.after { Err(io::Error::other("the disk is full")) } else { Ok(()) }
    }
}

impl Source for Failing {
    fn length(&self) -> u64 {
        self.memory.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.count(into.len())?;
        Source::read_at(&self.memory, offset, into)
    }
}

impl Sink for Failing {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.count(bytes.len())?;
        self.sink.write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.sink.read_at(offset, into)
    }
}

/// Takes a while for every write, as a disk does that is slower than the link.
pub(crate) struct Slow {
    pub(crate) sink: MemorySink,
    pub(crate) pause: Duration,
    gate: (Mutex<()>, Condvar),
}

impl Slow {
    pub(crate) fn new(length: usize, pause: Duration) -> Self {
        Self { sink: MemorySink::new(length), pause, gate: (Mutex::new(()), Condvar::new()) }
    }
}

impl Sink for Slow {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let guard = self.gate.0.lock().unwrap();
        drop(self.gate.1.wait_timeout(guard, self.pause).unwrap());
        self.sink.write_at(offset, bytes)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.sink.read_at(offset, into)
    }
}

/// Keeps one byte wrong, as broken memory or a broken disk does.
pub(crate) struct Forgetful(pub(crate) MemorySink);

impl Sink for Forgetful {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset > 0 {
            return self.0.write_at(offset, bytes);
        }
        let mut bytes = bytes.to_vec();
        bytes[0] ^= 1;
        self.0.write_at(offset, &bytes)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_at(offset, into)
    }
}

/// Memory that is read and written at once what goes into several datagrams, and the calls that took.
pub(crate) struct InRuns {
    pub(crate) memory: Vec<u8>,
    pub(crate) sink: MemorySink,
    pub(crate) calls: AtomicU64,
}

impl InRuns {
    pub(crate) fn new(memory: Vec<u8>) -> Self {
        Self { sink: MemorySink::new(memory.len()), memory, calls: AtomicU64::new(0) }
    }
}

impl Source for InRuns {
    fn length(&self) -> u64 {
        self.memory.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Source::read_at(&self.memory, offset, into)
    }

    fn prefers_runs(&self) -> bool {
        true
    }

    fn memory_at(&self, offset: u64) -> Option<&[u8]> {
        Source::memory_at(&self.memory, offset)
    }
}

impl Sink for InRuns {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.sink.write_at(offset, bytes)
    }

    fn prefers_runs(&self) -> bool {
        true
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.sink.read_at(offset, into)
    }
}

/// So many zeros.
pub(crate) struct Vast(pub(crate) u64);

impl Source for Vast {
    fn length(&self) -> u64 {
        self.0
    }

    fn read_at(&self, _offset: u64, into: &mut [u8]) -> io::Result<()> {
        into.fill(0);
        Ok(())
    }
}

/// Runs `test` where loopback carries packets of `mtu` bytes; not at all where we may not make such a place.
pub(crate) fn where_loopback_carries(mtu: usize, test: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(|| {
            #[expect(unsafe_code, reason = "no safe wrapper")]
            // SAFETY: only this thread changes its network, and it opens all its sockets afterwards.
            let moved = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) };
            match moved.map(|()| loopback_carries(mtu)) {
                Ok(true) => test(),
                outcome => eprintln!("skipped: no network of our own ({outcome:?})"),
            }
        });
    });
}

/// Loopback carries packets of `mtu` bytes from here on, in the network of this thread.
pub(crate) fn loopback_carries(mtu: usize) -> bool {
    let set = ["link", "set", "lo", "up", "mtu", &mtu.to_string()].map(str::to_owned);
    std::process::Command::new("ip").args(set).status().is_ok_and(|status| status.success())
}
