//! Copies that a share fetches from another, for somebody who may leave meanwhile: what is under way, and what came of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use globset::{Glob, GlobSet, GlobSetBuilder};
use visapult_objects::cut;

use crate::error::CopyError;
use crate::lock::lock;
use crate::report::{Event, Progress};
use crate::words::{Differing, FetchState, MOST_WHY, Word};

/// Fetches at one time: each dials an address that somebody else has named.
const MOST_FETCHES: usize = 4;
/// Fetches that are over and told of.
const MOST_TOLD: usize = 32;

/// The hosts that a share fetches from, and what it does.
#[derive(Debug)]
pub(crate) struct Fetches {
    hosts: GlobSet,
    all: Mutex<Vec<Arc<Fetch>>>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Fetch {
    /// Whose it is, where that is known.
    who: Option<String>,
    /// It ends when this is set.
    pub(crate) stop: AtomicBool,
    state: Mutex<FetchState>,
    /// What was told last, and when; none once anything has come after that.
    notice: Mutex<Option<(Instant, String)>>,
}

impl Fetches {
    /// From these hosts, as URLs name them; `*` stands for any part of a name.
    ///
    /// # Errors
    /// If one makes no sense.
    pub(crate) fn new(hosts: &[String]) -> Result<Self, CopyError> {
        let wrong =
            |host: &str| CopyError::Here(format!("{host:?} is no name or address of a host, nor a pattern of such"));
        let mut set = GlobSetBuilder::new();
        for host in hosts {
            set.add(Glob::new(&host.to_ascii_lowercase()).map_err(|_| wrong(host))?);
        }
        Ok(Self { hosts: set.build().map_err(|_| wrong(&hosts.join(" ")))?, all: Mutex::default() })
    }

    pub(crate) fn may_dial(&self, host: &str) -> bool {
        self.hosts.is_match(host.to_ascii_lowercase())
    }

    /// Begins one.
    ///
    /// # Errors
    /// If there are too many.
    pub(crate) fn begin(&self, who: Option<&str>, from: &str, to: &str) -> Result<Arc<Fetch>, CopyError> {
        let mut all = self.all();
        if all.iter().filter(|fetch| fetch.state().result.is_none()).count() >= MOST_FETCHES {
            return Err(CopyError::Here(format!("busy with {MOST_FETCHES} copies from elsewhere; try again later")));
        }
        if all.len() >= MOST_TOLD
            && let Some(over) = all.iter().position(|fetch| fetch.state().result.is_some())
        {
            all.remove(over);
        }
        let number = all.last().map_or(0, |fetch| fetch.state().number) + 1;
        let state = FetchState { number, from: from.to_owned(), to: to.to_owned(), ..FetchState::default() };
        let (who, state) = (who.map(ToOwned::to_owned), Mutex::new(state));
        let fetch = Arc::new(Fetch { who, stop: AtomicBool::new(false), state, notice: Mutex::default() });
        all.push(Arc::clone(&fetch));
        Ok(fetch)
    }

    /// Those that `who` may know of, and stops one of them.
    pub(crate) fn of(&self, who: Option<&str>, stop: Option<u64>) -> Vec<FetchState> {
        let all = self.all();
        let own = all.iter().filter(|fetch| fetch.who.as_deref() == who);
        own.map(|fetch| {
            let state = FetchState { notice: fetch.told_last(), ..fetch.state().clone() };
            if stop == Some(state.number) {
                fetch.stop.store(true, Ordering::Relaxed);
            }
            state
        })
        .collect()
    }

    /// Stops all of these people's.
    pub(crate) fn stop_of(&self, people: &[String]) {
        let all = self.all();
        let theirs = all.iter().filter(|fetch| fetch.who.as_ref().is_some_and(|who| people.contains(who)));
        theirs.for_each(|fetch| fetch.stop.store(true, Ordering::Relaxed));
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Fetch>>> {
        lock(&self.all)
    }
}

impl Fetch {
    fn state(&self) -> MutexGuard<'_, FetchState> {
        lock(&self.state)
    }

