//! Attempts at a copy: another is made when the connection is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::CopyError;
use crate::report::{Event, Moved, Report};

const POLL: Duration = Duration::from_millis(100);
/// From one attempt to reach the other end to the next.
const DIAL_AGAIN: Duration = Duration::from_secs(2);
/// An attempt that went on for so long has got somewhere, though nothing may have arrived: hashes of large files take their time.
const LASTED: Duration = Duration::from_secs(30);

/// Makes attempts until one brings it about, or for so long as a lost connection may be dialled again.
///
/// # Errors
/// Why it ended before that; what was done by then is in `report`.
pub(crate) fn redialled(
    retry: Duration,
    stop: &AtomicBool,
    report: &mut Report,
    watch: &mut dyn FnMut(Event),
    mut make: impl FnMut(&mut Attempt, &mut dyn FnMut(Event)) -> Result<(), CopyError>,
) -> Result<(), CopyError> {
    let began = Instant::now();
    let mut lost_at: Option<Instant> = None;
    loop {
        let mut attempt = Attempt::default();
        if lost_at.is_some() {
            watch(Event::Anew);
        }
        let attempted = Instant::now();
        let outcome = make(&mut attempt, watch);
        add(report, &attempt);
        report.elapsed = began.elapsed();
        if attempt.was_admitted && (attempt.moved.arrived > 0 || attempted.elapsed() >= LASTED) {
            lost_at = None;
        }
        match outcome {
            Ok(()) => return Ok(()),
            // Only who was there once is waited for.
            Err(cause) if cause.may_pass() && (attempt.was_admitted || lost_at.is_some()) => {
                let since = *lost_at.get_or_insert_with(Instant::now);
                if since.elapsed() >= retry {
                    return Err(cause);
                }
                if since.elapsed() < POLL {
                    let left = retry.as_secs();
                    watch(Event::Notice(format!("the connection is lost ({cause}): dialling again for {left} s")));
                }
                let until = Instant::now() + DIAL_AGAIN;
                while Instant::now() < until {
                    if stop.load(Ordering::Relaxed) {
                        return Err(CopyError::Stopped);
                    }
                    thread::sleep(POLL);
                }
            }
            Err(cause) => return Err(cause),
        }
    }
}

/// What came of one attempt.
#[derive(Debug, Default)]
pub(crate) struct Attempt {
    pub(crate) was_admitted: bool,
    pub(crate) moved: Moved,
}

/// Adds what an attempt has done; what earlier ones had copied is the same in it.
fn add(report: &mut Report, attempt: &Attempt) {
    report.arrived += attempt.moved.arrived;
    if !attempt.was_admitted {
        return;
    }
    report.tally = report.tally.then(&attempt.moved.tally);
}

#[cfg(test)]
mod tests {
    use visapult_ripp_net::SessionError;

    use super::*;

    /// What comes of a copy whose only attempt ends so, where it is to stop before another; and what is told.
    fn outcome(cause: SessionError) -> (CopyError, Vec<Event>) {
        let (mut report, mut told, mut cause) = (Report::default(), Vec::new(), Some(cause));
        let outcome = redialled(
            Duration::from_secs(300),
            &AtomicBool::new(true),
            &mut report,
            &mut |event| told.push(event),
            |attempt, _| {
                attempt.was_admitted = true;
                Err(cause.take().unwrap().into())
            },
        );
        (outcome.unwrap_err(), told)
    }

    #[test]
    fn who_breaks_the_protocol_is_not_dialled_again_and_who_is_lost_is() {
        let why = || "the peer acknowledged what was never sent".to_owned();
        let (cause, told) = outcome(SessionError::Breach(why()));
        assert!(matches!(&cause, CopyError::Session(SessionError::Breach(told)) if *told == why()) && told.is_empty());
        let (cause, told) = outcome(SessionError::Ended("the control link broke".to_owned()));
        assert!(matches!(cause, CopyError::Stopped) && told.len() == 1, "{cause}");
    }
}
