//! Which things of a tree are meant, by patterns.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::words::Patterns;

/// Patterns of a request at most.
const MOST_PATTERNS: usize = 256;

/// Patterns, ready to be held against names. One without `/` is held against names, others against paths below what is copied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    include: Option<Set>,
    exclude: Option<Set>,
}

#[derive(Clone, Debug)]
struct Set {
    names: GlobSet,
    paths: GlobSet,
}

impl Filter {
    /// # Errors
    /// Which pattern makes no sense.
    pub(crate) fn new(patterns: &Patterns) -> Result<Self, String> {
        Ok(Self { include: Set::new(&patterns.include)?, exclude: Set::new(&patterns.exclude)? })
    }

    /// The folder at `path` is walked.
    pub(crate) fn enters(&self, path: &Path) -> bool {
        !self.exclude.as_ref().is_some_and(|set| set.has(path))
    }

    /// The file or link at `path` is meant.
    pub(crate) fn takes(&self, path: &Path) -> bool {
        self.enters(path) && self.include.as_ref().is_none_or(|set| set.has(path))
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
        let (mut names, mut paths) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        for pattern in patterns {
            let glob = GlobBuilder::new(pattern.trim_start_matches('/')).literal_separator(true).build();
            let glob = glob.map_err(|cause| format!("pattern {pattern:?}: {}", cause.kind()))?;
            if pattern.contains('/') {
                paths.add(glob)
            } else {
                names.add(glob)
            };
        }
        let built = |set: GlobSetBuilder| set.build().map_err(|cause| format!("patterns: {cause}"));
        Ok(Some(Self { names: built(names)?, paths: built(paths)? }))
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
        let filter = Filter::new(&Patterns { include: patterns(&["*.h5"]), exclude: patterns(&["tmp", "a/*.h5"]) });
        let filter = filter.unwrap();
        assert!(filter.takes("x.h5".as_ref()) && filter.takes("b/c/x.h5".as_ref()));
        assert!(!filter.takes("a/x.h5".as_ref()) && filter.takes("a/b/x.h5".as_ref()));
        assert!(!filter.takes("x.raw".as_ref()) && !filter.enters("b/tmp".as_ref()) && filter.enters("b".as_ref()));
        assert!(Filter::default().takes("anything".as_ref()));
        assert!(
            Filter::new(&Patterns { include: patterns(&["a[b"]), exclude: Vec::new() }).unwrap_err().contains("a[b")
        );
    }
}
