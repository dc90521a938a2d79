//! A part of fields becomes a Zarr group. Its document is written when all else is there, and is away while chunks are replaced, so that what is
//! interrupted opens as no group.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;

use super::Taking;
use super::asking::Answer;
use super::pool::Pending;
use super::tree::Verdict;
use crate::error::{CopyError, reason};
use crate::fields::{DOCUMENT, DOCUMENTS};
use crate::landing::Ground;
use crate::wish::Delete;
use crate::words::Word;

/// What a group without all that it describes would be.
const NOT_ALL: &str = "cannot be written: not all that it describes could be copied";

/// How a group stands.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// Its document, as it was listed.
    document: Option<(u64, Verdict)>,
    /// Chunks are replaced, and no document describes them.
    is_away: bool,
}

impl Group {
    /// Nothing more is to be done.
    pub(super) const fn is_over(&self) -> bool {
        self.document.is_none()
    }
}

impl Taking<'_> {
    /// What comes is a group of these arrays.
    ///
    /// # Errors
    /// If another part lies there, whose arrays would be among them.
    pub(super) fn begin_group(&mut self, arrays: Option<&[String]>) -> Result<(), CopyError> {
        if let (Some(Ground::Folder(base)), Some(arrays), Delete::Nothing) = (&self.ground, arrays, self.wish.delete)
            && let Some(other) = other_array(base, arrays)
        {
            let what = if self.knows { other } else { "what lies there".to_owned() };
            return Err(CopyError::Here(format!(
                "{what} is not of this part, and would be taken for one of its arrays: copy with delete, or to another name"
            )));
        }
        self.group = Some(Group::default());
        Ok(())
    }

    /// The verdict on an entry, unless it is the document, which waits until all else is there.
    pub(super) fn hold_back(&mut self, entry: u64, verdict: Verdict) -> Option<Verdict> {
        let Some(group) = self.group.as_mut().filter(|_| !self.wish.dry_run) else { return Some(verdict) };
        match &verdict {
            Verdict::Same { pending, .. } | Verdict::Wanted { pending, .. } if is_document(pending) => {
                group.document = Some((entry, verdict));
                None
            }
            _ => Some(verdict),
        }
    }

    /// Before anything that it describes is replaced.
    pub(super) fn take_document_away(&mut self) -> Result<(), CopyError> {
        let (Some(group), Some(Ground::Folder(base))) = (&mut self.group, &self.ground) else { return Ok(()) };
        if std::mem::replace(&mut group.is_away, true) {
            return Ok(());
        }
        if base.symlink_metadata(DOCUMENT).is_ok_and(|there| there.is_dir()) {
            return Ok(());
        }
        match base.remove_file(DOCUMENT) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                let why =
                    format!("{DOCUMENT} cannot be taken away, and it describes what is replaced: {}", reason(&cause));
                Err(CopyError::Here(why))
            }
            _ => Ok(()),
        }
    }

    /// Says whether the document is wanted, once all else is there.
    pub(super) fn look_at_document(&mut self) -> Result<(), CopyError> {
        if !self.is_quiet() {
            return Ok(());
        }
        let Some(group) = &mut self.group else { return Ok(()) };
        let Some((entry, verdict)) = group.document.take() else { return Ok(()) };
        let verdict = match verdict {
            Verdict::Same { pending, has_holes } if group.is_away => Verdict::Wanted { pending, has_holes },
            verdict => verdict,
        };
        if let Verdict::Wanted { pending, .. } = &verdict
            && self.telling.tally.failed > 0
        {
            return self.telling.fail(Some(entry), &pending.path(), NOT_ALL);
        }
        match self.answer(entry, verdict)? {
            Answer::Wanted => self.telling.say(&Word::Compared { wanted: vec![entry], same: Vec::new() }),
            Answer::Compare => self.telling.say(&Word::Compare { files: vec![(entry, 1)] }),
            Answer::ByWholeHash => {
                self.telling.say(&Word::Compare { files: vec![(entry, 1)] })?;
                self.telling.say(&Word::Compared { wanted: vec![entry], same: Vec::new() })
            }
            Answer::Later => Ok(()),
            Answer::Nothing => {
                self.telling.same(entry);
                Ok(())
            }
        }
    }
}

fn is_document(pending: &Pending) -> bool {
    pending.path() == Path::new(DOCUMENT)
}

/// An array that lies in the group and is none of these.
fn other_array(base: &Dir, arrays: &[String]) -> Option<String> {
    let names = base.entries().ok()?.filter_map(|found| found.ok()?.file_name().into_string().ok());
    let is_array =
        |name: &String| DOCUMENTS.iter().any(|document| base.metadata(Path::new(name).join(document)).is_ok());
    names.filter(|name| !arrays.contains(name)).filter(is_array).min()
}
