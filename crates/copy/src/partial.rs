//! Files at the taking end: gathered under a name beside their own, which they get only when they are whole and verified. Small ones come at once.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{FlockOperation, RenameFlags};
use rustix::io::Errno;

use crate::file_id::FileId;
use crate::listing::Mtime;
use crate::names::Name;
use crate::ranges::RangeHash;

pub(crate) const TAKEN: &str = "another copy is writing it";
pub(crate) const COLLIDES: &str = "something has taken its name meanwhile: a file whose name differs in upper and lower case only, one of another source, or another program's";
/// The mode of what nobody else is to read, and write to; and what a mode is of what a system tells of a file.
const OURS_ALONE: u32 = 0o600;
const MODE: u32 = 0o7777;
/// What is read at once of two files that are compared.
const COMPARED: usize = 1 << 16;
/// A partial is opened again if another copy has just finished it.
const TRIES: usize = 3;
/// So long another copy is waited for that is writing a small file, and so often it is looked whether it is done.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Where a file goes, and what it will be like.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) folder: Arc<Dir>,
    pub(crate) name: Name,
    pub(crate) mode: u32,
    /// Something was there when we looked, and is replaced.
    pub(crate) replaces: bool,
    /// Something of another kind has its name, and has it until all is copied.
    pub(crate) waits: bool,
    /// It has its name only once the disk has its content.
    pub(crate) is_synced: bool,
}

/// A file that is being gathered; nobody else gathers it at the same time.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) place: Place,
    pub(crate) file: File,
    /// Its mode when it became ours, and the length of what was there.
    mode: u32,
    length: u64,
}

impl Partial {
    /// Opens it; one that is made is nobody else's to read or write until it is kept.
    pub(crate) fn open(place: &Place) -> io::Result<Self> {
        Self::open_within(place, Duration::ZERO)
    }

    /// The same; another copy that is writing it is waited for so long.
    fn open_within(place: &Place, patience: Duration) -> io::Result<Self> {
        let began = Instant::now();
        let (mut tries, mut made, mut most) = (0, None, 0);
        while tries < TRIES {
            let part = place.name.partial();
            let is_made = made.is_some();
            let file = made.take().map_or_else(|| open(&place.folder, &part), Ok);
            let file = file.map_err(|cause| belongs_to_another(place, &part, cause))?;
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) if began.elapsed() < patience => {
                    thread::sleep(LOOK);
                    continue;
                }
                Err(Errno::WOULDBLOCK) => return Err(io::Error::other(TAKEN)),
                // Some file systems have no locks.
                Err(_) => {}
            }
            // Not before: whoever had it until now may have written to it.
            let (found, there) = (regular(&file)?, place.folder.symlink_metadata(part.as_path()));
            if there.is_ok_and(|there| FileId::from(&there) == FileId::from(&found)) {
                most = found.len().max(most);
                if !is_made && may_be_others(&found, &place.folder) {
                    let own = make_anew(&place.folder, &part);
                    made = Some(own.map_err(|cause| belongs_to_another(place, &part, cause))?);
                    tries += 1;
                    continue;
                }
                let (mode, length) = (found.mode() & MODE, most);
                return Ok(Self { place: place.clone(), file, mode, length });
            }
            tries += 1;
        }
        Err(io::Error::other(TAKEN))
    }

    /// Waits until the disk has what is in the file, if that is wished for.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if self.place.is_synced { self.file.sync_data() } else { Ok(()) }
    }

    /// Gives the file its times, its mode and its name; one that waits for its name has its times alone until then.
    pub(crate) fn keep(&self, mtime: Mtime) -> io::Result<()> {
        if self.place.waits {
            return self.file.set_times(mtime.times());
        }
        let mode = &self.place.mode;
        if self.mode != *mode {
            self.file.set_permissions(Permissions::from_mode(*mode))?;
        }
        self.file.set_times(mtime.times())?;
        if let Err(cause) = self.take_name() {
            // Whoever goes on with it has to be able to write to it.
            let _ = self.file.set_permissions(Permissions::from_mode(OURS_ALONE));
            return Err(cause);
        }
        if self.length > 0 {
            self.remove_log();
        }
        Ok(())
    }

    /// It is as it was when it was kept to wait for its name: nobody else has written to it meanwhile.
    pub(crate) fn is_as_kept(&self, size: u64, mtime: Mtime) -> io::Result<bool> {
        let found = self.file.metadata()?;
        let here = Mtime { s: found.mtime(), ns: found.mtime_nsec().clamp(0, 999_999_999) as u32 };
        Ok(found.len() == size && mtime.is_kept_as(here))
    }

    fn take_name(&self) -> io::Result<()> {
        let Place { folder, name, replaces, .. } = &self.place;
        let part = name.partial();
        if *replaces {
            return folder.rename(part.as_path(), folder, name.as_path());
        }
        let outcome = take_free_name(folder, &part, name);
        if outcome.is_err() && self.is_there().unwrap_or(false) {
            self.remove();
            return Ok(());
        }
        outcome
    }

    /// Another copy of the same was first: what has the name is this, byte by byte.
    fn is_there(&self) -> io::Result<bool> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        let there = self.place.folder.open_with(self.place.name.as_path(), &options)?.into_std();
        let (found, own) = (regular(&there)?, self.file.metadata()?);
        let told = |of: &Metadata| (of.len(), of.mtime(), of.mtime_nsec(), of.mode() & MODE);
        if told(&found) != told(&own) {
            return Ok(false);
        }
        let (mut one, mut other) = (vec![0; COMPARED], vec![0; COMPARED]);
        let mut at = 0;
        while at < own.len() {
            let length = (own.len() - at).min(COMPARED as u64) as usize;
            there.read_exact_at(&mut one[..length], at)?;
            self.file.read_exact_at(&mut other[..length], at)?;
            if one[..length] != other[..length] {
                return Ok(false);
            }
            at += length as u64;
        }
        Ok(true)
    }

    fn remove(&self) {
        // Whoever wants it gone finds it by its name.
        let _ = self.place.folder.remove_file(self.place.name.partial().as_path());
        if self.length > 0 {
            self.remove_log();
        }
    }

    /// What an earlier attempt knew of it, or of what was larger under this name, tells of nothing any more.
    pub(crate) fn remove_log(&self) {
        // Where one stays it misleads nobody.
        let _ = self.place.folder.remove_file(self.place.name.log().as_path());
    }
}

