//! The policy of a share, as its file tells it now.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;

use super::copies::Copy;
use super::rights::Rights;
use super::{Share, ShareEvent};
use crate::error::CopyError;
use crate::lock::lock;
use crate::people::People;

const LOOK_EVERY: Duration = Duration::from_millis(250);
const CHANGED: &str = "the policy of this share has changed for you";

/// A policy, and the file that it is in.
#[derive(Debug)]
pub(super) struct Policy {
    file: PathBuf,
    read: Mutex<Read>,
}

#[derive(Debug)]
struct Read {
    people: Arc<People>,
    /// The files when they were read: the policy, and those of the tokens.
    of: Vec<Option<Stamp>>,
    /// The files when they were looked at last, and when that was: what somebody is still writing is not read.
    seen: Vec<Option<Stamp>>,
    looked: Instant,
}

/// What changes with a file: which it is, when it was written, or came to be another's to write, and its length.
type Stamp = (u64, i64, i64, u64);

/// What another reading has come to.
struct Change {
    /// The file has a mistake: what it said before holds for those whom it names.
    mistake: Option<CopyError>,
    /// Who may do something else now, or nothing.
    ended: Vec<String>,
    /// Who has a token that nobody had before.
    fresh: Vec<String>,
}

impl Policy {
    pub(super) fn read(file: PathBuf, share: &Dir, shared: &Path) -> Result<Self, CopyError> {
        let at = stamp(&file);
        let people = Arc::new(People::read(&file, share, shared)?);
        let of = stamps(at, &people);
        Ok(Self { file, read: Mutex::new(Read { people, seen: of.clone(), of, looked: Instant::now() }) })
    }

    /// Those whom it tells of.
    pub(super) fn people(&self) -> Arc<People> {
        Arc::clone(&self.look().people)
    }

    /// Reads the file again if it has changed and rests, or a token has: who takes that away takes away what it allows.
    fn read_again(&self, share: &Dir, shared: &Path) -> Option<Change> {
        let mut read = self.look();
        let read = &mut *read;
        if read.looked.elapsed() < LOOK_EVERY {
            return None;
        }
        let at = stamp(&self.file);
        let now = stamps(at, &read.people);
        read.looked = Instant::now();
        let rests = std::mem::replace(&mut read.seen, now.clone()) == now;
        if !rests || now == read.of {
            return None;
        }
        let (people, mistake) = match People::read(&self.file, share, shared) {
            Ok(people) => (Some(people), None),
            Err(cause) => (read.people.still_named(&self.file), Some(cause)),
        };
        let before = Arc::clone(&read.people);
        read.people = people.map_or_else(|| Arc::clone(&before), Arc::new);
        if mistake.is_some() {
            // It is told of once.
            read.of = now;
        } else {
            // Tokens may just have been made.
            read.of = stamps(at, &read.people);
            read.seen.clone_from(&read.of);
        }
        let (ended, fresh) = (before.changed_by(&read.people), read.people.with_tokens_unlike(&before));
        Some(Change { mistake, ended, fresh })
    }

    fn look(&self) -> MutexGuard<'_, Read> {
        lock(&self.read)
    }
}

/// Of the policy, and of each token.
fn stamps(at: Option<Stamp>, people: &People) -> Vec<Option<Stamp>> {
    [at].into_iter().chain(people.token_files().map(stamp)).collect()
}

fn stamp(file: &Path) -> Option<Stamp> {
    let told = fs::metadata(file).ok()?;
    Some((told.ino(), told.ctime(), told.ctime_nsec(), told.len()))
}

impl Share {
    /// Has hold what the policy's file now says: copies of those for whom it says something else end, and their diallers come back.
    pub(super) fn follow_policy(&self, tell: &(dyn Fn(ShareEvent) + Sync)) {
        let Rights::People(policy) = &self.rights else { return };
        let Some(Change { mistake, ended, fresh }) = policy.read_again(&self.dir, &self.path) else { return };
        self.listener.admit(policy.people().members());
        let is_theirs = |copy: &Copy| copy.session.member().is_some_and(|who| ended.iter().any(|one| one == who));
        self.copies.look().values().filter(|copy| is_theirs(copy)).for_each(|copy| copy.session.end_because(CHANGED));
        self.fetches.stop_of(&ended);
        if let Some(cause) = mistake {
            return tell(ShareEvent::MistakenPolicy { why: cause.to_string(), out: ended });
        }
        tell(ShareEvent::Policy { fresh });
        self.tell_withheld(tell);
    }

    /// Tells of what the policy grants and cannot.
    pub(super) fn tell_withheld(&self, tell: &(dyn Fn(ShareEvent) + Sync)) {
        let Rights::People(policy) = &self.rights else { return };
        policy.people().withheld().iter().for_each(|why| tell(ShareEvent::Withheld { why: why.clone() }));
    }
}
