//! Processor time of this process.

use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time, user and system, of all threads so far.
pub(super) fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
