//! What goes on while the control connection stands still, as one of TCP does where packets are lost.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use visapult_ripp_net::perf::{self, Amount};
use visapult_ripp_net::{Mode, Options, Rate, RippUrl, Session, Trust};

use crate::common::{PATIENCE, eventually, listener};

/// Carries a connection to `to`, but while it is held nothing of what the dialler says: it hears as ever.
struct Relay {
    port: u16,
    held: Arc<AtomicBool>,
}

impl Relay {
    fn to(to: SocketAddr) -> Self {
        let entrance = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = entrance.local_addr().unwrap().port();
        let held = Arc::new(AtomicBool::new(false));
        let gate = Arc::clone(&held);
        thread::spawn(move || {
            let from = entrance.accept()?.0;
            let to = TcpStream::connect(to)?;
            let back = (to.try_clone()?, from.try_clone()?);
            thread::spawn(move || carry(back.0, back.1, &AtomicBool::new(false)));
            carry(from, to, &gate)
        });
        Self { port, held }
    }

    fn hold(&self, held: bool) {
        self.held.store(held, Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, held: &AtomicBool) -> io::Result<()> {
    let mut bytes = [0; 4096];
    loop {
        let count = from.read(&mut bytes)?;
        while held.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(1));
        }
        if count == 0 {
            return to.shutdown(Shutdown::Write);
        }
        to.write_all(&bytes[..count])?;
    }
}

#[test]
fn what_may_be_lost_is_sent_on_while_the_control_connection_stands_still() {
    const BPS: u64 = 40_000_000;
    const BYTES: u64 = 12 << 20;
    const HELD_BYTES: u64 = 4 << 20;
    // Of 192 to 512 KiB, but the last.
    const OBJECTS: usize = 22;
    let (listener, url) = listener();
    let relay = Relay::to(listener.local_addr());
    let url = RippUrl { port: relay.port, ..url };
    let options = Options { rate: Rate::Fixed(BPS), ..Options::default() };
    let left = Session::dial(&url, &Trust::for_url(&url).unwrap(), None, &options).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let never = AtomicBool::new(false);
    thread::scope(|scope| {
        let sending = scope.spawn(|| perf::send(&left, Amount::Bytes(BYTES), Mode::Lossy, &never, |_| {}));
        let receiving = scope.spawn(|| perf::receive(&right, &never, |_| {}));
        eventually("what is on offer", || right.statistics().incoming >= OBJECTS);
        relay.hold(true);
        let before = left.statistics().sent().wire_bytes;
        eventually("sending", || left.statistics().sent().wire_bytes > before + HELD_BYTES);
        relay.hold(false);
        let report = sending.join().unwrap().unwrap();
        receiving.join().unwrap().unwrap();
        assert!(report.verified && report.bytes > HELD_BYTES, "{report:?}");
    });
}
