//! The vectors in `testdata/ripp/`: what this code writes must be those bytes, and must be read as what stands beside them.
//!
//! The Python tests read the same files with a decoder of their own. `VISAPULT_BLESS=1` writes them anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use visapult_ripp::cipher::Cipher;
use visapult_ripp::control::{Greeting, Hello, Message, Transport, Welcome, Word};
use visapult_ripp::digest::{CHUNK, DigestKey};
use visapult_ripp::outbox::Mode;
use visapult_ripp::record::{EPOCH_BITS, End, LaneSecret, Opener, Sealer};
use visapult_ripp::wire::{
    CLEAR_HEADER, ClearHeader, DATA_HEADER, DataHeader, Frame, NUMBER_BITS, Page, Ping, Pong, Report, TAG,
};

/// Holds `vectors` against the file of that name, or writes it.
fn hold(name: &str, vectors: &Value) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/ripp");
    let file = folder.join(format!("{name}.json"));
    let text = serde_json::to_string_pretty(vectors).unwrap() + "\n";
    if std::env::var_os("VISAPULT_BLESS").is_some() {
        fs::create_dir_all(&folder).unwrap();
        fs::write(&file, &text).unwrap();
    }
    // The order of keys depends on what other crates ask of the JSON library.
    let kept: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(kept == *vectors, "{name}.json differs from what is written now");
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn data_header() -> DataHeader {
    DataHeader { object_low: 0x0034_5678, offset: 0x0708_090a_0b0c, sent_us: 0x030d_0e0c }
}

fn data() -> Vec<u8> {
    let mut frame = vec![0; DATA_HEADER];
    data_header().write(&mut frame);
    frame.extend_from_slice(b"field");
    frame
}

fn report(page: Page) -> Report {
    Report {
        busy: 128,
        interval_us: 2_000,
        highest: 5_000_000_000,
        echo_us: 0xfeed_f00d,
        hold_us: 321,
        now_us: 0xcafe_0001,
        bytes: 0x7777_8888_9999,
        marked: 3,
        kernel_drops: 4,
        late: 5,
        delay_least_us: 0xffff_fff0,
        delay_most_us: 17,
        span_us: 1_900,
        span_bytes: 180_000,
        credit: 5_000_262_145,
        most_rate_bps: 10_000_000_000,
        lifetime_ms: 500,
        page,
    }
}

fn long_page() -> Page {
    let missing = vec![(4_999_000_000, 1), (4_999_000_129, 128), (4_999_017_000, 20_000)];
    Page { from: 4_999_000_000, to: 4_999_500_000, missing }
}

fn written(report: &Report) -> Vec<u8> {
    let mut frame = vec![0; Report::MOST];
    let length = report.write(&mut frame);
    frame.truncate(length);
    frame
}

fn report_meaning(report: &Report) -> Value {
    json!({
        "kind": "report", "busy": report.busy, "interval_us": report.interval_us, "highest": report.highest,
        "echo_us": report.echo_us, "hold_us": report.hold_us, "now_us": report.now_us, "bytes": report.bytes,
        "marked": report.marked, "kernel_drops": report.kernel_drops, "late": report.late,
        "delay_least_us": report.delay_least_us, "delay_most_us": report.delay_most_us,
        "span_us": report.span_us, "span_bytes": report.span_bytes,
        "credit": report.credit, "most_rate_bps": report.most_rate_bps, "lifetime_ms": report.lifetime_ms,
        "page": {"from": report.page.from, "to": report.page.to, "missing": report.page.missing},
    })
}

fn ping() -> Ping {
    Ping { size: 80, sent_us: 0x0102_0304, challenge: u64::MAX - 1, settled: 1 << 40, report_interval_us: 5_000 }
}

fn ping_frame() -> Vec<u8> {
    let mut frame = vec![0; 100];
    let length = ping().write(&mut frame);
    frame.truncate(length);
    frame
}

fn pong() -> Pong {
    Pong { size: 1_472, sent_us: 0x0102_0304, challenge: 0x0123_4567_89ab_cdef, hold_us: 7 }
}

fn pong_frame() -> Vec<u8> {
    let mut frame = vec![0; Pong::LENGTH];
    pong().write(&mut frame);
    frame
}

