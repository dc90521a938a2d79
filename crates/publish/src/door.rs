//! How back ends come to a rank: it waits for those that dial, or dials one and keeps trying.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use visapult_ripp_net::{Listener, Options, RippUrl, Session, Trust};

use crate::dialling::{BACK_END, DIAL_AGAIN, PUBLISH, trust_of};
use crate::lock::lock;
use crate::messages::MOST_DOORS;
use crate::shared::Shared;
use crate::subscriber::Subscriber;

const POLL: Duration = Duration::from_millis(100);
/// Processes of back ends that are attached at most, give or take those whose thread is only beginning: each costs threads and memory, which are the
/// simulation's.
const MOST_ATTACHED: usize = 256;

/// Lets in whoever dials, until the publisher is over.
pub(crate) fn keep_listening(shared: &Arc<Shared>, listener: &Listener) {
    let_in_at_most(MOST_ATTACHED, shared, listener);
}

fn let_in_at_most(most: usize, shared: &Arc<Shared>, listener: &Listener) {
    while !shared.is_over() {
        match listener.accept(POLL) {
            Ok(Some(session)) if lock(&shared.subscribers).len() >= most => {
                session.end_because(&format!("busy with {most} processes of back ends; try again when one has left"));
            }
            Ok(Some(session)) => Subscriber::attach(shared, session),
            Ok(None) => {}
            Err(cause) => {
                tracing::warn!("nobody can attach any more: {cause}");
                return;
            }
        }
    }
}

/// Dials the back end, again whenever it is gone, until the publisher is over.
pub(crate) fn keep_dialling(shared: &Arc<Shared>, url: &RippUrl, trust: &Trust) {
    dial_while(shared, url, trust, || true);
}

/// Where we dial beside the URL that we were given.
#[derive(Default)]
pub(crate) struct Also {
    /// Which back end has said so, and what.
    wanted: Vec<(usize, RippUrl)>,
    /// Those that a thread dials.
    dialled: Vec<RippUrl>,
}

impl Also {
    /// Whether the thread that dials `url` is to go on.
    fn goes_on(&mut self, url: &RippUrl) -> bool {
        let is_wanted = self.wanted.iter().any(|(_, wanted)| wanted == url);
        self.dialled.retain(|dialled| is_wanted || dialled != url);
        is_wanted
    }
}

/// Dials the other processes of back end `from`, too, as long as it says so: in place of those that it has said before. Whoever is dialled by
/// its back ends is dialled by all their processes.
pub(crate) fn dial_also(shared: &Arc<Shared>, from: usize, urls: &[String]) {
    let Some(also) = shared.also.as_ref().filter(|_| !shared.is_over()) else { return };
    let urls: Vec<RippUrl> = urls.iter().take(MOST_DOORS).filter_map(|url| url.parse().ok()).collect();
    let mut also = lock(also);
    also.wanted.retain(|(by, _)| *by != from);
    also.wanted.extend(urls.iter().map(|url| (from, url.clone())));
    for url in urls {
        let Ok(trust) = trust_of(&url) else { continue };
        if also.dialled.contains(&url) {
            continue;
        }
        also.dialled.push(url.clone());
        let dialling = Arc::clone(shared);
        let goes_on = {
            let (shared, url) = (Arc::clone(shared), url.clone());
            move || shared.also.as_ref().is_some_and(|also| lock(also).goes_on(&url))
        };
        let work = move || dial_while(&dialling, &url, &trust, goes_on);
        if let Err(cause) = thread::Builder::new().name("flow-door".to_owned()).spawn(work) {
            tracing::warn!("a process of a back end cannot be dialled: no thread can be had: {cause}");
        }
    }
}

fn dial_while(shared: &Arc<Shared>, url: &RippUrl, trust: &Trust, goes_on: impl Fn() -> bool) {
    let session = shared.options.session.clone();
    let options = Options { service: Some(BACK_END), request: PUBLISH.to_owned(), ..session };
    let back_end = url.authority();
    while !shared.is_over() && goes_on() {
        match Session::dial(url, trust, None, &options) {
            // Returns when the session is over.
            Ok(session) => {
                if let Some(why) = Subscriber::attach_here(shared, session) {
                    tell(shared, format!("{back_end} takes nothing any more: {why}"));
                }
            }
            Err(cause) => tell(shared, format!("{back_end} is not there: {cause}")),
        }
        let until = Instant::now() + DIAL_AGAIN;
        while !shared.is_over() && Instant::now() < until {
            thread::sleep(POLL);
        }
    }
}

/// Says why no back end takes what is published, each reason once.
fn tell(shared: &Shared, trouble: String) {
    if shared.is_over() || !lock(&shared.troubles).is_new(&trouble) {
        return;
    }
    shared.say(&format!("{trouble}; the program goes on, and it is tried again"));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use visapult_ripp_net::{Clients, ListenerOptions};
    use visapult_volume::{FieldInfo, Grid, ScalarType};

    use super::*;
    use crate::publisher::PublisherOptions;

    const PATIENCE: Duration = Duration::from_secs(30);
    const MOST: usize = 2;

    fn shared() -> Arc<Shared> {
        let grid = Grid::of_size([2; 3]);
        let field =
            FieldInfo { name: "a".to_owned(), unit: String::new(), scalar_type: ScalarType::F32, declared_range: None };
        let options = PublisherOptions::of_simulation("test".to_owned(), grid, vec![field]);
        Arc::new(Shared::new(options, false).unwrap())
    }

    fn eventually(mut condition: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !condition() {
            assert!(Instant::now() < deadline, "it did not happen");
            thread::yield_now();
        }
    }

    #[test]
    fn no_more_back_ends_attach_than_may_and_others_are_told_why_until_one_leaves() {
        let open =
            ListenerOptions { identity: None, token: None, clients: Clients::default(), session: Options::default() };
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), open).unwrap();
        let url = listener.url("127.0.0.1", "test");
        let shared = shared();
        let letting_in = Arc::clone(&shared);
        let door = thread::spawn(move || let_in_at_most(MOST, &letting_in, &listener));
        let attached = || lock(&shared.subscribers).len();
        let dial = || Session::dial(&url, &Trust::InsecureLoopback, None, &Options::default()).unwrap();
        let mut back_ends = [dial(), dial()];
        eventually(|| attached() == MOST);
        let refused = dial();
        eventually(|| !refused.is_alive());
        let why = refused.why_ended().unwrap_or_default();
        assert!(why.contains("busy with 2 processes of back ends"), "{why}");
        assert!(attached() == MOST && back_ends.iter().all(Session::is_alive));
        back_ends[0].end_because("it leaves");
        eventually(|| attached() < MOST);
        back_ends[0] = dial();
        eventually(|| attached() == MOST);
        shared.over.store(true, Ordering::Relaxed);
        door.join().unwrap();
    }
}
