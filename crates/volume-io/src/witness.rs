//! Whether the file of a source is still the one that was opened: values lie where its header said then, of another file they would be nonsense.

use std::fs::File;
use std::io;

use cap_std::fs::{Metadata, MetadataExt};

use crate::SourceError;
use crate::place::Place;

/// What was seen of a file when it was opened. A file that was removed is read as it was.
pub(crate) struct Witness {
    place: Place,
    opened: Seen,
    course: Course,
}

/// What becomes of a file's values when somebody writes to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// It is not the same any more.
    Fixed,
    /// Whoever writes it appends: what is there stays where it is.
    Grows,
    /// Whoever writes it appends, and what is there may move.
    Moves,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    device_and_inode: [u64; 2],
    bytes: u64,
    /// Seconds and nanoseconds.
    written: [i64; 2],
}

impl Witness {
    /// Of a file that stays as it is while one looks, opened as `file`.
    pub(crate) fn fixed(place: &Place, file: &File) -> Result<Self, SourceError> {
        Self::of(place, file, Course::Fixed)
    }

    /// Of a file to which a simulation may append.
    pub(crate) fn growing(place: &Place, file: &File) -> Result<Self, SourceError> {
        Self::of(place, file, Course::Grows)
    }

    /// Of values that move in their file when a simulation appends to it: where they were is something else then.
    pub(crate) fn moving(place: &Place, file: &File) -> Result<Self, SourceError> {
        Self::of(place, file, Course::Moves)
    }

    fn of(place: &Place, file: &File, course: Course) -> Result<Self, SourceError> {
        let opened = file.metadata().map_err(|cause| SourceError::io(place.display(), cause))?;
        Ok(Self { place: place.clone(), opened: Seen::of(&Metadata::from_just_metadata(opened)), course })
    }

    /// What `read` gives, if the file is the same before and after.
    ///
    /// # Errors
    /// [`SourceError::Changed`] if it is not, whatever `read` makes of that.
    pub(crate) fn during<T>(&self, read: impl FnOnce() -> Result<T, SourceError>) -> Result<T, SourceError> {
        self.check()?;
        let read = read();
        self.check()?;
        read
    }

    fn check(&self) -> Result<(), SourceError> {
        let path = self.place.display();
        match self.place.metadata() {
            Ok(now) => self.change(Seen::of(&now)).map_or(Ok(()), |change| Err(SourceError::Changed { path, change })),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(cause) => Err(SourceError::io(path, cause)),
        }
    }

    /// What became of the file, if it is not what was opened.
    fn change(&self, now: Seen) -> Option<String> {
        let then = self.opened;
        if now.device_and_inode != then.device_and_inode {
            return Some(format!("another file of {} bytes has taken its place", now.bytes));
        }
        if now.bytes < then.bytes || (now.bytes != then.bytes && self.course == Course::Fixed) {
            return Some(format!("it had {} bytes, now {}", then.bytes, now.bytes));
        }
        match self.course {
            Course::Fixed => (now != then).then(|| "it was written to".to_owned()),
            Course::Grows => None,
            Course::Moves => {
                (now != then).then(|| "it was written to, which moves compressed chunks of several steps".to_owned())
            }
        }
    }
}

impl Seen {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device_and_inode: [metadata.dev(), metadata.ino()],
            bytes: metadata.len(),
            written: [metadata.mtime(), metadata.mtime_nsec()],
        }
    }
}
