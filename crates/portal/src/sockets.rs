//! WebSockets: control and data connections, each with a reader that judges and a writer that never blocks it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use visapult_pipeline::wire::{FromPage, MAX_CONTROL_BYTES, Notice, Severity, ToPage};
use visapult_pipeline::{BackEnd, Right, Session};
use visapult_ripp_net::Token;

use crate::guard::check_socket;
use crate::registry::Open;
use crate::server::Served;
use crate::shown::Shown;

/// Control messages that may wait for a slow page.
const CONTROL_QUEUE: usize = 64;
/// Bytes of a message on a connection for data, where nothing is said but what has arrived: as many as a farewell may have (RFC 6455, section 5.5).
const MAX_ACK_BYTES: usize = 125;
const DATA_READ_BYTES: usize = 4096;
/// How often a page is asked for a sign of life: one that only watches has nothing to say.
const PING_PERIOD: Duration = Duration::from_secs(15);
/// A page that has been silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// A message that a page does not take for so long ends its session.
pub(crate) const WRITE_WITHIN: Duration = Duration::from_secs(60);
/// How long a connection that is no longer served waits for its reason.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Longest reason that fits a close frame.
const MOST_REASON_BYTES: usize = 120;

/// Why a session ends whose page says nothing.
const NOTHING_HEARD: &str = "nothing was heard in time";

type Parameters = Query<HashMap<String, String>>;

/// Opens a session. Whoever asks without an upgrade is told whether the token would do: a WebSocket that is refused does not say why.
pub(crate) async fn session_socket(
    State(served): State<Served>,
    Query(parameters): Parameters,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let right = match check_socket(&headers, parameters.get("token").map(String::as_str), &served.tokens) {
        Ok(right) => right,
        Err(refusal) => return refusal.into_response(),
    };
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Ok(id) = Token::fresh() else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "the system gives no random bytes\n").into_response();
    };
    let id = id.encoded();
    let upgrade = upgrade.max_message_size(MAX_CONTROL_BYTES).max_frame_size(MAX_CONTROL_BYTES);
    upgrade.on_upgrade(move |socket| run_session(served, id, right, socket))
}

/// Joins a data connection to a session.
pub(crate) async fn data_socket(
    State(served): State<Served>,
    Query(parameters): Parameters,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Err(refusal) = check_socket(&headers, parameters.get("token").map(String::as_str), &served.tokens) {
        return refusal.into_response();
    }
    let Some(open) = parameters.get("session").and_then(|id| served.registry.get(id)) else {
        return (StatusCode::NOT_FOUND, "there is no such session: open /session first\n").into_response();
    };
    let Some(group) = parameters.get("group").and_then(|group| group.parse().ok()) else {
        return (StatusCode::BAD_REQUEST, "group must be a number\n").into_response();
    };
    let Some(place) = served.registry.data_place() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many connections are open: close a page and try again\n")
            .into_response();
    };
    let upgrade =
        upgrade.read_buffer_size(DATA_READ_BYTES).max_message_size(MAX_ACK_BYTES).max_frame_size(MAX_ACK_BYTES);
    upgrade.on_upgrade(move |socket| async move {
        run_data(open, group, socket).await;
        drop(place);
    })
}

/// Why a connection is closed for what the page did or said.
struct Breach {
    /// Of WebSocket.
    code: u16,
    why: String,
}

impl Breach {
    /// It said what cannot be read, and would again.
    fn unreadable(cause: impl ToString) -> Self {
        Self { code: close_code::INVALID, why: cause.to_string() }
    }

    /// It broke a rule, and may do better another time.
    fn of_rule(why: impl ToString) -> Self {
        Self { code: close_code::POLICY, why: why.to_string() }
    }
}

async fn run_session(served: Served, id: String, right: Right, socket: WebSocket) {
    let (writer, mut reader) = socket.split();
    let (control, messages) = mpsc::channel(CONTROL_QUEUE);
    let closing = control.clone();
    let writing = tokio::spawn(write_all(writer, messages));
    match served.registry.place() {
        Some(_place) => session_until_its_end(&served, &id, right, &mut reader, control).await,
        None => {
            let full = Breach::of_rule("too many sessions are open: close a page and try again");
            end(&id, Err(full), &closing).await;
        }
    }
    drop(closing);
    let _ = tokio::time::timeout(SILENCE, writing).await;
    hear_out(&mut reader).await;
}

/// A session until the page leaves or breaks a rule, which it is told.
async fn session_until_its_end(
    served: &Served,
    id: &str,
    right: Right,
    reader: &mut SplitStream<WebSocket>,
    control: mpsc::Sender<Message>,
) {
    let Some((back_end, early)) = back_end_for(&served.shown, reader, &control).await else { return };
    let told = control.clone();
    let sink = Box::new(move |message: Vec<u8>| told.try_send(Message::Binary(message.into())).is_ok());
    let session = Arc::new(back_end.begin_session(id.to_owned(), right, sink));
    let open = Open { session: Arc::clone(&session), control: control.downgrade() };
    served.registry.add(id.to_owned(), open);
    let outcome = read_views(early, reader, &session, &control, served.patience.first_view).await;
    served.registry.remove(id);
    // Before its connections for data close: of those the page would only hear that they did.
    end(id, outcome, &control).await;
    session.close();
}

