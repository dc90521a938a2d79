//! A real server and real WebSocket clients: what good pages get, and what bad ones are told.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Error, Message, WebSocket, connect};
use visapult_pipeline::{BackEnd, BackEndConfig, Device};
use visapult_portal::{Patience, Portal, PortalConfig, Stage, Tokens, stage};

type Socket = WebSocket<MaybeTlsStream<TcpStream>>;

const WELCOME: u8 = 1;
const NOTICE_OF_VIEW: u8 = 64;
const STEER: u8 = 66;
const NOTICE: u8 = 5;
const ACK: u8 = 65;
const CLOCK: u8 = 67;
const CLOCK_ANSWER: u8 = 8;
const BRICKS: u8 = 16;
const SCALAR_SLABS: u8 = 19;
const STILL: u8 = 18;
const FIELD: u8 = 3;
const HEADER_BYTES: usize = 28;
/// Long enough that only something broken runs into it.
const PATIENCE: Duration = Duration::from_secs(30);

struct Server {
    authority: String,
    token: String,
    watch_token: String,
}

/// One server for all tests, on a file.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let (server, stage) = empty_server();
        stage.show(ramp());
        server
    })
}

/// A server whose back end is still to come.
fn empty_server() -> (Server, Stage) {
    empty_server_with(Patience::default())
}

fn empty_server_with(patience: Patience) -> (Server, Stage) {
    let tokens = Tokens::fresh().unwrap();
    let config = PortalConfig { port: Some(0), patience, ..PortalConfig::with_tokens(tokens.clone()) };
    let portal = Portal::bind(config).unwrap();
    let url = portal.url();
    let authority = url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    let (stage, shown) = stage("It is on its way.");
    std::thread::spawn(move || portal.serve(shown, None).unwrap());
    let [token, watch_token] = [&tokens.steer, &tokens.watch].map(|token| token.encoded());
    (Server { authority, token, watch_token }, stage)
}

/// A server that waits no longer than `patience` allows, and a session of it.
fn impatient(patience: Patience) -> (Server, Socket) {
    let (server, stage) = empty_server_with(patience);
    stage.show(ramp());
    let session = open_at(&server, &format!("/session?token={}", server.token)).unwrap();
    (server, session)
}

/// What a client gets that says `words` and nothing more, until the server closes the connection.
fn answer_to(server: &Server, words: &str) -> String {
    let mut client = TcpStream::connect(&server.authority).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(words.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

/// The answer to an ordinary request.
fn answer_to_get(server: &Server, path_and_query: &str) -> String {
    answer_to(server, &format!("GET {path_and_query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
}

/// The status of an answer to an ordinary request.
fn status_without_upgrade(path_and_query: &str) -> u16 {
    answer_to_get(server(), path_and_query).split(' ').nth(1).unwrap().parse().unwrap()
}

/// A file of 96 x 64 x 64 values, over two PEs.
fn ramp() -> Arc<BackEnd> {
    static FILE: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    // Written once: tests run side by side.
    let (_, source) = FILE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = write_ramp(folder.path());
        (folder, source)
    });
    let source = source.clone();
    BackEnd::open(&BackEndConfig { source, pes: 2, threads: 2, device: Device::Cpu, crew: None }).unwrap()
}

/// A numpy file, version 1.0: magic, length of the header, header, values.
fn write_ramp(folder: &std::path::Path) -> String {
    let description = "{'descr': '<f4', 'fortran_order': False, 'shape': (64, 64, 96), }";
    let header = format!("{description:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.into_bytes());
    bytes.extend((0..64 * 64 * 96_u32).flat_map(|i| ((i % 96) as f32 / 95.0).to_le_bytes()));
    let path = folder.join("ramp.npy");
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn open(path_and_query: &str) -> Result<Socket, Error> {
    open_at(server(), path_and_query)
}

fn open_at(server: &Server, path_and_query: &str) -> Result<Socket, Error> {
    let (socket, _) = connect(format!("ws://{}{path_and_query}", server.authority))?;
    if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    Ok(socket)
}

fn open_session() -> (Socket, Value) {
    let mut socket = open(&format!("/session?token={}", server().token)).unwrap();
    let welcome = next_control(&mut socket, WELCOME);
    (socket, welcome)
}

fn open_data(welcome: &Value, group: usize) -> Socket {
    let session = welcome["session"].as_str().unwrap();
    open(&format!("/data?token={}&session={session}&group={group}", server().token)).unwrap()
}

fn next_control(socket: &mut Socket, kind: u8) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "no message of kind {kind} came");
        if let Message::Binary(bytes) = socket.read().unwrap()
            && bytes[0] == kind
        {
            return serde_json::from_slice(&bytes[1..]).unwrap();
        }
    }
}

fn view(change: impl FnOnce(&mut Value)) -> Message {
    let mut view = json!({
        "sequence": 1,
        "camera": {"azimuth": 30, "elevation": 20, "distance": 3, "fov": 30, "target": [0, 0, 0]},
        "viewport": [160, 120], "field": 0, "step": null, "moving": false, "proxy": "auto",
        "transfer_function": {"range": [0, 1], "points": [[0, 0, 0, 0, 0], [1, 1, 1, 1, 0.5]]}
    });
    change(&mut view);
    let mut bytes = vec![NOTICE_OF_VIEW];
    bytes.extend(view.to_string().into_bytes());
    Message::Binary(bytes.into())
}

/// Reads bulk messages, acknowledging each, until `enough` says so.
fn read_bulk(socket: &mut Socket, mut enough: impl FnMut(&[u8]) -> bool) {
    let mut received = 0_u64;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let Message::Binary(bytes) = socket.read().unwrap() else { continue };
        received += bytes.len() as u64;
        let mut ack = vec![ACK, 0, 0, 0];
        ack.extend(received.to_le_bytes());
        socket.send(Message::Binary(ack.into())).unwrap();
        if enough(&bytes) {
            return;
        }
    }
    panic!("what was waited for did not come");
}