#[test]
fn frames() {
    let reports = [report(long_page()), report(Page::default())];
    let data_meaning = json!({
        "kind": "data", "object_low": 0x0034_5678, "offset": 0x0708_090a_0b0c_u64, "sent_us": 0x030d_0e0c,
        "payload": hex(b"field"),
    });
    let ping_meaning = json!({
        "kind": "ping", "size": 80, "sent_us": 0x0102_0304, "challenge": u64::MAX - 1, "settled": 1_u64 << 40,
        "report_interval_us": 5_000,
    });
    let pong_meaning = json!({
        "kind": "pong", "size": 1_472, "sent_us": 0x0102_0304, "challenge": 0x0123_4567_89ab_cdef_u64, "hold_us": 7,
    });
    let frames = [
        ("data", data(), data_meaning),
        ("report with ranges", written(&reports[0]), report_meaning(&reports[0])),
        ("report of nothing", written(&reports[1]), report_meaning(&reports[1])),
        ("ping, padded", ping_frame(), ping_meaning),
        ("pong", pong_frame(), pong_meaning),
    ];
    assert_eq!(Frame::read(&frames[0].1), Ok(Frame::Data(data_header(), b"field")));
    assert_eq!(Frame::read(&frames[1].1), Ok(Frame::Report(reports[0].clone())));
    assert_eq!(Frame::read(&frames[2].1), Ok(Frame::Report(reports[1].clone())));
    assert_eq!(Frame::read(&frames[3].1), Ok(Frame::Ping(ping())));
    assert_eq!(Frame::read(&frames[4].1), Ok(Frame::Pong(pong())));
    let good: Vec<Value> = frames
        .iter()
        .map(|(name, bytes, meaning)| json!({"name": name, "bytes": hex(bytes), "meaning": meaning}))
        .collect();
    hold("frames", &json!({"good": good, "refused": refused_frames()}));
}

/// Bytes that are no frame, each with what is wrong.
fn refused_frames() -> Vec<Value> {
    let changed = |frame: Vec<u8>, at: usize, byte: u8| {
        let mut frame = frame;
        frame[at] = byte;
        frame
    };
    let long = written(&report(long_page()));
    let first_range = 98;
    let mut endless = long.clone();
    endless.splice(first_range..=first_range, [0x80; 6]);
    let bad = [
        ("nothing", vec![]),
        ("unknown kind", vec![9; 40]),
        ("data of no bytes", data()[..12].to_vec()),
        ("data cut in its header", data()[..11].to_vec()),
        ("report cut in its page", long[..97].to_vec()),
        ("report cut in its ranges", long[..long.len() - 1].to_vec()),
        ("page that ends before it begins", changed(written(&report(Page::default())), 87, 1)),
        ("more ranges than 300", changed(long.clone(), 96, 2)),
        ("range beyond its page", changed(long.clone(), 92, 0)),
        ("integer without end", endless),
        ("ping cut", ping_frame()[..29].to_vec()),
        ("pong cut", pong_frame()[..21].to_vec()),
    ];
    bad.iter()
        .map(|(name, bytes)| {
            assert!(Frame::read(bytes).is_err(), "{name}");
            json!({"name": name, "bytes": hex(bytes)})
        })
        .collect()
}

#[test]
fn sealed_datagrams() {
    let session: [u8; 32] = std::array::from_fn(|at| at as u8 * 7 + 1);
    let mut vectors = Vec::new();
    for cipher in [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305] {
        for (lane, from, number) in [
            (0, End::Dialer, 0),
            (0, End::Listener, 1),
            (3, End::Dialer, (1 << EPOCH_BITS) + 12_345),
            (63, End::Listener, (987_654_321 << EPOCH_BITS) + 1),
            (1, End::Dialer, (5 << NUMBER_BITS) - 1),
        ] {
            let secret = LaneSecret::derive(&session, cipher, lane, from);
            let mut datagram = vec![0; CLEAR_HEADER];
            datagram.extend_from_slice(&data());
            datagram.resize(datagram.len() + TAG, 0);
            Sealer::new(secret.clone()).seal(number, &mut datagram).unwrap();
            assert_opens(&secret, number, &datagram);
            vectors.push(json!({
                "cipher": cipher, "session": hex(&session), "lane": lane, "from": side(from), "key_id": secret.key_id(),
                "end": end_before(number), "number": number, "frame": hex(&data()), "datagram": hex(&datagram),
            }));
        }
    }
    hold("sealed", &json!(vectors));
}

/// One more than the highest packet number that a receiver has accepted which gets this one next: a little below it or above.
fn end_before(number: u64) -> u64 {
    if number.is_multiple_of(2) { number.saturating_sub(70_000) } else { number + 70_000 }
}

/// Openers hold the epochs around the present one: only the first few are at hand from the beginning.
fn assert_opens(secret: &LaneSecret, number: u64, datagram: &[u8]) {
    assert_eq!(ClearHeader::read(datagram).unwrap(), ClearHeader::of(secret.key_id(), number));
    if number >> EPOCH_BITS <= 2 {
        let opened = Opener::new(secret.clone()).open(number, &mut datagram.to_vec()).map(<[u8]>::to_vec);
        assert_eq!(opened, Some(data()));
    }
}

