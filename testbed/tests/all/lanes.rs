//! Sessions of several lanes, of which one comes to nothing. Needs root, /dev/net/tun and iproute2; says so where one is missing.

use std::fs;
use std::io;
use std::sync::Arc;

use visapult_ripp_net::{Lanes, Mode, Options, Rate, Session, Sink, Source};
use visapult_testbed::namespaces::Side;

use crate::common::{PATIENCE, Testbed, eventually, session};

const RATE_BPS: u64 = 40_000_000;

/// More than is sent in any time, and where that goes.
struct Endless;

impl Source for Endless {
    fn length(&self) -> u64 {
        1 << 40
    }

    fn read_at(&self, _offset: u64, into: &mut [u8]) -> io::Result<()> {
        into.fill(7);
        Ok(())
    }
}

impl Sink for Endless {
    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn read_at(&self, _offset: u64, into: &mut [u8]) -> io::Result<()> {
        into.fill(7);
        Ok(())
    }
}

fn rates(session: &Session) -> Vec<u64> {
    session.statistics().lanes.iter().map(|lane| lane.rate_bps).collect()
}

/// UDP ports that are open on the right.
fn ports(testbed: &Testbed) -> Vec<u16> {
    let table = testbed.at(Side::Right, || fs::read_to_string("/proc/thread-self/net/udp").unwrap()).join().unwrap();
    let port = |line: &str| u16::from_str_radix(line.split_whitespace().nth(1)?.split_once(':')?.1, 16).ok();
    table.lines().skip(1).filter_map(port).collect()
}

#[test]
fn what_a_dead_lane_leaves_of_a_rate_another_sends_until_it_is_back() {
    let Some(testbed) = Testbed::up("dead-lane", &["--rate", "500M", "--rtt", "20ms"]) else { return };
    let options = Options { rate: Rate::Fixed(RATE_BPS), lanes: Lanes::Exactly(2), ..Options::default() };
    let (listener, left) = session(&testbed, options).unwrap();
    let right = listener.accept(PATIENCE).unwrap().unwrap();
    let flow = left.open_flow("endless", Mode::Lossy, 1).unwrap();
    let _outgoing = flow.send("endless", Arc::new(Endless)).unwrap();
    let _incoming = right.next_offer(PATIENCE).unwrap().unwrap().accept(Arc::new(Endless));
    eventually("equal parts", &[&left], || rates(&left) == [RATE_BPS / 2; 2]);
    testbed.must("set", &[&format!("block=udp:{}", ports(&testbed)[0])]);
    eventually("more than its part on one", &[&left], || rates(&left).iter().any(|&bps| bps > RATE_BPS * 9 / 10));
    testbed.must("set", &["block=none"]);
    eventually("equal parts again", &[&left], || rates(&left) == [RATE_BPS / 2; 2]);
}