/// Gives what is there as `from` a name that nothing has.
pub(crate) fn take_free_name(folder: &Dir, from: &Name, name: &Name) -> io::Result<()> {
    let (from, to) = (from.as_path(), name.as_path());
    match rustix::fs::renameat_with(folder.as_fd(), from, folder.as_fd(), to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(io::Error::other(COLLIDES)),
        // Not every file system can do that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => folder.rename(from, folder, to),
        Err(cause) => Err(cause.into()),
    }
}

/// A file that is there, or is made.
fn open(folder: &Dir, name: &Name) -> io::Result<File> {
    Ok(folder.open_with(name.as_path(), options().create(true))?.into_std())
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(OURS_ALONE).follow(FollowSymlinks::No);
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options
}

/// The log beside a partial that is ours: a file that is there and nobody else's, or is made.
pub(crate) fn open_log(folder: &Dir, name: &Name) -> io::Result<File> {
    let file = open(folder, name)?;
    if may_be_others(&regular(&file)?, folder) { make_anew(folder, name) } else { Ok(file) }
}

/// A new file in place of one that may be others'.
fn make_anew(folder: &Dir, name: &Name) -> io::Result<File> {
    folder.remove_file(name.as_path())?;
    Ok(folder.open_with(name.as_path(), options().create_new(true))?.into_std())
}

/// It has another name as well, or was made by another user than us, and than the one whose folder it lies in: what is written to it would be theirs.
fn may_be_others(found: &Metadata, folder: &Dir) -> bool {
    let is_ours = |uid| uid == rustix::process::geteuid().as_raw();
    let is_of_folder = |uid| folder.dir_metadata().is_ok_and(|told| cap_std::fs::MetadataExt::uid(&told) == uid);
    found.nlink() > 1 || !(is_ours(found.uid()) || is_of_folder(found.uid()))
}

/// What another user's copy has left, where that is why nothing can be written.
fn belongs_to_another(place: &Place, part: &Name, cause: io::Error) -> io::Error {
    let is_there = || place.folder.symlink_metadata(part.as_path()).is_ok();
    if cause.kind() != io::ErrorKind::PermissionDenied || !is_there() {
        return cause;
    }
    io::Error::other(format!(
        "{part} is another user's, whose copy is under way or was interrupted: that user goes on with it, or removes it and {}",
        place.name.log()
    ))
}

