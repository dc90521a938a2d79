//! Which things of a tree are meant, by patterns.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::selection::Patterns;

/// Leaves out all that lies in folders of what is copied: those need not even be read.
pub(crate) const BELOW_TOP: &str = "*/*";
/// Patterns of a request at most.
const MOST_PATTERNS: usize = 256;

/// Patterns, ready to be held against names. One without `/` is held against names, others against paths below what is copied. One that ends
/// with `/` means folders that match what is before it, and all that is in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    include: Option<Set>,
    exclude: Option<Set>,
    follows: bool,
    is_top: bool,
}

#[derive(Clone, Debug)]
struct Set {
    any: Globs,
    folders: Globs,
}

#[derive(Clone, Debug)]
struct Globs {
    names: GlobSet,
    paths: GlobSet,
}

impl Filter {
    /// # Errors
    /// Which pattern makes no sense.
    pub(crate) fn new(patterns: &Patterns) -> Result<Self, String> {
        let Patterns { include, exclude, follow } = patterns;
        let is_top = exclude.iter().any(|pattern| pattern == BELOW_TOP);
        Ok(Self { include: Set::new(include)?, exclude: Set::new(exclude)?, follows: *follow, is_top })
    }

    /// What links lead to is meant, and not the links.
    pub(crate) const fn follows(&self) -> bool {
        self.follows
    }

    /// Nothing that lies in folders is meant.
    pub(crate) const fn is_top(&self) -> bool {
        self.is_top
    }

    /// The folder at `path` is walked.
    pub(crate) fn enters(&self, path: &Path) -> bool {
        !self.exclude.as_ref().is_some_and(|set| set.any.has(path) || set.folders.has(path))
    }

    /// The file or link at `path` is meant, where its folder is walked.
    pub(crate) fn takes(&self, path: &Path) -> bool {
        let is_out = self.exclude.as_ref().is_some_and(|set| set.any.has(path));
        !is_out && self.include.as_ref().is_none_or(|set| set.any.has(path) || set.holds(path))
    }
}

impl Set {
    fn new(patterns: &[String]) -> Result<Option<Self>, String> {
        if patterns.len() > MOST_PATTERNS {
            return Err(format!("{} patterns are too many: {MOST_PATTERNS} may be given", patterns.len()));
        }
        if patterns.is_empty() {
            return Ok(None);
        }
        let (folders, any): (Vec<_>, Vec<_>) = patterns.iter().partition(|pattern| pattern.ends_with('/'));
        Ok(Some(Self { any: Globs::new(&any)?, folders: Globs::new(&folders)? }))
    }

    /// What is at `path` is in a folder that is meant.
    fn holds(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|folder| self.folders.has(folder))
    }
}

impl Globs {
    fn new(patterns: &[&String]) -> Result<Self, String> {
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let written = pattern.trim_end_matches('/');
            let glob = GlobBuilder::new(written.trim_start_matches('/')).literal_separator(true).build();
            let glob = glob.map_err(|cause| format!("pattern {pattern:?}: {}", cause.kind()))?;
            if written.contains('/') {
                paths.add(glob)
            } else {
                names.add(glob)
            };
        }
        let built = |set: GlobSetBuilder| set.build().map_err(|cause| format!("patterns: {cause}"));
        Ok(Self { names: built(names)?, paths: built(paths)? })
    }

    fn has(&self, path: &Path) -> bool {
        self.paths.is_match(path) || path.file_name().is_some_and(|name| self.names.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_choose_by_name_or_by_path() {
        let patterns = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
        let filter = Filter::new(&Patterns {
            include: patterns(&["*.h5"]),
            exclude: patterns(&["tmp", "a/*.h5"]),
            ..Patterns::default()
        });
        let filter = filter.unwrap();
        assert!(filter.takes("x.h5".as_ref()) && filter.takes("b/c/x.h5".as_ref()));
        assert!(!filter.takes("a/x.h5".as_ref()) && filter.takes("a/b/x.h5".as_ref()));
        assert!(!filter.takes("x.raw".as_ref()) && !filter.enters("b/tmp".as_ref()) && filter.enters("b".as_ref()));
        assert!(Filter::default().takes("anything".as_ref()));
        assert!(
            Filter::new(&Patterns { include: patterns(&["a[b"]), ..Patterns::default() }).unwrap_err().contains("a[b")
        );
    }

    #[test]
    fn a_slash_in_the_end_means_a_folder_and_what_is_in_it() {
        let patterns = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
        let filter = Filter::new(&Patterns { exclude: patterns(&["tmp/", "a/old*/"]), ..Patterns::default() }).unwrap();
        assert!(
            !filter.enters("tmp".as_ref()) && !filter.enters("b/tmp".as_ref()) && !filter.enters("a/old1".as_ref())
        );
        assert!(filter.takes("tmp".as_ref()) && filter.takes("a/old1".as_ref()), "files of these names");
        assert!(filter.enters("old1".as_ref()) && filter.enters("b/a/old1".as_ref()));
        let filter = Filter::new(&Patterns { include: patterns(&["run-*/", "*.h5"]), ..Patterns::default() }).unwrap();
        assert!(filter.takes("run-1/a/b.raw".as_ref()) && filter.takes("x/run-2/b".as_ref()));
        assert!(filter.takes("a.h5".as_ref()) && !filter.takes("run-1".as_ref()) && !filter.takes("x/b".as_ref()));
    }
}