/// The same of all data connections of a session: what one does not acknowledge leaves no room for the others.
fn read_all(data: &mut [Socket], enough: impl Fn(&[u8]) -> bool + Sync) {
    std::thread::scope(|scope| {
        for socket in data {
            scope.spawn(|| read_bulk(socket, &enough));
        }
    });
}

fn is_completing(bytes: &[u8], kind: u8) -> bool {
    bytes[0] == kind && bytes[1] & 1 == 1
}

/// The reason with which the server closes the connection, because a rule was broken.
fn reason_of_close(socket: &mut Socket) -> String {
    reason_of_close_as(1008, socket)
}

/// The same with this code: 1007 where what was said cannot be read.
fn reason_of_close_as(code: u16, socket: &mut Socket) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "it is not closed");
        match socket.read() {
            Ok(Message::Close(frame)) => {
                let frame = frame.expect("a reason is given");
                assert_eq!(u16::from(frame.code), code);
                return frame.reason.to_string();
            }
            Ok(_) => {}
            Err(problem) => panic!("closed without a reason: {problem}"),
        }
    }
}

fn status_of_refusal(path_and_query: &str, origin: Option<&str>) -> u16 {
    let mut request = format!("ws://{}{path_and_query}", server().authority).into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("Origin", origin.parse().unwrap());
    }
    match connect(request) {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_page_may_come_before_what_it_is_to_show() {
    let (server, stage) = empty_server();
    let mut early = open_at(&server, &format!("/session?token={}", server.token)).unwrap();
    let told = next_control(&mut early, NOTICE)["text"].to_string();
    assert!(told.contains("It is on its way."), "{told}");
    stage.show(ramp());
    assert_eq!(next_control(&mut early, WELCOME)["groups"], 2);
}

#[test]
fn a_server_ends_when_there_will_be_nothing_to_show() {
    let (stage, shown) = stage("It is on its way.");
    let config = PortalConfig { port: Some(0), ..PortalConfig::with_tokens(Tokens::fresh().unwrap()) };
    let serving = std::thread::spawn(move || Portal::bind(config).unwrap().serve(shown, None).unwrap());
    drop(stage);
    serving.join().unwrap();
}

#[test]
fn a_page_gets_bricks_from_coarse_to_fine_and_then_a_still() {
    let (mut control, welcome) = open_session();
    assert_eq!(welcome["source"]["grid"]["size"], json!([96, 64, 64]));
    let mut data: Vec<Socket> = (0..2).map(|group| open_data(&welcome, group)).collect();
    control.send(view(|_| {})).unwrap();
    let field = next_control(&mut control, FIELD);
    assert_eq!(field["range"], json!([0.0, 1.0]));
    assert_eq!(field["finite"], 96 * 64 * 64);
    std::thread::scope(|scope| {
        for socket in &mut data {
            scope.spawn(|| {
                let mut levels = Vec::new();
                read_bulk(socket, |bytes| {
                    if is_completing(bytes, BRICKS) {
                        levels.push(bytes[HEADER_BYTES]);
                    }
                    is_completing(bytes, STILL)
                });
                assert!(levels.len() >= 2 && levels.is_sorted_by(|a, b| a >= b), "{levels:?}");
                assert_eq!(levels.last(), Some(&0));
            });
        }
    });
}

#[test]
fn slabs_come_when_they_are_asked_for() {
    let (mut control, welcome) = open_session();
    let mut data: Vec<Socket> = (0..2).map(|group| open_data(&welcome, group)).collect();
    control.send(view(|v| v["proxy"] = "slabs".into())).unwrap();
    read_all(&mut data, |bytes| is_completing(bytes, SCALAR_SLABS));
}

#[test]
fn a_page_that_never_acknowledges_is_sent_a_bounded_amount_and_disturbs_nobody() {
    let (mut control, welcome) = open_session();
    let mut silent = open_data(&welcome, 0);
    control.send(view(|_| {})).unwrap();
    let (mut other_control, other_welcome) = open_session();
    let mut other: Vec<Socket> = (0..2).map(|group| open_data(&other_welcome, group)).collect();
    other_control.send(view(|v| v["sequence"] = 9.into())).unwrap();
    read_all(&mut other, |bytes| is_completing(bytes, STILL));
    if let MaybeTlsStream::Plain(stream) = silent.get_ref() {
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    }
    let mut received = 0;
    while let Ok(message) = silent.read() {
        received += message.len();
    }
    assert!((1..2 << 20).contains(&received), "{received}");
}

#[test]
fn strangers_are_refused_before_any_upgrade() {
    let token = &server().token;
    assert_eq!(status_of_refusal("/session", None), 403);
    assert_eq!(status_of_refusal("/session?token=00", None), 403);
    assert_eq!(status_of_refusal(&format!("/session?token={token}"), Some("https://evil.example")), 403);
    assert_eq!(status_of_refusal(&format!("/data?token={token}&session=none&group=0"), None), 404);
}

#[test]
fn a_page_can_ask_whether_its_token_is_why_it_was_refused() {
    let token = &server().token;
    assert_eq!(status_without_upgrade("/session?token=00"), 403);
    assert_eq!(status_without_upgrade("/session"), 403);
    assert_ne!(status_without_upgrade(&format!("/session?token={token}")), 403);
}

#[test]
fn who_may_only_watch_sees_everything_and_is_told_why_nothing_is_steered() {
    let (_, welcome) = open_session();
    assert_eq!(welcome["steers"], true);
    let mut control = open(&format!("/session?token={}", server().watch_token)).unwrap();
    let welcome = next_control(&mut control, WELCOME);
    assert_eq!(welcome["steers"], false);
    control.send(view(|_| {})).unwrap();
    let session = welcome["session"].as_str().unwrap();
    let data = format!("/data?token={}&session={session}&group=0", server().watch_token);
    read_bulk(&mut open(&data).unwrap(), |bytes| bytes[0] == BRICKS);
    let mut pause = vec![STEER];
    pause.extend(br#"{"action":"pause"}"#);
    control.send(Message::Binary(pause.into())).unwrap();
    let notice = next_control(&mut control, NOTICE);
    assert!(notice["text"].as_str().unwrap().contains("may only watch"), "{notice}");
}

#[test]
fn a_silent_client_is_closed_and_disturbs_nobody() {
    let (server, mut session) = impatient(Patience { header: Duration::from_millis(500), ..Patience::default() });
    next_control(&mut session, WELCOME);
    session.send(view(|_| {})).unwrap();
    assert_eq!(answer_to(&server, ""), "");
    assert_eq!(answer_to(&server, "GET / HTTP/1.1\r\nHost: 127.0"), "");
    let complete = answer_to(&server, "GET /no-such-page HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(complete.starts_with("HTTP/1.1 404"), "{complete}");
    assert_eq!(next_control(&mut session, FIELD)["finite"], 96 * 64 * 64);
}

#[test]
fn a_client_that_takes_nothing_of_what_it_asks_for_is_closed() {
    let (server, _stage) = empty_server_with(Patience { taking: Duration::from_millis(200), ..Patience::default() });
    let mut client = TcpStream::connect(&server.authority).unwrap();
    client.set_write_timeout(Some(PATIENCE)).unwrap();
    let requests = format!("GET /no-such-page?token={} HTTP/1.1\r\nHost: localhost\r\n\r\n", server.token).repeat(100);
    let end = loop {
        if let Err(cause) = client.write_all(requests.as_bytes()) {
            break cause.kind();
        }
    };
    assert!(matches!(end, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe), "{end}");
}

#[test]
fn a_connection_that_goes_on_asking_and_becomes_no_session_ends() {
    let (server, stage) = empty_server_with(Patience { connection: Duration::from_millis(300), ..Patience::default() });
    stage.show(ramp());
    let mut session = open_at(&server, &format!("/session?token={}", server.token)).unwrap();
    let mut client = TcpStream::connect(&server.authority).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let request = format!("GET /no-such-page?token={} HTTP/1.1\r\nHost: localhost\r\n\r\n", server.token);
    let mut answer = [0; 1024];
    while client.write_all(request.as_bytes()).is_ok() && client.read(&mut answer).is_ok_and(|length| length > 0) {
        assert!(Instant::now() < deadline, "it is still served");
    }
    // What became one goes on.
    session.send(view(|_| {})).unwrap();
    assert_eq!(next_control(&mut session, FIELD)["finite"], 96 * 64 * 64);
}

#[test]
fn a_session_that_never_says_what_it_shows_is_closed() {
    let (_server, mut session) = impatient(Patience { first_view: Duration::from_millis(100), ..Patience::default() });
    assert!(reason_of_close(&mut session).contains("no View within 100ms"));
}

#[test]
fn a_page_that_is_gone_is_answered_with_where_the_viewer_is() {
    let answer = answer_to_get(server(), "/old/page.html");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    assert!(body.ends_with('\n') && body.lines().count() == 1 && body.contains("the viewer is at /"), "{body}");
}

#[test]
fn what_is_acknowledged_after_a_page_has_left_is_not_held_against_it() {
    let (mut control, welcome) = open_session();
    let mut data = open_data(&welcome, 0);
    control.send(view(|_| {})).unwrap();
    let received = loop {
        if let Message::Binary(bytes) = data.read().unwrap() {
            break bytes.len() as u64;
        }
    };
    control.close(None).unwrap();
    // Its session is closed before the connection is.
    while control.read().is_ok() {}
    let mut ack = vec![ACK, 0, 0, 0];
    ack.extend(received.to_le_bytes());
    data.send(Message::Binary(ack.into())).unwrap();
    let farewell = loop {
        match data.read() {
            Ok(Message::Close(frame)) => break frame,
            Ok(_) => {}
            Err(_) => break None,
        }
    };
    assert_eq!(farewell, None);
}

#[test]
fn a_session_one_of_whose_connections_fails_ends_so_that_the_page_opens_both_anew() {
    let (mut control, welcome) = open_session();
    control.send(view(|_| {})).unwrap();
    next_control(&mut control, FIELD);
    let mut data = open_data(&welcome, 0);
    data.send(Message::Text("hello".into())).unwrap();
    assert!(reason_of_close_as(1007, &mut data).contains("binary"));
    let mut clock = vec![CLOCK];
    clock.extend(br#"{"asked_ms":1.5}"#);
    control.send(Message::Binary(clock.into())).unwrap();
    let reason = loop {
        match control.read().unwrap() {
            Message::Binary(bytes) if bytes[0] == CLOCK_ANSWER => panic!("the session goes on"),
            Message::Close(frame) => {
                let frame = frame.unwrap();
                assert_eq!(u16::from(frame.code), 1007);
                break frame.reason.to_string();
            }
            _ => {}
        }
    };
    assert!(reason.contains("for data failed"), "{reason}");
}

#[test]
fn rubbish_is_answered_with_one_reason() {
    let (mut text, _) = open_session();
    text.send(Message::Text("hello".into())).unwrap();
    assert!(reason_of_close_as(1007, &mut text).contains("binary"));

    let (mut broken, _) = open_session();
    broken.send(Message::Binary(vec![NOTICE_OF_VIEW, b'{', 0xff].into())).unwrap();
    assert!(reason_of_close_as(1007, &mut broken).contains("View"));

    let (mut long, _) = open_session();
    long.send(Message::Binary(vec![NOTICE_OF_VIEW; 100_000].into())).unwrap();
    assert!(reason_of_close_as(1007, &mut long).contains("too long"));

    let (mut field, _) = open_session();
    field.send(view(|v| v["field"] = 7.into())).unwrap();
    assert!(reason_of_close(&mut field).contains("no field 7"));

    let (_control, welcome) = open_session();
    let mut lying = open_data(&welcome, 0);
    let mut ack = vec![ACK, 0, 0, 0];
    ack.extend(u64::MAX.to_le_bytes());
    lying.send(Message::Binary(ack.into())).unwrap();
    assert!(reason_of_close(&mut lying).contains("cannot be"));

    let (_control, welcome) = open_session();
    let mut beyond = open_data(&welcome, 9);
    assert!(reason_of_close(&mut beyond).contains("no group 9"));
}

#[test]
fn the_reason_comes_whatever_else_is_said_meanwhile() {
    let (mut broken, _) = open_session();
    broken.send(Message::Binary(vec![NOTICE_OF_VIEW, b'{', 0xff].into())).unwrap();
    for _ in 0..20 {
        let mut clock = vec![CLOCK];
        clock.extend(br#"{"asked_ms":1.5}"#);
        broken.send(Message::Binary(clock.into())).unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(reason_of_close_as(1007, &mut broken).contains("View"));
}

/// The beginning of a binary message of so many bytes, which never come.
fn announce(socket: &mut Socket, bytes: u64) {
    let MaybeTlsStream::Plain(stream) = socket.get_mut() else { panic!("not encrypted") };
    let head = [&[0x82, 0xff][..], &bytes.to_be_bytes(), &[0; 4]].concat();
    stream.write_all(&head).unwrap();
}

#[test]
fn a_message_that_is_too_long_is_not_waited_for() {
    let (mut control, welcome) = open_session();
    let mut data = open_data(&welcome, 0);
    announce(&mut data, 126);
    assert!(reason_of_close_as(1007, &mut data).contains("too long"));
    assert!(reason_of_close_as(1007, &mut control).contains("for data failed"));
    let (mut control, _) = open_session();
    announce(&mut control, 65_537);
    assert!(reason_of_close_as(1007, &mut control).contains("too long"));
}

#[test]
fn a_page_may_give_a_long_reason_for_leaving_a_connection_for_data() {
    let (mut control, welcome) = open_session();
    let mut data = open_data(&welcome, 0);
    let reason = "r".repeat(123).into();
    data.close(Some(CloseFrame { code: CloseCode::from(4008), reason })).unwrap();
    while data.read().is_ok() {}
    // The session goes on.
    control.send(view(|_| ())).unwrap();
    next_control(&mut control, FIELD);
}

#[test]
fn a_connection_for_data_is_closed_when_another_takes_its_place() {
    let (_control, welcome) = open_session();
    let mut first = open_data(&welcome, 0);
    let _second = open_data(&welcome, 0);
    let MaybeTlsStream::Plain(stream) = first.get_mut() else { panic!("not encrypted") };
    // It does not answer that it hears of it.
    stream.read_to_end(&mut Vec::new()).unwrap();
}