    pub(crate) fn number(&self) -> u64 {
        self.state().number
    }

    fn notice(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        lock(&self.notice)
    }

    fn told_last(&self) -> Option<String> {
        self.notice()
            .as_ref()
            .map(|(when, text)| format!("{} ({} s ago)", cut(text, MOST_WHY), when.elapsed().as_secs()))
    }

    /// Takes note of what happens; returns what whoever asked for it is told.
    pub(crate) fn note(&self, event: Event) -> Option<Word> {
        match &event {
            Event::Progress(_) => *self.notice() = None,
            Event::Notice(text) => *self.notice() = Some((Instant::now(), text.clone())),
            _ => {}
        }
        Some(match event {
            Event::Progress(Progress { tally, arrived, is_listed, limit, .. }) => {
                let mut state = self.state();
                (state.tally, state.arrived) = (tally, arrived);
                Word::Fetched { tally, arrived, is_listed, limit }
            }
            Event::Failed { path, why } => Word::Failed { entry: None, path, why },
            Event::LeftOut { path, why } => Word::LeftOut { path, why },
            Event::Deleted(path) => Word::Deleted { paths: vec![path] },
            Event::Notice(text) => Word::Notice { text },
            Event::Anew => Word::Anew,
            Event::Hash { path, hash } => Word::Hashes { files: vec![(visapult_objects::escaped(&path), hash)] },
            Event::Differs { path, how, bytes } => Word::Differ { all: vec![Differing { path, how, bytes }] },
            Event::Detached(_) | Event::Listed(_) => return None,
        })
    }

    /// It is over: with nothing to say, all is there.
    pub(crate) fn end(&self, fault: Option<&str>) {
        *self.notice() = None;
        self.state().result = Some(cut(fault.unwrap_or("done"), MOST_WHY).to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_last_is_told_until_anything_comes() {
        let fetches = Fetches::new(&[]).unwrap();
        let fetch = fetches.begin(None, "a", "b").unwrap();
        let told = || fetches.of(None, None).remove(0).notice;
        assert_eq!(told(), None);
        fetch.note(Event::Notice("dialling again".to_owned()));
        fetch.note(Event::Anew);
        assert!(told().unwrap().starts_with("dialling again ("));
        fetch.note(Event::Progress(Progress::default()));
        assert_eq!(told(), None);
        fetch.note(Event::Notice("dialling again".to_owned()));
        fetch.end(Some("is gone"));
        assert_eq!(told(), None);
    }

    #[test]
    fn only_hosts_that_were_said_are_dialled_and_not_many_at_once() {
        let fetches = Fetches::new(&["*.site-a.org".to_owned(), "192.0.2.7".to_owned()]).unwrap();
        for (host, may) in
            [("login.Site-A.org", true), ("site-a.org.evil.net", false), ("192.0.2.7", true), ("127.0.0.1", false)]
        {
            assert_eq!(fetches.may_dial(host), may, "{host}");
        }
        assert!(!Fetches::new(&[]).unwrap().may_dial("localhost"));
        assert!(Fetches::new(&["a[".to_owned()]).is_err());
        let begun: Vec<_> = (0..MOST_FETCHES).map(|_| fetches.begin(Some("ada"), "a", "b").unwrap()).collect();
        assert!(fetches.begin(None, "a", "b").unwrap_err().to_string().contains("busy"));
        begun[1].end(None);
        assert_eq!(fetches.begin(None, "a", "b").unwrap().number(), 5);
        assert_eq!((fetches.of(Some("ada"), Some(5)).len(), fetches.of(None, Some(1)).len()), (4, 1));
        assert!(begun.iter().all(|fetch| !fetch.stop.load(Ordering::Relaxed)));
        fetches.of(Some("ada"), Some(3));
        assert!(begun[2].stop.load(Ordering::Relaxed));
        fetches.stop_of(&["grace".to_owned()]);
        assert!(!begun[3].stop.load(Ordering::Relaxed));
        fetches.stop_of(&["ada".to_owned()]);
        assert!(begun[3].stop.load(Ordering::Relaxed));
    }
}
