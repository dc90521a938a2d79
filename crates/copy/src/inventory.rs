//! What is at a place, told entry by entry: nothing of it is read, and nothing written. It is listed as for a copy, so whoever may copy it may see it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use visapult_objects::{escaped, unescaped};
use visapult_ripp_net::Options;

use crate::dialling::{dial, fresh_job};
use crate::endpoint::{Endpoint, Remote};
use crate::error::CopyError;
use crate::filter::{BELOW_TOP, Filter};
use crate::listing::{Entry, Kind};
use crate::names::{inner_path, shown};
use crate::objects::Store;
use crate::report::{Event, Moved};
use crate::request::{GRANTS, LAST_PATIENCE, Request, Verb};
use crate::root::Root;
use crate::selection::Patterns;
use crate::take::take;
use crate::walk::{Found, Walk};
use crate::wish::Wish;

/// What is listed.
#[derive(Clone, Debug)]
pub struct ListOptions {
    /// Where.
    pub place: Endpoint,
    /// Only what is in the folder itself. A share that is older than listings reads the folders in it all the same.
    pub top_only: bool,
    /// Options of the session.
    pub session: Options,
}

/// One thing that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Below the place; empty of what is at the place itself.
    pub path: PathBuf,
    /// The last part of its path, of what is at the place itself, too.
    pub name: OsString,
    /// What it is.
    pub kind: ItemKind,
    /// When it was changed last, in seconds since 1970 and nanoseconds; none where nobody tells.
    pub modified: Option<(i64, u32)>,
}

/// What something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// A folder.
    Folder,
    /// A file of so many bytes.
    File(u64),
    /// A link to there.
    Link(PathBuf),
}

/// Lists what is at a place: [`Event::Listed`] for each entry, folders before what is in them, and what is at the place itself first, unless only what is in it
/// is meant.
///
/// # Errors
/// Why nothing, or not all, could be listed. What alone cannot be is told to `watch`, and the others are listed.
pub fn list(options: &ListOptions, stop: &AtomicBool, watch: &mut dyn FnMut(Event)) -> Result<(), CopyError> {
    let ListOptions { place, top_only, session } = options;
    place.check_source()?;
    let exclude = if *top_only { vec![BELOW_TOP.to_owned()] } else { Vec::new() };
    let only = Patterns { exclude, ..Patterns::default() };
    let root = match place {
        Endpoint::There(remote) => return Asking { remote, only, session, stop }.list(watch),
        Endpoint::Here(path) => Root::here(path)?,
        Endpoint::Stored(url) => Root::stored(Store::open(url, SystemTime::now(), stop)?),
    };
    let (is_content, is_stored) = (root.is_content(), root.store().is_some());
    let mut outline = Outline::default();
    for found in Walk::new(vec![root], Filter::new(&only).map_err(CopyError::Here)?) {
        if stop.load(Ordering::Relaxed) {
            return Err(CopyError::Stopped);
        }
        watch(match found {
            Found::Entry { entry, .. } => {
                let has_time = !is_stored || entry.kind != Kind::Folder;
                let Some(item) = outline.item(entry) else { continue };
                let modified = item.modified.filter(|_| has_time);
                Event::Listed(Item { modified, ..item.at_place(is_content) })
            }
            Found::Unlisted { path, why, failed: true } => Event::Failed { path, why },
            Found::Unlisted { path, why, failed: false } => Event::LeftOut { path, why },
            Found::Notice(text) => Event::Notice(text),
        });
    }
    Ok(())
}

/// A share that is asked.
struct Asking<'a> {
    remote: &'a Remote,
    only: Patterns,
    session: &'a Options,
    stop: &'a AtomicBool,
}

impl Asking<'_> {
    fn list(&self, watch: &mut dyn FnMut(Event)) -> Result<(), CopyError> {
        let Remote { path, is_content, .. } = self.remote;
        let granted = self.ask(path, *is_content, &mut |event| {
            watch(match event {
                Event::Listed(item) => Event::Listed(item.at_place(*is_content)),
                event => event,
            });
        })?;
        if granted.is_empty() { Ok(()) } else { self.list_granted(granted, watch) }
    }

    /// All of it may not be seen, but these folders below: they are listed one after the other, in folders of which nothing else is known.
    fn list_granted(&self, granted: Vec<String>, watch: &mut dyn FnMut(Event)) -> Result<(), CopyError> {
        let Remote { url, path, .. } = self.remote;
        let name = path.file_name().unwrap_or(url.name.as_ref()).to_owned();
        watch(Event::Listed(Item::folder(PathBuf::new(), name)));
        let inner = |grant: String| unescaped(&grant).and_then(|bytes| inner_path(&bytes));
        let below: BTreeSet<PathBuf> = granted
            .into_iter()
            .filter_map(inner)
            .filter_map(|at| Some(at.strip_prefix(path).ok()?.to_owned()))
            .collect();
        let mut told = BTreeSet::new();
        for at in below.iter().filter(|at| !at.as_os_str().is_empty()) {
            for above in outer(at) {
                if told.insert(above.clone()) {
                    let name = above.file_name().unwrap_or_default().to_owned();
                    watch(Event::Listed(Item::folder(above, name)));
                }
            }
            let outcome = self.ask(&path.join(at), false, &mut |event| {
                watch(match event {
                    Event::Listed(item) => Event::Listed(item.at_place(false).below(at)),
                    event => event,
                });
            });
            match outcome {
                Err(CopyError::Refused(why)) => watch(Event::Failed { path: shown(at), why }),
                outcome => drop(outcome?),
            }
        }
        Ok(())
    }

    /// Lists one path of the share; returns what may be seen below it, where that itself may not be.
    fn ask(&self, path: &Path, is_content: bool, watch: &mut dyn FnMut(Event)) -> Result<Vec<String>, CopyError> {
        let mut asked = escaped(path.as_os_str().as_bytes());
        if is_content {
            asked += "/.";
        }
        let verb = Verb::Get { paths: vec![asked], only: self.only.clone(), span: None, part: None };
        let mut request = Request::new(&fresh_job()?, verb);
        request.able.push(GRANTS.to_owned());
        let session = dial(&self.remote.url, self.session, &request)?;
        let wish = Wish { dry_run: true, lists: true, ..Wish::default() };
        let mut taken = Moved::default();
        take(&session, None, None, wish, self.stop, &mut taken, watch)?;
        session.wait_ended(LAST_PATIENCE);
        Ok(taken.granted)
    }
}

