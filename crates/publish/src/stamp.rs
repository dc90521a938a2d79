//! When a piece was on its way: stamped at its first byte and its last, and recorded when the transport lets go of it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use visapult_trace::{Event, Stage, is_on, now_ns, record};

/// No byte has moved.
const NEVER: i64 = i64::MAX;

/// The way of a piece as an event of `stage`; several threads may move its bytes.
#[derive(Debug)]
pub struct Stamp {
    stage: Stage,
    member: u32,
    step: u64,
    first_ns: AtomicI64,
    last_ns: AtomicI64,
    bytes: AtomicU64,
}

impl Stamp {
    /// None while nothing is recorded.
    pub fn of(stage: Stage, member: usize, step: u64) -> Option<Self> {
        let member = u32::try_from(member).unwrap_or(u32::MAX);
        is_on().then(|| Self {
            stage,
            member,
            step,
            first_ns: AtomicI64::new(NEVER),
            last_ns: AtomicI64::new(i64::MIN),
            bytes: AtomicU64::new(0),
        })
    }

    /// Some of its bytes move now.
    pub(crate) fn touch(&self, bytes: usize) {
        let now = now_ns();
        self.first_ns.fetch_min(now, Ordering::Relaxed);
        self.last_ns.fetch_max(now, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl Drop for Stamp {
    fn drop(&mut self) {
        let start_ns = *self.first_ns.get_mut();
        if start_ns != NEVER {
            let (end_ns, bytes) = (*self.last_ns.get_mut(), *self.bytes.get_mut());
            record(Event { stage: self.stage, member: self.member, step: self.step, bytes, start_ns, end_ns });
        }
    }
}
