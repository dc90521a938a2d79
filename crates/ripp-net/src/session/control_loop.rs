//! The thread that keeps the control channel: hands on what comes, gives signs of life, and ends the session when the other end is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use visapult_ripp::control::Message;

use super::growing::{self, Growing};
use super::lanes;
use super::parts::divide_rates;
use super::shared::{Out, Shared};
use super::stream::Opener;
use crate::control::{CloseReason, ControlEvent, ControlReceiver};
use crate::text::printable;

const ALIVE_EVERY: Duration = Duration::from_millis(250);
/// A peer that gives no sign of life for this long is gone. Being stopped for five seconds is survived.
pub(super) const GONE_AFTER: Duration = Duration::from_secs(9);
/// The same while datagrams come: after a cut TCP takes up to as long as the cut to try again.
const CONTROL_GONE_AFTER: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(200);
/// While messages wait for the control channel to have room.
const BACKLOG_TICK: Duration = Duration::from_millis(5);

/// Bytes of lossy flows that come so much later than the others are lost: an eighth of a round trip, within this.
const GRACE: std::ops::Range<Duration> = Duration::from_millis(5)..Duration::from_millis(25);

/// What has come and was not read yet may be what such an object lacks: on a busy machine it is waited for, but no longer than this, for there may always be more.
const UNREAD_FOR: Duration = Duration::from_millis(250);

/// No datagram for this long on any lane, while the other end is there: perhaps they do not come through any more.
const SILENT_AFTER: Duration = Duration::from_millis(800);
/// And the control channel was heard within this time.
const LIVES_WITHIN: Duration = Duration::from_millis(600);
/// As often as this in a row, so that an end that was stopped can catch up.
const SILENT_LOOKS: u32 = 8;
/// The time between two such looks.
const LOOK: Duration = Duration::from_millis(50);
/// A lane that is silent for this long while others are heard is given up, until it is heard again.
const LANE_DEAD_AFTER: Duration = Duration::from_millis(2_500);
/// And for this long the other end is waited for to do something about it.
const HOPELESS_AFTER: Duration = Duration::from_secs(8);

/// What to do when datagrams do not come through any more.
#[derive(Debug)]
pub(super) enum Recourse {
    /// Open streams: the dialler's part.
    Streams(Arc<Opener>),
    /// Wait for the other end to do so, and end the session if it does not.
    None,
}

/// Keeps the control channel until the session ends.
pub(super) fn run(shared: &Arc<Shared>, receiver: &ControlReceiver, recourse: &Recourse) {
    let mut watch = Watch::over(shared);
    let mut told = Instant::now();
    let mut heard = Instant::now();
    let mut unread_since = None;
    while !shared.is_over() {
        let asked = Instant::now();
        let waits = shared.backlog.work_off().unwrap_or_else(|why| {
            shared.end(Some(why));
            false
        });
        let tick = if waits { BACKLOG_TICK } else { watch.every() };
        match receiver.recv_timeout(tick.min(end_what_was_sent(shared, &mut unread_since))) {
            Some(ControlEvent::Message(bytes)) => {
                heard = Instant::now();
                match on_message(shared, &bytes) {
                    Ok(()) => {}
                    Err(End::Of(why)) => shared.end(why.as_deref()),
                    Err(End::Breach(why)) => shared.end_for_breach(&why),
                }
            }
            Some(ControlEvent::Closed(reason @ (CloseReason::Protocol(_) | CloseReason::Encrypted))) => {
                shared.end_for_breach(&closed(&reason));
            }
            Some(ControlEvent::Closed(reason)) => shared.end(Some(&closed(&reason))),
            None => {}
        }
        // Time that we ourselves were stopped for says nothing about the other end.
        let slept = asked.elapsed().saturating_sub(2 * TICK);
        heard += slept;
        if told.elapsed() >= ALIVE_EVERY {
            told = Instant::now();
            shared.message(&Message::Alive);
        }
        watch.look(shared, recourse, heard.elapsed());
        let (control, lanes) = (heard.elapsed(), lanes_silent(shared));
        let silent_ms = lanes.map_or(control, |lanes| control.min(lanes)).as_millis();
        shared.silent_ms.store(silent_ms as u64, Ordering::Relaxed);
        if let Some(silence) = gone_for(control, lanes) {
            shared.end(Some(&format!("the peer has given no sign of life for {} s", silence.as_secs())));
        }
    }
}