#[test]
fn digests() {
    let session: [u8; 32] = std::array::from_fn(|at| at as u8 * 5 + 3);
    let mut vectors = Vec::new();
    for cipher in [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Chacha20Poly1305] {
        for (from, object, length) in [
            (End::Dialer, 0, 0),
            (End::Dialer, 7, 5),
            (End::Listener, u32::MAX, CHUNK),
            (End::Dialer, 8, 2 * CHUNK + 1),
        ] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let key = DigestKey::derive(&session, cipher, from);
            let mut digest = key.object(object);
            bytes.chunks(CHUNK).for_each(|chunk| digest.take(chunk).unwrap());
            vectors.push(json!({
                "cipher": cipher, "session": hex(&session), "from": side(from), "object": object, "length": length,
                "digest": hex(&digest.finish()),
            }));
        }
    }
    hold("digests", &json!(vectors));
}

const fn side(from: End) -> &'static str {
    match from {
        End::Dialer => "dialer",
        End::Listener => "listener",
    }
}

#[test]
fn messages() {
    let name = || "density".to_owned();
    let hello = Hello {
        versions: vec![2],
        token: Some("secret".to_owned()),
        name: name(),
        join: None,
        lanes: 2,
        ciphers: vec![Cipher::Aes128Gcm, Cipher::Chacha20Poly1305],
        transport: Some(Word::Known(Transport::Udp)),
        mtu: None,
        service: None,
        request: String::new(),
        plain_secret: None,
        most_bps: None,
        room: 0,
        most_lanes: None,
    };
    let for_a_share = Hello {
        service: Some("share".to_owned()),
        lanes: 1,
        most_bps: Some(950_000_000),
        room: 34_715_581,
        most_lanes: Some(8),
        ..hello.clone()
    };
    let not_a_share = "this URL is of visapult perf serve, for visapult perf send".to_owned();
    let welcome = Welcome {
        version: 2,
        cipher: Cipher::Aes128Gcm,
        ports: vec![40_001, 40_002],
        addresses: Vec::new(),
        mtu: None,
        most_bps: Some(20_000_000),
        most_lanes: Some(4),
        session: "0123456789abcdef".to_owned(),
    };
    let greeting = Greeting {
        versions: vec![2],
        ciphers: vec![Cipher::Aes128Gcm, Cipher::Chacha20Poly1305],
        port: 40_001,
        mtu: Some(1500),
        most_bps: Some(20_000_000),
        room: 34_715_581,
    };
    let messages = [
        Message::Greeting(greeting),
        Message::Hello(hello),
        Message::Welcome(welcome),
        Message::Rejected { why: "the token is wrong".to_owned(), serves: None },
        Message::Hello(for_a_share),
        Message::Rejected { why: not_a_share, serves: Some("perf".to_owned()) },
        Message::Flow { flow: 1, name: name(), mode: Mode::Deadline(Duration::from_millis(200)), weight: 3 },
        Message::Flow { flow: 2, name: name(), mode: Mode::Reliable, weight: 1 },
        Message::Offer { object: 7, flow: 1, name: "step 12".to_owned(), length: (1 << 48) - 1 },
        Message::Accept { object: 7 },
        Message::Refuse { object: 7, why: "no room".to_owned() },
        Message::Digest { object: 7, digest: "ab".repeat(32) },
        Message::Ended { object: 7, arrived: 12 },
        Message::Done { object: 7, arrived: 12, fault: None },
        Message::Cancel { object: 7, why: "superseded".to_owned() },
        Message::LanesWanted { lanes: 4 },
        Message::Lanes { ports: vec![40_003, 40_004], addresses: Vec::new() },
        Message::Alive,
        Message::Bye { why: String::new() },
    ];
    for message in &messages {
        assert_eq!(Message::from_bytes(&message.to_bytes()).unwrap(), *message);
    }
    let good: Vec<Value> =
        messages.iter().map(|message| json!(String::from_utf8(message.to_bytes()).unwrap())).collect();
    let refused = [
        "",
        "[]",
        r#"{"type":"accept"}"#,
        r#"{"type":"accept","object":4294967296}"#,
        r#"{"type":"offer","object":5,"flow":1,"name":"","length":281474976710656}"#,
        r#"{"type":"flow","flow":1,"name":"","mode":{"deadline":{"secs":86401,"nanos":0}},"weight":1}"#,
        r#"{"type":"hello","versions":[2],"token":null,"name":"","lanes":0,"ciphers":[]}"#,
    ];
    refused.iter().for_each(|text| assert!(Message::from_bytes(text.as_bytes()).is_err(), "{text}"));
    let later = [
        r#"{"type":"telepathy","strength":3}"#,
        r#"{"type":"rejected","why":"post is brought here","serves":"pigeons"}"#,
    ];
    let serves = Some("pigeons".to_owned());
    let understood = [Message::Unknown, Message::Rejected { why: "post is brought here".to_owned(), serves }];
    assert_eq!(later.map(|text| Message::from_bytes(text.as_bytes()).unwrap()), understood);
    hold("messages", &json!({"good": good, "refused": refused, "of_a_later_version": later}));
}
