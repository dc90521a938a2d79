//! The two ends that a program holds of a control link.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use super::error::{CloseReason, ControlError};
use super::frame::MAX_MESSAGE_BYTES;
use crate::lock::lock;
use crate::socket::Waker;

/// Messages that wait to be sent at most.
pub(super) const MAX_QUEUED: usize = 1024;
/// Messages that wait to be taken at most; then the connection is no longer read, and the other end has to wait.
pub(super) const MAX_ARRIVED: usize = 64;

/// Sends messages; cloneable, and never waits. The link closes in order when it is closed, or the last clone is dropped.
#[derive(Clone, Debug)]
pub struct ControlSender(Arc<Outgoing>);

/// The order of the fields matters: first the queue ends, then the owner thread is called to see it.
#[derive(Debug)]
struct Outgoing {
    queue: SyncSender<Vec<u8>>,
    waker: WakeOnDrop,
    shared: Arc<Shared>,
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct WakeOnDrop(Waker);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.0.wake();
    }
}

// The order of the fields matters, as with `Outgoing`.
/// Receives messages, and at last why the link ended.
#[derive(Debug)]
pub struct ControlReceiver {
    arrived: Receiver<Vec<u8>>,
    waker: WakeOnDrop,
    shared: Arc<Shared>,
}

/// What receiver and owner thread tell one another.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Nothing more is to be sent.
    pub(super) closed: AtomicBool,
    /// The owner thread waits for room.
    pub(super) stalled: AtomicBool,
    /// Set before the queue is closed.
    pub(super) reason: OnceLock<CloseReason>,
    /// What is to be sent when the queue is empty, before the link closes.
    last: Mutex<VecDeque<Box<[u8]>>>,
    /// Bytes of messages that wait to be sent.
    queued: AtomicUsize,
    /// How many may; none sets no limit beside that of messages.
    most_queued: OnceLock<usize>,
}

/// What a message takes beside its bytes while it waits.
pub(crate) const MESSAGE: usize = 96;

impl Shared {
    /// A message is to wait; false if there is no room.
    fn enter(&self, message: &[u8]) -> bool {
        let room = MESSAGE + message.len();
        let before = self.queued.fetch_add(room, Ordering::Relaxed);
        let fits = before == 0 || self.most_queued.get().is_none_or(|most| before + room <= *most);
        if !fits {
            self.queued.fetch_sub(room, Ordering::Relaxed);
        }
        fits
    }

    /// The next of the last messages.
    pub(super) fn take_last(&self) -> Option<Box<[u8]>> {
        lock(&self.last).pop_front()
    }

    /// A message waits no longer.
    pub(super) fn leave(&self, message: &[u8]) {
        self.queued.fetch_sub(MESSAGE + message.len(), Ordering::Relaxed);
    }
}

/// What a control link brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// A message, whole.
    Message(Vec<u8>),
    /// The end; told again to whoever asks again.
    Closed(CloseReason),
}

impl ControlSender {
    pub(super) fn new(queue: SyncSender<Vec<u8>>, waker: Waker, shared: Arc<Shared>) -> Self {
        Self(Arc::new(Outgoing { queue, waker: WakeOnDrop(waker), shared }))
    }

    /// Sends what is queued, and closes the link. Whoever receives is told once all of it is handed to the system, without waiting for the other end.
    pub fn close(&self) {
        self.0.shared.closed.store(true, Ordering::SeqCst);
        self.0.waker.0.wake();
    }

    /// The same, and sends these behind what is queued, however many they are; each fits a message.
    pub(crate) fn close_after(&self, last: VecDeque<Box<[u8]>>) {
        *lock(&self.0.shared.last) = last;
        self.close();
    }

    /// Lets no more than so many bytes of messages wait from here on. This can be said once.
    pub(crate) fn limit(&self, bytes: usize) {
        let _ = self.0.shared.most_queued.set(bytes);
    }

    /// Queues `message`.
    ///
    /// # Errors
    /// [`ControlError::TooLong`]; [`ControlError::BackedUp`] if as many messages wait already as may, or as many bytes; [`ControlError::Closed`].
    pub fn send(&self, message: &[u8]) -> Result<(), ControlError> {
        if message.len() > MAX_MESSAGE_BYTES {
            return Err(ControlError::TooLong(message.len()));
        }
        if !self.0.shared.enter(message) {
            return Err(ControlError::BackedUp);
        }
        self.0.queue.try_send(message.to_vec()).map_err(|refused| {
            self.0.shared.leave(message);
            match refused {
                TrySendError::Full(_) => ControlError::BackedUp,
                TrySendError::Disconnected(_) => ControlError::Closed,
            }
        })?;
        self.0.waker.0.wake();
        Ok(())
    }
}

impl ControlReceiver {
    pub(super) fn new(arrived: Receiver<Vec<u8>>, shared: Arc<Shared>, waker: Waker) -> Self {
        Self { arrived, shared, waker: WakeOnDrop(waker) }
    }

    /// Waits for what comes next.
    pub fn recv(&self) -> ControlEvent {
        match self.arrived.recv() {
            Ok(message) => self.took(message),
            Err(_) => self.closed(),
        }
    }

    /// Waits for what comes next, at most `timeout`.
    pub fn recv_timeout(&self, timeout: Duration) -> Option<ControlEvent> {
        match self.arrived.recv_timeout(timeout) {
            Ok(message) => Some(self.took(message)),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(self.closed()),
        }
    }

    /// What is there now.
    pub fn try_recv(&self) -> Option<ControlEvent> {
        match self.arrived.try_recv() {
            Ok(message) => Some(self.took(message)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(self.closed()),
        }
    }

    fn took(&self, message: Vec<u8>) -> ControlEvent {
        if self.shared.stalled.swap(false, Ordering::SeqCst) {
            self.waker.0.wake();
        }
        ControlEvent::Message(message)
    }

    fn closed(&self) -> ControlEvent {
        let unexplained = || CloseReason::Lost("its thread ended".to_owned());
        ControlEvent::Closed(self.shared.reason.get().cloned().unwrap_or_else(unexplained))
    }
}