/// The folders that something at `path` is in, the outermost first.
fn outer(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> = path.ancestors().skip(1).filter(|at| !at.as_os_str().is_empty()).collect();
    folders.reverse();
    folders.into_iter().map(Path::to_owned).collect()
}

impl Item {
    /// A folder of which no more is known.
    const fn folder(path: PathBuf, name: OsString) -> Self {
        Self { path, name, kind: ItemKind::Folder, modified: None }
    }

    /// The path of an entry begins with what the place is called, unless only what is in that is meant.
    fn at_place(self, is_content: bool) -> Self {
        if is_content { self } else { Self { path: self.path.components().skip(1).collect(), ..self } }
    }

    fn below(self, folder: &Path) -> Self {
        Self { path: folder.join(&self.path).components().collect(), ..self }
    }
}

/// The folders that the next entry may be in.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    folders: Vec<PathBuf>,
}

impl Outline {
    /// An entry with its path, from what the source is called on. None if entries do not follow one another as they should.
    pub(crate) fn item(&mut self, entry: Entry) -> Option<Item> {
        let Entry { depth, name, kind, mtime, .. } = entry;
        let depth = usize::from(depth);
        if depth > self.folders.len() {
            return None;
        }
        self.folders.truncate(depth);
        let path = self.folders.last().map_or_else(|| name.as_path().to_owned(), |folder| folder.join(name.as_path()));
        let kind = match kind {
            Kind::Folder => {
                self.folders.push(path.clone());
                ItemKind::Folder
            }
            Kind::File { size, .. } => ItemKind::File(size),
            Kind::Link { target } => ItemKind::Link(std::ffi::OsStr::from_bytes(&target).into()),
        };
        let modified = Some((mtime.s, mtime.ns)).filter(|_| !mtime.is_untold());
        Some(Item { path, name: name.as_path().into(), kind, modified })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::listing::Mtime;
    use crate::names::Name;

    fn entry(depth: u16, name: &str, kind: Kind) -> Entry {
        Entry { depth, name: Name::new(name.as_bytes()).unwrap(), kind, mode: 0o644, mtime: Mtime { s: 7, ns: 5 } }
    }

    #[test]
    fn entries_have_paths_and_those_out_of_turn_are_none() {
        let file = || Kind::File { size: 3, has_holes: false };
        let mut outline = Outline::default();
        let mut path = |depth, name, kind| Some(outline.item(entry(depth, name, kind))?.path.display().to_string());
        let folder = || Kind::Folder;
        let told = [path(0, "run", folder()), path(1, "a", folder()), path(2, "x", file()), path(1, "b", file())];
        assert_eq!(told.map(Option::unwrap), ["run", "run/a", "run/a/x", "run/b"]);
        assert_eq!(path(2, "c", file()), None, "a file is no folder");
        assert_eq!(path(0, "other", file()).as_deref(), Some("other"));
        assert_eq!(path(1, "d", file()), None);
    }

    #[test]
    fn only_the_top_of_a_folder_is_told_and_paths_begin_below_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("run/a/deep")).unwrap();
        fs::write(dir.path().join("run/a/x"), "123").unwrap();
        fs::write(dir.path().join("run/b"), "12345").unwrap();
        let told = |place: &str, top_only| {
            let place = Endpoint::Here(dir.path().join(place));
            let (mut told, options) = (Vec::new(), ListOptions { place, top_only, session: Options::default() });
            list(&options, &AtomicBool::new(false), &mut |event| match event {
                Event::Listed(item) => told.push(format!("{} {:?}", item.path.display(), item.kind)),
                other => panic!("{other:?}"),
            })
            .unwrap();
            told
        };
        let top = [" Folder", "a Folder", "b File(5)"];
        assert_eq!(told("run", true), top);
        assert_eq!(told("run/.", true), top[1..]);
        assert_eq!(told("run", false), [" Folder", "a Folder", "a/deep Folder", "a/x File(3)", "b File(5)"]);
        assert_eq!(told("run/b", false), [" File(5)"]);
    }

    #[test]
    fn folders_around_what_is_granted_are_named_from_the_outside() {
        assert_eq!(outer(Path::new("a/b/c")), [PathBuf::from("a"), PathBuf::from("a/b")]);
        assert!(outer(Path::new("a")).is_empty());
        let item = Item::folder("run/x".into(), "x".into());
        assert_eq!(item.clone().at_place(true), item);
        assert_eq!(item.at_place(false).below(Path::new("a/b")).path, PathBuf::from("a/b/x"));
        assert_eq!(
            Item::folder("run".into(), "run".into()).at_place(false).below(Path::new("a")).path,
            PathBuf::from("a")
        );
    }
}