/// The back end, waited for if it is to come as long as the page is there to see it, and the last *View* of the page meanwhile.
async fn back_end_for(
    shown: &Shown,
    reader: &mut SplitStream<WebSocket>,
    control: &mpsc::Sender<Message>,
) -> Option<(Arc<BackEnd>, Option<Bytes>)> {
    if let Some(back_end) = shown.now() {
        return Some((back_end, None));
    }
    let mut awaited = shown.awaited();
    let tells = async {
        loop {
            let notice = Notice::new(Severity::Info, awaited.borrow_and_update().clone());
            let sent = control.send(Message::Binary(ToPage::Notice(notice).encode().into())).await;
            if sent.is_err() {
                return;
            }
            if awaited.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    };
    let mut early = None;
    let leaves = async {
        while let Ok(Some(bytes)) = next_message(reader, SILENCE).await {
            let is_view = matches!(FromPage::decode(&bytes), Ok(FromPage::View(_)));
            early = Some(bytes).filter(|_| is_view).or(early.take());
        }
    };
    let back_end = tokio::select! {
        back_end = shown.clone().coming() => back_end,
        () = leaves => None,
        () = tells => None,
    };
    Some((back_end?, early))
}

async fn run_data(Open { session, control: told }: Open, group: usize, socket: WebSocket) {
    let (writer, mut reader) = socket.split();
    // Bounded by the session's credit: it gives no more than the page has acknowledged room for.
    let (bulk, messages) = mpsc::unbounded_channel::<Vec<u8>>();
    let (control, closing_messages) = mpsc::channel(1);
    let attached = session.attach(group, Box::new(move |message| drop(bulk.send(message))));
    let mut writing = tokio::spawn(write_bulk(writer, messages, closing_messages));
    let outcome = match attached {
        Ok(()) => {
            let heard = tokio::select! {
                heard = read_acks(&mut reader, &session, group) => heard,
                written = &mut writing => match written {
                    Ok(Written::NotTaken) => Err(Breach::of_rule("it takes nothing")),
                    // Nothing more is sent: another connection has taken the place of this one, or the page has left.
                    _ => return hear_out(&mut reader).await,
                },
            };
            // The page may not hear of it over this connection: it does over the other one.
            if let (Err(Breach { code, .. }), Some(told)) = (&heard, told.upgrade()) {
                let breach = Breach { code: *code, why: "a connection for data failed".to_owned() };
                end("session", Err(breach), &told).await;
            }
            heard
        }
        Err(problem) => Err(Breach::of_rule(problem)),
    };
    end("data", outcome, &control).await;
    drop((session, control));
    if !writing.is_finished() {
        let _ = tokio::time::timeout(SILENCE, writing).await;
    }
    hear_out(&mut reader).await;
}

/// Passes over what a page says before it hears that its connection is closed: one that is dropped with something unread takes the reason with it.
async fn hear_out(reader: &mut SplitStream<WebSocket>) {
    let _ = tokio::time::timeout(LAST_WORDS, async { while matches!(reader.next().await, Some(Ok(_))) {} }).await;
}

/// Reads what the page says until it leaves (`Ok`) or breaks a rule (`Err`).
async fn read_views(
    mut early: Option<Bytes>,
    reader: &mut SplitStream<WebSocket>,
    session: &Session,
    control: &mpsc::Sender<Message>,
    first_view_within: Duration,
) -> Result<(), Breach> {
    let opened = Instant::now();
    let mut has_view = false;
    loop {
        let limit = if has_view { SILENCE } else { first_view_within.saturating_sub(opened.elapsed()) };
        let heard = match early.take() {
            Some(bytes) => Ok(Some(bytes)),
            None => next_message(reader, limit).await,
        };
        let Some(bytes) = heard.map_err(|breach| match breach.why.as_str() {
            NOTHING_HEARD if !has_view => Breach::of_rule(format!("no View within {first_view_within:?}")),
            _ => breach,
        })?
        else {
            return Ok(());
        };
        match FromPage::decode(&bytes).map_err(Breach::unreadable)? {
            FromPage::View(view) => {
                session.on_view(*view).map_err(Breach::of_rule)?;
                has_view = true;
            }
            FromPage::Steer(action) => {
                if let Err(text) = session.on_steer(action) {
                    let notice = ToPage::Notice(Notice::new(Severity::Error, text));
                    // A page that takes nothing more is on its way out.
                    let _ = control.try_send(Message::Binary(notice.encode().into()));
                }
            }
            FromPage::Clock(asked) => {
                let _ = control.try_send(Message::Binary(ToPage::Clock(Session::clock(asked)).encode().into()));
            }
            FromPage::Stamps(stamps) => session.on_stamps(&stamps),
            FromPage::Lifelines(asked) => session.on_lifelines(asked),
            FromPage::Pick(pick) => session.on_pick(*pick),
            FromPage::Series(asked) => session.on_series(asked).map_err(Breach::of_rule)?,
            FromPage::Ack(_) => return Err(Breach::unreadable("Ack belongs on a data connection")),
            FromPage::Unknown(_) => {}
        }
    }
}

async fn read_acks(reader: &mut SplitStream<WebSocket>, session: &Session, group: usize) -> Result<(), Breach> {
    while let Some(bytes) = next_message(reader, SILENCE).await? {
        match FromPage::decode(&bytes).map_err(Breach::unreadable)? {
            FromPage::Ack(ack) => session.on_ack(group, ack).map_err(Breach::of_rule)?,
            FromPage::Unknown(_) => {}
            _ => return Err(Breach::unreadable("only Acks belong on a data connection")),
        }
        if session.is_closed() {
            return Ok(());
        }
    }
    Ok(())
}

/// The next binary message; none when the page has left.
async fn next_message(reader: &mut SplitStream<WebSocket>, limit: Duration) -> Result<Option<Bytes>, Breach> {
    let until = tokio::time::Instant::now() + limit;
    loop {
        let next = tokio::time::timeout_at(until.max(tokio::time::Instant::now()), reader.next());
        match next.await {
            Err(_) => return Err(Breach::of_rule(NOTHING_HEARD)),
            Ok(None) | Ok(Some(Ok(Message::Close(_)))) => return Ok(None),
            Ok(Some(Ok(Message::Binary(bytes)))) => return Ok(Some(bytes)),
            Ok(Some(Ok(Message::Text(_)))) => return Err(Breach::unreadable("text message: this protocol is binary")),
            // A sign of life: whoever waits for a message begins to wait anew.
            Ok(Some(Ok(Message::Pong(_)))) if limit == SILENCE => return Ok(Some(Bytes::from_static(&[PONG_KIND]))),
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {}
            Ok(Some(Err(problem))) if is_departure(&problem) => return Ok(None),
            Ok(Some(Err(problem))) if is_too_long(&problem) => return Err(Breach::unreadable(problem)),
            Ok(Some(Err(problem))) => return Err(Breach::of_rule(problem)),
        }
    }
}

/// A kind no page sends: stands for a sign of life, and is skipped like any unknown kind.
const PONG_KIND: u8 = 255;

/// Whether the connection just ended without a farewell, as when a tab is closed.
fn is_departure(problem: &axum::Error) -> bool {
    let text = problem.to_string();
    text.contains("without closing handshake") || text.contains("reset by peer") || text.contains("Broken pipe")
}

fn is_too_long(problem: &axum::Error) -> bool {
    problem.to_string().contains("too long")
}

async fn end(who: &str, outcome: Result<(), Breach>, messages: &mpsc::Sender<Message>) {
    let Err(Breach { code, why: mut reason }) = outcome else { return };
    tracing::warn!("closed {who}: {reason}");
    while reason.len() > MOST_REASON_BYTES {
        reason.pop();
    }
    let frame = CloseFrame { code, reason: reason.into() };
    let _ = tokio::time::timeout(Duration::from_secs(1), messages.send(Message::Close(Some(frame)))).await;
}

/// When to ask, however much is told meanwhile.
fn pings() -> tokio::time::Interval {
    let mut pings = tokio::time::interval_at(tokio::time::Instant::now() + PING_PERIOD, PING_PERIOD);
    pings.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    pings
}

async fn write_all(mut writer: SplitSink<WebSocket, Message>, mut messages: mpsc::Receiver<Message>) {
    let mut pings = pings();
    loop {
        let message = tokio::select! {
            message = messages.recv() => match message {
                Some(message) => message,
                None => break,
            },
            _ = pings.tick() => Message::Ping(Bytes::new()),
        };
        if !matches!(tokio::time::timeout(WRITE_WITHIN, writer.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
    let _ = writer.close().await;
}

/// How writing ends.
enum Written {
    /// All that was to be written is, or the page has left.
    All,
    /// The page does not take it.
    NotTaken,
}

async fn write_bulk(
    mut writer: SplitSink<WebSocket, Message>,
    mut bulk: mpsc::UnboundedReceiver<Vec<u8>>,
    mut control: mpsc::Receiver<Message>,
) -> Written {
    let mut pings = pings();
    loop {
        let message = tokio::select! {
            closing = control.recv() => match closing {
                Some(closing) => closing,
                None => break,
            },
            message = bulk.recv() => match message {
                Some(message) => Message::Binary(message.into()),
                // The session has let go of this connection: the reader may still have a reason to tell.
                None => match tokio::time::timeout(LAST_WORDS, control.recv()).await {
                    Ok(Some(closing)) => closing,
                    _ => break,
                },
            },
            _ = pings.tick() => Message::Ping(Bytes::new()),
        };
        match tokio::time::timeout(WRITE_WITHIN, writer.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Written::All,
            Err(_) => return Written::NotTaken,
        }
    }
    let _ = writer.close().await;
    Written::All
}
