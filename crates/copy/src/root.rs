//! One of the things that are to be copied: where it lies, what of it is meant, and where its links may lead to.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;

use visapult_objects::{Connection, ObjectUrl, PATIENCE};

use crate::error::{CopyError, following, reason};
use crate::fields::{DOCUMENTS, FieldPart, FieldTree, Place, Turn};
use crate::misspelt;
use crate::names::{Name, last_name, shown};
use crate::objects::Store;
use crate::opened::Opened;
use crate::selection::Span;

/// What all paths of a machine are below.
const ALL: &str = "/";

/// One of the things that are to be copied.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) base: Base,
    /// The file, in that folder; none if the folder is meant.
    pub(crate) file: Option<PathBuf>,
    /// Of the file, where the bytes begin that are meant, and how many they are; none if all are.
    pub(crate) span: Option<(u64, u64)>,
    /// What it is called at the other end; none if what is in the folder is meant.
    pub(crate) name: Option<Name>,
    /// What its user calls it.
    shown: String,
    /// Where links in the folder may lead to; none of a file.
    pub(crate) reach: Option<Reach>,
}

/// What links may lead to, where they are followed: anything below, where the folder that they are in is at `at`.
#[derive(Debug)]
pub(crate) struct Reach {
    /// None on this machine, where that is all there is.
    share: Option<Arc<Dir>>,
    at: PathBuf,
}

impl Reach {
    /// Where the link leads to that is at `path` in the folder.
    pub(crate) fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let path = self.at.join(path);
        let real = match &self.share {
            Some(share) => share.canonicalize(path),
            None => std::fs::canonicalize(Path::new(ALL).join(path)),
        };
        let real = real.map_err(following)?;
        Ok(real.strip_prefix(ALL).or(real.strip_prefix(".")).unwrap_or(&real).to_owned())
    }

    /// The Zarr group that the folder is in, where that may be looked at, and its name in there: coordinates of an array are beside it.
    fn group_around(&self) -> Option<(Dir, PathBuf)> {
        let real = self.resolve(Path::new("")).ok()?;
        let (group, name) = (real.parent()?, real.file_name()?);
        let group = match &self.share {
            Some(share) => share.open_dir(Path::new(".").join(group)).ok()?,
            None => Dir::open_ambient_dir(Path::new(ALL).join(group), cap_std::ambient_authority()).ok()?,
        };
        DOCUMENTS.iter().any(|document| group.is_file(document)).then(|| (group, name.into()))
    }

    /// All that is below, as what links lead to is found in.
    pub(crate) fn all(&self) -> io::Result<Root> {
        let base = match &self.share {
            Some(share) => Arc::clone(share),
            None => Arc::new(Dir::open_ambient_dir(ALL, cap_std::ambient_authority())?),
        };
        let reach = Some(Self { share: self.share.clone(), at: PathBuf::new() });
        Ok(Root { base: Base::Folder(base), file: None, span: None, name: None, shown: String::new(), reach })
    }
}

/// Where what is copied lies.
#[derive(Debug)]
pub(crate) enum Base {
    /// The folder itself, or the one that the file is in.
    Folder(Arc<Dir>),
    /// A place in an object store.
    Store(Arc<Store>),
    /// Nowhere: files are made of a part of some fields.
    Made(Arc<FieldTree>),
}

impl Root {
    /// What an object store has there.
    pub(crate) fn stored(store: Store) -> Self {
        let url = store.url();
        let (name, shown) = (url.name().and_then(|name| Name::new(&name)), url.to_string());
        let file = store.one().and(name.as_ref()).map(|name| name.as_path().to_owned());
        Self { base: Base::Store(Arc::new(store)), file, span: None, name, shown, reach: None }
    }

    /// The store that it is in, if it is in one.
    pub(crate) const fn store(&self) -> Option<&Arc<Store>> {
        match &self.base {
            Base::Folder(_) | Base::Made(_) => None,
            Base::Store(store) => Some(store),
        }
    }