/// How long the peer has been silent, once that is too long. `lanes` is as [`lanes_silent`] tells it.
fn gone_for(control: Duration, lanes: Option<Duration>) -> Option<Duration> {
    let on_all = lanes.map_or(control, |lanes| control.min(lanes));
    if on_all >= GONE_AFTER { Some(on_all) } else { Some(control).filter(|control| *control >= CONTROL_GONE_AFTER) }
}

fn closed(reason: &CloseReason) -> String {
    format!("the control connection ended: {reason}")
}

/// Why the session ends.
enum End {
    /// For this, or in peace.
    Of(Option<String>),
    /// The other end broke the protocol.
    Breach(String),
}

fn breach(cause: &impl ToString) -> End {
    End::Breach(printable(&cause.to_string()))
}

/// Hands on a message; the error says why the session ends.
fn on_message(shared: &Arc<Shared>, bytes: &[u8]) -> Result<(), End> {
    let message = Message::from_bytes(bytes).map_err(|cause| breach(&cause))?;
    match with_printable_reason(message) {
        Message::Bye { why } => {
            Err(End::Of((!why.is_empty()).then(|| format!("the other end ended the session: {}", printable(&why)))))
        }
        message @ (Message::Accept { .. } | Message::Refuse { .. } | Message::Done { .. }) => {
            let mut out = shared.out();
            out.sending.on_message(&message).map_err(|cause| breach(&cause))?;
            shared.pump_out(&mut out);
            Ok(())
        }
        Message::LanesWanted { lanes } => {
            growing::open(shared, lanes);
            Ok(())
        }
        Message::Lanes { ports, addresses } => {
            growing::follow(shared, &ports, &addresses);
            Ok(())
        }
        Message::Note { text } => {
            let taken = shared.on_note(text);
            if taken {
                Ok(())
            } else {
                let why = "too many notes wait that nobody has looked at: more `memory` has room for more";
                Err(End::Of(Some(why.to_owned())))
            }
        }
        message => {
            let mut incoming = shared.incoming();
            incoming.receiving.on_message(message).map_err(|cause| breach(&cause))?;
            shared.pump_in(&mut incoming);
            Ok(())
        }
    }
}

/// Why an object is refused, of no use or taken back is shown by whatever program waits for it.
fn with_printable_reason(mut message: Message) -> Message {
    if let Message::Refuse { why, .. } | Message::Done { fault: Some(why), .. } | Message::Cancel { why, .. } =
        &mut message
    {
        *why = printable(why);
    }
    message
}

/// Ends objects of lossy flows all of which was sent, once no more of them comes; how long until there may be another.
fn end_what_was_sent(shared: &Arc<Shared>, unread_since: &mut Option<Instant>) -> Duration {
    // Streams lose nothing, and may be far behind the control channel.
    if shared.streams.are_on() {
        return TICK;
    }
    let now = shared.now();
    let rtt = shared.out().lanes.iter().flatten().map(|lane| lane.rtt().least()).max().unwrap_or_default();
    let mut incoming = shared.incoming();
    let is_unread = incoming.receiving.is_ending() && shared.links().any(|link| link.socket.has_unread());
    *unread_since = unread_since.or_else(|| Some(Instant::now())).filter(|_| is_unread);
    if unread_since.is_some_and(|since| since.elapsed() < UNREAD_FOR) {
        return GRACE.start;
    }
    let next = incoming.receiving.tick(now, (rtt / 8).clamp(GRACE.start, GRACE.end));
    shared.pump_in(&mut incoming);
    next.map_or(TICK, |due| due.since(now))
}

/// Sees to it that data can move.
struct Watch {
    growing: Growing,
    looked: Option<Instant>,
    silent_looks: u32,
    without_streams: Option<Instant>,
}

impl Watch {
    fn over(shared: &Shared) -> Self {
        let growing = Growing::to(shared.most_lanes());
        Self { growing, looked: None, silent_looks: 0, without_streams: None }
    }

    /// How often to look.
    fn every(&self) -> Duration {
        if (1..SILENT_LOOKS).contains(&self.silent_looks) { LOOK } else { TICK }
    }

