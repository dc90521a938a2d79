//! Who may do what in a share: whoever has its URL, or each whom a policy names.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use visapult_objects::escaped;
use visapult_ripp_net::Session;

use super::Share;
use super::policy::Policy;
use crate::error::CopyError;
use crate::file_id::FileId;
use crate::hours::Moment;
use crate::names::{Name, last_name};
use crate::people::{People, Right};
use crate::wish::{Delete, Wish};
use crate::words::Word;

#[derive(Debug)]
pub(super) enum Rights {
    Url { write: bool },
    People(Policy),
}

impl Rights {
    /// The policy, and the name that it has for whoever dialled.
    fn person<'a>(&self, session: &'a Session) -> Option<(Arc<People>, &'a str)> {
        match self {
            Self::Url { .. } => None,
            Self::People(policy) => session.member().map(|name| (policy.people(), name)),
        }
    }

    /// The bound of the rate of whoever dialled, if there is one.
    pub(super) fn most_bps(&self, session: &Session) -> Option<u64> {
        self.person(session).and_then(|(people, name)| people.most_bps(name))
    }

    /// The weight of whoever dialled where copies share a link.
    pub(super) fn weight(&self, session: &Session) -> u32 {
        self.person(session).map_or(1, |(people, name)| people.weight(name))
    }

    /// Why whoever dialled may not copy now, if so.
    pub(super) fn out_of_hours(&self, session: &Session) -> Option<String> {
        self.person(session).and_then(|(people, name)| people.out_of_hours(name, Moment::now()))
    }
}

impl Share {
    /// The folder that whoever dialled may do in what they `wish` and that holds `path`, and the rest of the path. What is deleted is told, and what would
    /// be, in a dry run: whoever may not read there is to learn of nothing but what they name themselves.
    pub(super) fn place_to_write<'a>(
        &self,
        session: &Session,
        wish: &Wish,
        path: &'a Path,
    ) -> Result<(Arc<Dir>, &'a Path), CopyError> {
        let (dir, _, rest) = self.place(session, Right::Write, path)?;
        if wish.delete != Delete::Nothing
            && let Err(why) = self.place(session, Right::Read, path)
        {
            return Err(CopyError::Here(format!("delete tells what is there, and {why}")));
        }
        Ok((dir, rest))
    }

    /// Tells whoever dialled of the folders below `path` that they may read, where they may not read that itself; true if there are any.
    pub(super) fn tell_granted(&self, session: &Session, path: &Path) -> Result<bool, CopyError> {
        let Some((people, name)) = self.rights.person(session) else { return Ok(false) };
        let below = people.readable_below(name, path);
        for at in &below {
            session.note(&Word::Granted { path: escaped(at.as_os_str().as_bytes()) }.to_text())?;
        }
        Ok(!below.is_empty())
    }

    /// The folder that whoever dialled may do this in and that holds `path`, what that is called, and the rest of the path.
    pub(super) fn place<'a>(
        &self,
        session: &Session,
        right: Right,
        path: &'a Path,
    ) -> Result<(Arc<Dir>, Option<Name>, &'a Path), CopyError> {
        let own_name = || last_name(&self.path).or_else(|| Name::new(self.name.as_bytes()));
        match (&self.rights, session.member()) {
            (Rights::Url { write: false }, _) if right == Right::Write => {
                Err(CopyError::Here("the share is read-only; whoever shares it has to share it with write".to_owned()))
            }
            (Rights::Url { .. }, _) => Ok((Arc::clone(&self.dir), own_name(), path)),
            (Rights::People(policy), Some(name)) => {
                let people = policy.people();
                let (dir, at, rest) = people.granted(name, right, path)?;
                if !at.as_os_str().is_empty() && !is_same(self.dir.metadata(at), &dir) {
                    return Err(people.gone(at));
                }
                Ok((dir, last_name(at).or_else(own_name), rest))
            }
            (Rights::People(_), None) => Err(CopyError::Here("nobody knows who you are here".to_owned())),
        }
    }
}

/// What was found is this folder, and no other that has taken its name.
pub(super) fn is_same(found: io::Result<Metadata>, folder: &Dir) -> bool {
    let which = |told: Metadata| FileId::from(&told);
    let ids = (found.map(which), folder.dir_metadata().map(which));
    matches!(ids, (Ok(found), Ok(folder)) if found == folder)
}