    /// What `path` names on this machine. A link that is named itself is followed.
    pub(crate) fn here(path: &Path) -> Result<Self, CopyError> {
        let wrong = |cause: io::Error| CopyError::at(path, &cause);
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            return Err(CopyError::stream(path));
        }
        let real = std::fs::canonicalize(path).map_err(following).map_err(|cause| {
            let folder = |at: &Path| if at.as_os_str().is_empty() { Path::new(".").to_owned() } else { at.to_owned() };
            misspelt::at(path, &cause, |at| Ok(std::fs::read_dir(folder(at))?.map(|found| Ok(found?.file_name()))))
        })?;
        let open = |dir: &Path| Dir::open_ambient_dir(dir, cap_std::ambient_authority()).map(Arc::new).map_err(wrong);
        // `folder/.` is what is in the folder.
        let is_content = path.as_os_str().as_bytes().ends_with(b"/.");
        let name = last_name(path).filter(|_| !is_content);
        let shown = shown(path);
        if std::fs::metadata(&real).map_err(wrong)?.is_dir() {
            let base = Base::Folder(open(&real)?);
            let reach = Reach { share: None, at: real.strip_prefix(ALL).unwrap_or(&real).to_owned() };
            return Ok(Self { base, file: None, span: None, name, shown, reach: Some(reach) });
        }
        let (Some(parent), Some(file)) = (real.parent(), real.file_name()) else {
            return Err(CopyError::Here(format!("{shown} is no file")));
        };
        let base = Base::Folder(open(parent)?);
        Ok(Self { base, file: Some(file.into()), span: None, name, shown, reach: None })
    }

    /// What is in the folder is meant, whatever that is called.
    pub(crate) fn content(self) -> Self {
        Self { name: None, ..self }
    }

    /// What `path` names below `share`; the share itself is called `name`. Links that stay in the share are followed.
    pub(crate) fn within(
        share: &Arc<Dir>,
        name: Option<&Name>,
        path: &Path,
        opened: &mut Opened,
    ) -> Result<Self, CopyError> {
        let names = |at: &Path| {
            let at = if at.as_os_str().is_empty() { Path::new(".") } else { at };
            Ok(share.read_dir(at)?.map(|found| Ok(found?.file_name())))
        };
        let wrong = |cause: io::Error| {
            // No shell has looked at it.
            if cause.kind() == io::ErrorKind::NotFound && has_pattern(path) {
                let why = CopyError::at(path, &cause);
                return CopyError::Here(format!("{why}; a pattern goes with include, beside the URL of its folder"));
            }
            misspelt::at(path, &cause, names)
        };
        let folder = |dir: Arc<Dir>, name: Option<Name>, shown: String| {
            let reach = Some(Reach { share: Some(Arc::clone(share)), at: path.to_owned() });
            Self { base: Base::Folder(dir), file: None, span: None, name, shown, reach }
        };
        let Some(last) = path.file_name() else {
            let shown = name.map(Name::to_string).unwrap_or_default();
            return Ok(folder(Arc::clone(share), name.cloned(), shown));
        };
        let name = Name::new(last.as_bytes());
        if share.metadata(path).map_err(wrong)?.is_dir() {
            return Ok(folder(opened.open(share, path).map_err(wrong)?, name, shown(path)));
        }
        let real = share.canonicalize(path).map_err(wrong)?;
        let (parent, file) = (real.parent().unwrap_or(Path::new("")), real.file_name().unwrap_or(last));
        let base = Base::Folder(opened.open(share, parent).map_err(wrong)?);
        Ok(Self { base, file: Some(file.into()), span: None, name, shown: shown(path), reach: None })
    }

    /// Only these bytes of the file are meant.
    ///
    /// # Errors
    /// If it is no file, or has not so many.
    pub(crate) fn cut(self, span: Span) -> Result<Self, CopyError> {
        let wrong = |why: String| CopyError::Here(format!("{}: {why}", self.shown));
        let Some(file) = &self.file else {
            return Err(wrong("is a folder, and a range is of one file".to_owned()));
        };
        let length = match &self.base {
            Base::Folder(dir) => dir.symlink_metadata(file).map_err(|cause| wrong(reason(&cause)))?.len(),
            Base::Store(store) => store.one().map_or(0, |told| told.size),
            Base::Made(_) => 0,
        };
        let end = span.end.unwrap_or(length);
        if span.start >= end || end > length {
            return Err(wrong(format!("it has {length} bytes, none or not all of them in the range")));
        }
        Ok(Self { span: Some((span.start, end - span.start)), ..self })
    }

    /// Only this part of the fields in it is meant: what is in a group that is made of it.
    ///
    /// # Errors
    /// If it holds no fields, or not this part of them.
    pub(crate) fn part(self, part: &FieldPart, turn: Turn) -> Result<Self, CopyError> {
        let place = match self.base {
            Base::Folder(dir) => match self.reach.as_ref().and_then(Reach::group_around) {
                Some((group, array)) => Place::Folder(group, Some(array)),
                None => Place::Folder(
                    dir.try_clone().map_err(|cause| CopyError::Here(format!("{}: {}", self.shown, reason(&cause))))?,
                    self.file.clone(),
                ),
            },
            Base::Store(store) => return Self::stored_part(store.url(), part),
            Base::Made(_) => return Ok(self),
        };
        let fields = FieldTree::open(place, &self.shown, part, turn)?;
        Ok(Self { base: Base::Made(Arc::new(fields)), name: None, ..self })
    }

    /// A part of the fields that an object store has there.
    ///
    /// # Errors
    /// If it has no fields there, or not this part of them.
    pub(crate) fn stored_part(url: &ObjectUrl, part: &FieldPart) -> Result<Self, CopyError> {
        let shown = url.to_string();
        let connection = Connection::new(url, PATIENCE).map_err(|why| CopyError::Here(format!("{shown}: {why}")))?;
        let fields = FieldTree::open(Place::Objects(Box::new(connection)), &shown, part, Turn::default())?;
        let base = Base::Made(Arc::new(fields));
        Ok(Self { base, file: None, span: None, name: None, shown, reach: None })
    }

    pub(crate) const fn fields(&self) -> Option<&Arc<FieldTree>> {
        match &self.base {
            Base::Made(fields) => Some(fields),
            Base::Folder(_) | Base::Store(_) => None,
        }
    }

    /// What is in it is meant, whatever it is called.
    pub(crate) const fn is_content(&self) -> bool {
        self.name.is_none()
    }

    /// As what is at `path` in it is called at the other end.
    pub(crate) fn called(&self, path: &Path) -> String {
        let is_itself = self.file.is_some() || path.as_os_str().is_empty();
        match &self.name {
            Some(name) if is_itself => name.to_string(),
            Some(name) => format!("{name}/{}", shown(path)),
            None if is_itself => self.shown.clone(),
            None => shown(path),
        }
    }

    /// As its user would call what is at `path` in it, where nothing can be called so at the other end.
    pub(crate) fn shown(&self, path: &Path) -> String {
        if self.file.is_some() || path.as_os_str().is_empty() {
            return self.shown.clone();
        }
        if self.shown.is_empty() {
            shown(path)
        } else {
            format!("{}/{}", self.shown.trim_end_matches('/'), shown(path))
        }
    }
}

fn has_pattern(path: &Path) -> bool {
    path.as_os_str().as_bytes().iter().any(|sign| b"*?[".contains(sign))
}
