//! Striped streams of TLS over TCP, for paths that carry no datagrams: the same objects, drawn from the same outbox, by other lanes.
//!
//! A stream is a further link to the same listener, that joins the session with the session's secret number. Its frames are those of datagrams
//! without the seal, `[u32 length][data header][up to 65,520 bytes]`, and [`Ack`]s the other way. Frames are counted, not numbered: an ack says
//! how many have been placed. What a stream had under way when it died goes back to the outbox.
//!
//! Invariant: a stream draws the next bytes only when the last have been handed to the socket; TCP sets the pace, and [`Pace`] bounds the sum.

mod ack;
mod open;
mod out;
mod pace;
mod pump;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use visapult_ripp::control::Transport;

pub(super) use open::{FALLBACK_STREAMS, Opener, Reached};
pub(super) use out::StreamOut;
pub(super) use pace::Pace;

use super::shared::{Out, Shared};
use super::{Options, SessionError};
use crate::control::ControlLink;
use crate::lock::lock;
use crate::socket::Waker;
pub(crate) use ack::Ack;

/// Bytes of an object in a full frame: with its headers it fills four TLS records.
const FRAME_PAYLOAD: u64 = 65_520;
/// A stream over which nothing gets through for this long is dead.
const DEAD_AFTER: Duration = Duration::from_secs(9);
/// A session without a stream that lives ends after this long; its other end may have said farewell in between.
const ALONE: Duration = Duration::from_secs(1);

/// The streams of a session.
#[derive(Default)]
pub(super) struct Streams {
    /// Data moves by datagrams alone.
    barred: bool,
    /// Data moves over streams.
    on: AtomicBool,
    /// Somebody sees to it that data can move, and opens streams if need be: nobody else does.
    in_hand: AtomicBool,
    wakers: Mutex<Vec<Option<Waker>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    why_dead: Mutex<Option<String>>,
}

impl Streams {
    /// Of a session with these options.
    pub(super) fn of(options: &Options) -> Self {
        Self { barred: options.transport == Some(Transport::Udp), ..Self::default() }
    }

    /// There are to be none.
    pub(super) const fn are_barred(&self) -> bool {
        self.barred
    }

    /// Data moves over streams.
    pub(super) fn are_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Somebody sees to it that data can move.
    pub(super) fn are_in_hand(&self) -> bool {
        self.in_hand.load(Ordering::Acquire)
    }

    /// The caller sees to it, or no longer does.
    pub(super) fn take_in_hand(&self, taken: bool) {
        self.in_hand.store(taken, Ordering::Release);
    }

    pub(super) fn wake(&self) {
        lock(&self.wakers).iter().flatten().for_each(Waker::wake);
    }

    /// Streams that live.
    pub(super) fn living(&self) -> usize {
        lock(&self.wakers).iter().flatten().count()
    }

    /// Waits for the threads to end, which they do when the session has.
    pub(super) fn join(&self) {
        let threads = std::mem::take(&mut *lock(&self.threads));
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// A place for a stream of a session.
pub(super) struct StreamPlace {
    shared: Arc<Shared>,
    index: usize,
    waker: Waker,
}

impl StreamPlace {
    /// Makes the link a stream; `ack` has come over it already, if one has.
    ///
    /// # Errors
    /// What the system or the other end refuses; the place is free again then.
    pub(super) fn fill(self, link: ControlLink, ack: Option<Ack>) -> Result<(), SessionError> {
        let Self { shared, index, waker } = self;
        let carrying = Arc::clone(&shared);
        let started = link.into_bulk(DEAD_AFTER).map_err(SessionError::from).and_then(|link| {
            std::thread::Builder::new()
                .name(format!("ripp-stream-{index}"))
                .spawn(move || carrying.end_if_it_panics(|| pump::run(&carrying, index, link, &waker, ack)))
                .map_err(SessionError::Thread)
        });
        let thread = started.inspect_err(|cause| shared.stream_ended(index, &cause.to_string()))?;
        lock(&shared.streams.threads).push(thread);
        Ok(())
    }
}

impl Shared {
    /// Data moves over streams from here on: what lanes had under way goes back to the outbox.
    pub(super) fn use_streams(&self) {
        let now = self.now();
        let mut out = self.out();
        self.streams.on.store(true, Ordering::Relaxed);
        (0..out.lanes.len()).for_each(|lane| out.retire_lane(lane, now));
        out.sending.on_settled();
        self.pump_out(&mut out);
        drop(out);
        self.wake_senders();
    }

    /// A place for one more stream.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn stream_place(self: &Arc<Self>) -> Result<StreamPlace, String> {
        let waker = Waker::new().map_err(|cause| cause.to_string())?;
        let mut out = self.out();
        let mut wakers = lock(&self.streams.wakers);
        let most = usize::from(self.limits.streams);
        if wakers.iter().flatten().count() >= most {
            return Err(format!("it has room for {most} streams: more `memory` there has room for more"));
        }
        if wakers.len() >= 16 * most {
            return Err("too many streams of this session have died; dial again".to_owned());
        }
        wakers.push(Some(waker.clone()));
        // Streams carry nothing that has no place.
        out.sending.outbox.presume_no_more();
        out.streams.push(StreamOut::new(self.limits.stream_records));
        Ok(StreamPlace { shared: Arc::clone(self), index: wakers.len() - 1, waker })
    }

    /// A stream has ended: what it had under way goes to the others.
    fn stream_ended(&self, index: usize, why: &str) {
        if let Some(waker) = lock(&self.streams.wakers).get_mut(index) {
            *waker = None;
        }
        if self.is_over() {
            return;
        }
        tracing::debug!("stream {index} ended: {why}");
        *lock(&self.streams.why_dead) = Some(why.to_owned());
        let now = self.now();
        let mut out = self.out();
        let Out { sending, streams, .. } = &mut *out;
        streams[index].abandon(now, &mut sending.outbox);
        sending.on_settled();
        self.pump_out(&mut out);
        drop(out);
        self.wake_senders();
    }

    /// Ends the session if all its streams have been dead for a while; `since` is when they were first seen to be.
    pub(super) fn end_without_streams(&self, since: &mut Option<std::time::Instant>) {
        if !self.streams.are_on() || self.streams.living() > 0 {
            *since = None;
            return;
        }
        if since.get_or_insert_with(std::time::Instant::now).elapsed() >= ALONE {
            let why = lock(&self.streams.why_dead).clone().unwrap_or_else(|| "none could be opened".to_owned());
            self.end(Some(&format!("all streams are gone: {why}; dial again")));
        }
    }
}
