//! Messages on their way to the control channel: where that is full they wait.
//!
//! Invariant: they leave in the order in which they came, and nothing behind a farewell.

use std::collections::VecDeque;
use std::sync::Mutex;

use visapult_ripp::control::{Message, reason};
use visapult_ripp::memory::Limits;

use crate::control::{ControlError, ControlSender, MESSAGE};
use crate::lock::lock;

pub(super) struct Backlog {
    control: ControlSender,
    waiting: Mutex<Waiting>,
    /// Bytes that may wait.
    most_bytes: usize,
}

#[derive(Default)]
struct Waiting {
    messages: VecDeque<Box<[u8]>>,
    bytes: usize,
    is_closed: bool,
}

impl Backlog {
    pub(super) fn new(control: ControlSender, limits: Limits) -> Self {
        control.limit(limits.queued);
        Self { control, waiting: Mutex::default(), most_bytes: limits.backlog }
    }

    /// Sends a message; where the control channel is full it waits its turn.
    pub(super) fn send(&self, message: &Message) {
        let bytes = message.to_bytes();
        let mut waiting = lock(&self.waiting);
        if waiting.is_closed {
            return;
        }
        if waiting.messages.is_empty() {
            match self.control.send(&bytes) {
                Ok(()) => return,
                Err(ControlError::BackedUp) => {}
                // The control loop is told why by the channel itself, and ends the session.
                Err(_) => return,
            }
        }
        // The control loop ends a session whose backlog is full; until then nothing more is kept.
        if waiting.bytes < self.most_bytes {
            waiting.bytes += MESSAGE + bytes.len();
            waiting.messages.push_back(bytes.into_boxed_slice());
        }
    }

    /// Sends what waits, as far as there is room; true if something still waits.
    ///
    /// # Errors
    /// If the other end has not taken messages for so long that too many wait.
    pub(super) fn work_off(&self) -> Result<bool, &'static str> {
        let mut waiting = lock(&self.waiting);
        if waiting.bytes >= self.most_bytes {
            return Err("the other end does not take our messages (more `memory` lets more of them wait)");
        }
        while let Some(first) = waiting.messages.front() {
            if self.control.send(first).is_err() {
                return Ok(true);
            }
            waiting.bytes -= MESSAGE + first.len();
            waiting.messages.pop_front();
        }
        Ok(false)
    }

    /// Sends what still waits, says why the session ends, and nothing after that.
    pub(super) fn close(&self, why: &str) {
        let bye = Message::Bye { why: reason(why) };
        let mut waiting = lock(&self.waiting);
        (waiting.bytes, waiting.is_closed) = (0, true);
        waiting.messages.push_back(bye.to_bytes().into_boxed_slice());
        self.control.close_after(std::mem::take(&mut waiting.messages));
    }
}