fn regular(file: &File) -> io::Result<Metadata> {
    let found = file.metadata()?;
    if found.is_file() { Ok(found) } else { Err(io::Error::other("something that is no file lies in its place")) }
}

/// Puts a small file in its place, and reads it back before it gets its name.
pub(crate) fn place_whole(place: &Place, content: &[u8], hash: &RangeHash, mtime: Mtime) -> io::Result<()> {
    let partial = Partial::open_within(place, PATIENCE)?;
    let written = write_whole(&partial, content, hash);
    let outcome = written.and_then(|()| partial.sync()).and_then(|()| partial.keep(mtime));
    if outcome.is_err() {
        partial.remove();
    }
    outcome
}

fn write_whole(Partial { file, length, .. }: &Partial, content: &[u8], hash: &RangeHash) -> io::Result<()> {
    if *length > 0 {
        file.set_len(0)?;
    }
    file.write_all_at(content, 0)?;
    let mut written = vec![0; content.len()];
    file.read_exact_at(&mut written, 0)?;
    let is_right = blake3::hash(&written) == *hash;
    if is_right { Ok(()) } else { Err(io::Error::other("what was written is not what was sent; copy it again")) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const MTIME: Mtime = Mtime { s: 1_000_000_000, ns: 5 };

    pub(crate) fn place(dir: &tempfile::TempDir, name: &str) -> Place {
        let folder = Dir::open_ambient_dir(dir.path(), cap_std::ambient_authority()).unwrap();
        Place {
            folder: Arc::new(folder),
            name: Name::new(name.as_bytes()).unwrap(),
            mode: 0o640,
            replaces: false,
            waits: false,
            is_synced: true,
        }
    }

    pub(crate) fn names(dir: &tempfile::TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(dir.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn of_two_copies_of_the_same_the_second_finds_it_there_and_no_other_file_is_taken_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let write =
            |content: &[u8], mtime| place_whole(&place(&dir, "a"), content, blake3::hash(content).as_bytes(), mtime);
        let content = vec![7; COMPARED + 1];
        write(&content, MTIME).unwrap();
        write(&content, MTIME).unwrap();
        let later = Mtime { s: MTIME.s + 1, ..MTIME };
        assert_eq!(write(&content, later).unwrap_err().to_string(), COLLIDES);
        let other = [&content[1..], &[8]].concat();
        assert_eq!(write(&other, MTIME).unwrap_err().to_string(), COLLIDES);
        assert_eq!(names(&dir), ["a"]);
        assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), content);
    }

    #[test]
    fn what_did_not_get_its_name_can_be_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place { mode: 0o444, ..place(&dir, "a") };
        let partial = Partial::open(&place).unwrap();
        std::fs::write(dir.path().join("a"), "another's").unwrap();
        assert_eq!(partial.keep(MTIME).unwrap_err().to_string(), COLLIDES);
        let mode = std::fs::metadata(dir.path().join("a.visapult-part")).unwrap().mode() & MODE;
        assert_eq!(mode, OURS_ALONE, "{mode:o}");
    }

    #[test]
    fn what_may_be_others_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("victim"), b"precious").unwrap();
        std::fs::hard_link(at("victim"), at("a.visapult-part")).unwrap();
        std::fs::write(at("a.visapult-log"), b"VISAPULT COPY 3").unwrap();
        let place = place(&dir, "a");
        place_whole(&place, b"content", blake3::hash(b"content").as_bytes(), MTIME).unwrap();
        assert_eq!(std::fs::read(at("victim")).unwrap(), b"precious");
        assert_eq!(std::fs::read(at("a")).unwrap(), b"content");
        assert_eq!(std::fs::metadata(at("a")).unwrap().nlink(), 1);
        std::fs::hard_link(at("victim"), at("b.visapult-log")).unwrap();
        open_log(&place.folder, &Name::new(b"b").unwrap().log()).unwrap().set_len(0).unwrap();
        assert_eq!(std::fs::read(at("victim")).unwrap(), b"precious");
        // Only some may give files away.
        std::fs::write(at("c.visapult-part"), b"another's").unwrap();
        let kept = File::open(at("c.visapult-part")).unwrap();
        if std::os::unix::fs::chown(at("c.visapult-part"), Some(12345), None).is_ok() {
            let partial = Partial::open(&Place { name: Name::new(b"c").unwrap(), ..place.clone() }).unwrap();
            partial.file.set_len(0).unwrap();
            assert_eq!(kept.metadata().unwrap().len(), 9);
        }
        let mut left = names(&dir);
        left.sort_unstable();
        assert_eq!(left, ["a", "b.visapult-log", "c.visapult-part", "victim"]);
    }

    #[test]
    fn what_another_user_has_left_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let (place, denied) = (place(&dir, "a"), || io::ErrorKind::PermissionDenied.into());
        let told = || belongs_to_another(&place, &place.name.partial(), denied()).to_string();
        assert_eq!(told(), io::Error::from(io::ErrorKind::PermissionDenied).to_string());
        std::fs::write(dir.path().join("a.visapult-part"), "").unwrap();
        assert!(told().starts_with("a.visapult-part is another user's"), "{}", told());
        assert!(told().ends_with("a.visapult-log"), "{}", told());
    }

    #[test]
    fn a_small_file_waits_for_another_copy_that_is_writing_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(&dir, "a");
        let first = Partial::open(&place).unwrap();
        let second = thread::spawn({
            let place = place.clone();
            move || place_whole(&place, b"content", blake3::hash(b"content").as_bytes(), MTIME)
        });
        // It has looked by then, or does so later: it is right either way.
        thread::sleep(20 * LOOK);
        write_whole(&first, b"content", blake3::hash(b"content").as_bytes()).unwrap();
        first.keep(MTIME).unwrap();
        drop(first);
        second.join().unwrap().unwrap();
        assert_eq!(names(&dir), ["a"]);
    }

    #[test]
    fn a_small_file_appears_whole_with_its_mode_and_time() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(&dir, "a");
        place_whole(&place, b"content", blake3::hash(b"content").as_bytes(), MTIME).unwrap();
        let metadata = std::fs::metadata(dir.path().join("a")).unwrap();
        assert_eq!((metadata.mode() & 0o777, metadata.mtime(), metadata.mtime_nsec()), (0o640, MTIME.s, 5));
        // Somebody was quicker.
        let taken = place_whole(&place, b"other", blake3::hash(b"other").as_bytes(), MTIME).unwrap_err();
        assert!(taken.to_string().contains("upper and lower case"), "{taken}");
        assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"content");
        let replacing = Place { replaces: true, ..place };
        assert!(place_whole(&replacing, b"x", &[0; 32], MTIME).unwrap_err().to_string().contains("not what was sent"));
        assert_eq!(names(&dir), ["a"]);
    }

    #[test]
    fn a_small_file_has_its_mode_whatever_it_was_made_with() {
        let dir = tempfile::tempdir().unwrap();
        for mode in [0o400, 0o644, 0o666, 0o777] {
            for was in [None, Some(0o600), Some(0o755)] {
                let place = Place { mode, replaces: true, ..place(&dir, "a") };
                if let Some(was) = was {
                    // What an earlier attempt has left.
                    let part = dir.path().join("a.visapult-part");
                    std::fs::write(&part, b"longer than it is to be").unwrap();
                    std::fs::set_permissions(part, Permissions::from_mode(was)).unwrap();
                }
                place_whole(&place, b"content", blake3::hash(b"content").as_bytes(), MTIME).unwrap();
                assert_eq!(std::fs::metadata(dir.path().join("a")).unwrap().mode() & 0o7777, mode);
                assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"content");
            }
        }
    }

    #[test]
    fn a_file_that_has_become_small_leaves_nothing_of_what_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let (content, hash) = (b"content", *blake3::hash(b"content").as_bytes());
        for (hash, is_right) in [(hash, true), ([0; 32], false)] {
            // As an interrupted copy of a larger one leaves it.
            std::fs::write(dir.path().join("a.visapult-part"), [1; 100]).unwrap();
            std::fs::write(dir.path().join("a.visapult-log"), b"VISAPULT COPY 3").unwrap();
            let place = Place { replaces: true, ..place(&dir, "a") };
            assert_eq!(place_whole(&place, content, &hash, MTIME).is_ok(), is_right);
            assert_eq!(names(&dir), ["a"]);
        }
    }

    #[test]
    fn nobody_else_reads_or_writes_a_small_file_before_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place { mode: 0o666, ..place(&dir, "a") };
        let partial = Partial::open(&place).unwrap();
        write_whole(&partial, b"content", blake3::hash(b"content").as_bytes()).unwrap();
        let mode = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().mode() & MODE;
        assert_eq!(mode("a.visapult-part"), 0o600);
        partial.keep(MTIME).unwrap();
        assert_eq!(mode("a"), 0o666);
    }
}
