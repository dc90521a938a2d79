//! Real links between real namespaces. Needs root, /dev/net/tun and iproute2; says so where one is missing.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use visapult_testbed::namespaces::Side;
use visapult_testbed::stats::Report;

use crate::common::{PATIENCE, Testbed};

const RIGHT: &str = "10.7.0.2:7777";

fn stats(testbed: &Testbed, options: &[&str]) -> Report {
    serde_json::from_slice(&testbed.wan("stats", options).stdout).unwrap()
}

/// The counters once everything sent to the right, `packets` at least, has arrived or is gone.
fn settled(testbed: &Testbed, packets: u64) -> Report {
    let began = Instant::now();
    loop {
        let report = stats(testbed, &[]);
        if report.to_right.packets_in >= packets && report.to_right.in_flight == 0 {
            return report;
        }
        assert!(began.elapsed() < PATIENCE, "{report:?}");
    }
}

/// Sends datagrams from left to right, where nobody listens.
fn blast(testbed: &Testbed, packets: usize, bytes: usize) {
    let send = move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        for _ in 0..packets {
            socket.send_to(&vec![7; bytes], RIGHT).unwrap();
        }
    };
    testbed.at(Side::Left, send).join().unwrap();
}

#[test]
fn a_datagram_and_its_echo_take_the_round_trip() {
    let Some(testbed) = Testbed::up("echo", &["--rtt", "30ms"]) else { return };
    let server = testbed.at(Side::Right, || UdpSocket::bind(RIGHT).unwrap()).join().unwrap();
    let echo = testbed.at(Side::Right, move || {
        let (length, from) = server.recv_from(&mut [0; 100]).unwrap();
        server.send_to(&vec![1; length], from).unwrap();
    });
    let client = testbed.at(Side::Left, || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let began = Instant::now();
        socket.send_to(&[1; 50], RIGHT).unwrap();
        socket.recv(&mut [0; 100]).unwrap();
        began.elapsed()
    });
    assert!(client.join().unwrap() >= Duration::from_millis(30));
    echo.join().unwrap();
}

#[test]
fn the_share_lost_is_the_share_asked_for() {
    let Some(testbed) = Testbed::up("loss", &["--rate", "1G", "--loss", "10%", "--queue", "64MiB"]) else { return };
    stats(&testbed, &["--reset"]);
    blast(&testbed, 10_000, 100);
    let report = settled(&testbed, 10_000);
    // Five standard deviations of a binomial with n = 10,000.
    assert!(report.to_right.dropped.loss.abs_diff(1000) < 150, "{report:?}");
    assert_eq!(report.to_right.packets_out + report.to_right.dropped.loss, report.to_right.packets_in);
}

#[test]
fn what_arrives_never_exceeds_the_rate() {
    let Some(testbed) = Testbed::up("rate", &["--rate", "20M", "--queue", "50ms"]) else { return };
    let before = stats(&testbed, &["--reset"]);
    blast(&testbed, 2000, 1400);
    let report = settled(&testbed, 2000);
    let rate = report.to_right.bytes_out as f64 * 8.0 / report.seconds;
    assert!(rate <= 20e6, "{rate}");
    assert!(report.to_right.dropped.queue > 0 && report.to_right.queue_max_bytes <= 125_000, "{before:?} {report:?}");
}

#[test]
fn tcp_arrives_intact_through_loss_reordering_and_duplicates() {
    let options =
        ["--rtt", "4ms", "--loss", "0.5%", "--burst", "3", "--reorder", "1%", "--duplicate", "1%", "--jitter", "1ms"];
    let Some(testbed) = Testbed::up("tcp", &options) else { return };
    let sent: Vec<u8> = (0..3_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let listener = testbed.at(Side::Right, || TcpListener::bind(RIGHT).unwrap()).join().unwrap();
    let receiver = testbed.at(Side::Right, move || {
        let (mut stream, mut bytes) = (listener.accept().unwrap().0, Vec::new());
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let expected = sent.clone();
    testbed.at(Side::Left, move || TcpStream::connect(RIGHT).unwrap().write_all(&sent).unwrap()).join().unwrap();
    assert!(receiver.join().unwrap() == expected);
    let report = stats(&testbed, &[]);
    assert_eq!((report.own_errors.unwritten, report.own_errors.oversized), (0, 0));
    assert!(report.to_right.dropped.loss > 0 && report.to_right.duplicated > 0 && report.to_right.reordered > 0);
}

#[test]
fn a_link_changes_under_way_and_on_schedule() {
    let Some(testbed) = Testbed::up("set", &["--at", "1ms:to-left:loss=2%"]) else { return };
    let output = testbed.wan("set", &["--rate", "500M", "to-right:block=udp"]);
    assert!(output.status.success(), "{output:?}");
    blast(&testbed, 10, 100);
    let report = settled(&testbed, 10);
    assert_eq!((report.to_right.dropped.blocked, report.to_right.packets_out), (10, 0));
    assert_eq!((report.settings.to_left.rate.0, report.settings.to_left.loss.0), (500_000_000, 0.02));
    let refused = testbed.wan("set", &["rate=fast"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("write it like"), "{refused:?}");
}

#[test]
fn a_name_is_taken_once_and_free_again_after_down() {
    let Some(testbed) = Testbed::up("name", &[]) else { return };
    let again = testbed.wan("up", &[]);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("is up already"), "{again:?}");
    let last: Report = serde_json::from_slice(&testbed.wan("down", &[]).stdout).unwrap();
    assert_eq!(last.name, testbed.name());
    let missing = testbed.wan("exec", &["left", "true"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("is not up"), "{missing:?}");
}