    fn look(&mut self, shared: &Arc<Shared>, recourse: &Recourse, control_silent: Duration) {
        // Messages come in bursts; looks are spread over time.
        if self.looked.is_some_and(|looked| looked.elapsed() < self.every()) {
            return;
        }
        let since = self.looked.replace(Instant::now()).map_or(TICK, |looked| looked.elapsed());
        if lanes::wake(shared, &mut shared.out()) {
            shared.wake_senders();
        }
        divide_rates(shared, since);
        self.growing.look(shared);
        shared.end_without_streams(&mut self.without_streams);
        if shared.streams.are_on() || shared.streams.are_in_hand() {
            return;
        }
        let silence = lanes_silent(shared).unwrap_or_default();
        if silence < LANE_DEAD_AFTER / 2 {
            give_up_dead_lanes(shared);
        }
        let is_silent = silence >= SILENT_AFTER && control_silent < LIVES_WITHIN;
        self.silent_looks = if is_silent { self.silent_looks + 1 } else { 0 };
        if self.silent_looks < SILENT_LOOKS {
            return;
        }
        match recourse {
            Recourse::Streams(opener) => {
                shared.streams.take_in_hand(true);
                turn_to_streams(shared, opener, silence);
            }
            Recourse::None if silence >= HOPELESS_AFTER => shared.end(Some(&format!(
                "no datagram has come through for {} s, though the control connection lives (UDP blocked on the way?); \
                 dial again, with transport auto or tcp",
                silence.as_secs()
            ))),
            Recourse::None => {}
        }
    }
}

/// What is under way on a lane that is dead while others live is sent on those.
fn give_up_dead_lanes(shared: &Shared) {
    let now = shared.now();
    let mut out = shared.out();
    let Out { sending, lanes, .. } = &mut *out;
    let mut any = false;
    for (index, lane) in lanes.iter_mut().enumerate().filter_map(|(index, lane)| Some((index, lane.as_mut()?))) {
        if lane.is_under_way() && now.since(lane.last_heard()) >= LANE_DEAD_AFTER {
            tracing::warn!("lane {index} is dead: the others go on with what it had under way");
            lane.abandon(now, &mut sending.outbox);
            any = true;
        }
    }
    drop(out);
    if any {
        shared.wake_senders();
    }
}

/// How long nothing has been heard on any lane; `None` if no lane has a path.
fn lanes_silent(shared: &Shared) -> Option<Duration> {
    let now = shared.now();
    let out = shared.out();
    out.lanes.iter().flatten().map(|lane| now.since(lane.last_heard())).min()
}

/// Opens streams on a thread of its own: the control channel goes on meanwhile.
fn turn_to_streams(shared: &Arc<Shared>, opener: &Arc<Opener>, silence: Duration) {
    let (session, opener) = (Arc::clone(shared), Arc::clone(opener));
    let open = move || match opener.open(&session) {
        Ok(streams) => {
            session.use_streams();
            tracing::warn!(
                "no datagram has come from {} for {:.1} s: data moves over {streams} TLS/TCP streams from here on",
                opener.at,
                silence.as_secs_f64()
            );
        }
        Err(cause) => session.end(Some(&format!("no datagram comes through any more, and no stream: {cause}"))),
    };
    if let Err(cause) = std::thread::Builder::new().name("ripp-open".to_owned()).spawn(open) {
        shared.end(Some(&format!("a thread could not be had: {cause}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_objects_end_for_move_no_cursor() {
        let why = || "gone\u{1b}[2J".to_owned();
        for message in [
            Message::Refuse { object: 7, why: why() },
            Message::Done { object: 7, arrived: 0, fault: Some(why()) },
            Message::Cancel { object: 7, why: why() },
        ] {
            let shown = String::from_utf8(with_printable_reason(message).to_bytes()).unwrap();
            assert!(shown.contains("gone [2J"), "{shown}");
        }
    }

    #[test]
    fn datagrams_are_signs_of_life_while_the_control_channel_recovers_from_a_cut() {
        let s = Duration::from_secs;
        assert_eq!(gone_for(s(8), Some(s(8))), None);
        assert_eq!(gone_for(s(10), Some(s(1))), None);
        assert_eq!(gone_for(s(10), Some(s(10))), Some(s(10)));
        assert_eq!(gone_for(s(10), None), Some(s(10)));
        assert_eq!(gone_for(s(30), Some(s(0))), Some(s(30)));
    }
}
