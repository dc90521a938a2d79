//! The thread that keeps the control channel: hands on what comes, gives signs of life, and ends the session when the other end is gone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use visapult_ripp::control::Message;

use super::shared::Shared;
use crate::control::{CloseReason, ControlEvent, ControlReceiver};

const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// A peer that gives no sign of life for this long is gone. Being stopped for five seconds is survived.
const GONE_AFTER: Duration = Duration::from_secs(9);
const TICK: Duration = Duration::from_millis(200);

/// Keeps the control channel until the session ends.
pub(super) fn run(shared: &Arc<Shared>, receiver: &ControlReceiver) {
    let mut told = Instant::now();
    let mut heard = Instant::now();
    while !shared.is_over() {
        let asked = Instant::now();
        match receiver.recv_timeout(TICK) {
            Some(ControlEvent::Message(bytes)) => {
                heard = Instant::now();
                if let Err(why) = on_message(shared, &bytes) {
                    shared.end(why.as_deref());
                }
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
        if heard.elapsed() >= GONE_AFTER {
            shared.end(Some(&format!("the peer has given no sign of life for {} s", GONE_AFTER.as_secs())));
        }
    }
}

fn closed(reason: &CloseReason) -> String {
    format!("the control connection ended: {reason}")
}

/// Hands on a message; the error says why the session ends, with nothing to say when it ends in peace.
fn on_message(shared: &Arc<Shared>, bytes: &[u8]) -> Result<(), Option<String>> {
    let message = Message::from_bytes(bytes).map_err(|cause| Some(cause.to_string()))?;
    match message {
        Message::Bye { why } => Err((!why.is_empty()).then(|| format!("the peer ended the session: {why}"))),
        Message::Accept { .. } | Message::Refuse { .. } | Message::Done { .. } => {
            let mut out = shared.out();
            out.sending.on_message(&message).map_err(|cause| Some(cause.to_string()))?;
            shared.pump_out(&mut out);
            Ok(())
        }
        message => {
            let mut incoming = shared.incoming();
            incoming.receiving.on_message(message).map_err(|cause| Some(cause.to_string()))?;
            shared.pump_in(&mut incoming);
            Ok(())
        }
    }
}
