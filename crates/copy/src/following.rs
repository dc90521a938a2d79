//! What whoever asked a share to fetch something hears of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use visapult_objects::{printable, unescaped};
use visapult_ripp_net::{Arrival, Options, Session};

use crate::dialling::{dial, fresh_job};
use crate::endpoint::Remote;
use crate::error::CopyError;
use crate::notices::{Notices, line};
use crate::report::{Event, Moved, Progress};
use crate::request::{Request, Verb};
use crate::words::{FetchState, Word};

const IDLE: Duration = Duration::from_millis(50);
/// Fetches that one share tells of.
const MOST_STATES: usize = 1000;

/// Follows what the other end of `session` fetches until that is done, or goes on without us.
///
/// # Errors
/// Why it ended before that; what is known to be done by then is in `followed`.
pub(crate) fn follow(
    session: &Session,
    stop: &AtomicBool,
    followed: &mut Moved,
    watch: &mut dyn FnMut(Event),
) -> Result<(), CopyError> {
    let (began, mut notices) = (Instant::now(), Notices::default());
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(CopyError::Stopped);
        }
        let Some(word) = next_word(session)? else { continue };
        match word {
            Word::Fetched { tally, arrived, is_listed, limit } => {
                (followed.tally, followed.arrived) = (tally, arrived);
                watch(Event::Progress(Progress { tally, is_listed, arrived, elapsed: began.elapsed(), limit }));
            }
            Word::Failed { path, why, .. } => {
                watch(Event::Failed { path: printable(path.as_bytes()), why: line(&why) });
            }
            Word::LeftOut { path, why } => {
                watch(Event::LeftOut { path: printable(path.as_bytes()), why: line(&why) });
            }
            Word::Deleted { paths } => {
                paths.iter().for_each(|path| watch(Event::Deleted(printable(path.as_bytes()))));
            }
            Word::Differ { all } => all.iter().for_each(|one| watch(one.event())),
            Word::Notice { text } => notices.pass_on(&text, watch),
            Word::Anew => watch(Event::Anew),
            Word::Hashes { files } => {
                for (path, hash) in files {
                    if let (Some(path), Ok(_)) = (unescaped(&path), blake3::Hash::from_hex(&hash)) {
                        watch(Event::Hash { path, hash });
                    }
                }
            }
            Word::Detached { number } => {
                watch(Event::Detached(number));
                return Ok(());
            }
            Word::Nodes { urls } => {
                followed.nodes = urls;
                return Ok(());
            }
            Word::Finished(tally) => {
                followed.tally = tally;
                notices.finish(watch);
                return Ok(());
            }
            _ => {}
        }
    }
}

/// What a share fetches for whoever has this URL, and what came of it; stops one.
///
/// # Errors
/// If the share cannot be asked.
pub fn fetches(share: &Remote, stop: Option<u64>) -> Result<Vec<FetchState>, CopyError> {
    let request = Request::new(&fresh_job()?, Verb::Fetches { stop });
    let session = dial(&share.url, &Options::default(), &request)?;
    let mut states = Vec::new();
    loop {
        match next_word(&session)? {
            Some(Word::Fetch(state)) if states.len() < MOST_STATES => states.push(FetchState {
                from: printable(state.from.as_bytes()),
                to: printable(state.to.as_bytes()),
                result: state.result.map(|result| printable(result.as_bytes())),
                notice: state.notice.map(|notice| printable(notice.as_bytes())),
                ..state
            }),
            Some(Word::Finished(_)) => return Ok(states),
            _ => {}
        }
    }
}

fn next_word(session: &Session) -> Result<Option<Word>, CopyError> {
    match session.next_arrival(IDLE)? {
        None => Ok(None),
        Some(Arrival::Offer(offer)) => {
            offer.refuse("this end only listens");
            Ok(None)
        }
        Some(Arrival::Note(note)) => match Word::heard(&note.text)? {
            Word::Refused { why } => Err(CopyError::Refused(printable(why.as_bytes()))),
            word => Ok(Some(word)),
        },
    }
}
