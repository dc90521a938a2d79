//! What of the sources could not be listed: what they have there is not known.

use std::collections::HashSet;
use std::path::Path;

use visapult_objects::MOST_PATH;

/// Of more than so many nothing is known of what the sources have.
const MOST: usize = 10_000;

/// As it is called in the destination.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    paths: HashSet<String>,
    is_all: bool,
}

impl Unknown {
    pub(super) fn add(&mut self, path: &str) {
        if self.paths.len() < MOST && path.len() <= MOST_PATH {
            self.paths.insert(path.to_owned());
        } else {
            self.is_all = true;
        }
    }

    /// Nothing is known of what the sources have, of which so many `entries` are listed.
    pub(super) fn is_all(&self, entries: u64) -> bool {
        // What is told as a URL may be all that a store has not listed.
        self.is_all || self.paths.iter().any(|unlisted| entries == 0 || unlisted.contains("://"))
    }

    /// What the sources have at `path` is not known, for that or a folder that it is in could not be listed.
    pub(super) fn holds(&self, path: &str) -> bool {
        let mut at = Path::new(path).ancestors().filter_map(Path::to_str);
        self.is_all || (!self.paths.is_empty() && at.any(|at| self.paths.contains(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sources_have_is_unknown_below_what_could_not_be_listed() {
        for (path, unlisted, is) in [("a", "a", true), ("a/b", "a", true), ("ab", "a", false), ("a", "a/b", false)] {
            let mut unknown = Unknown::default();
            unknown.add(unlisted);
            assert_eq!(unknown.holds(path), is, "{path} {unlisted}");
            assert!(!unknown.is_all(1) && unknown.is_all(0));
        }
    }

    #[test]
    fn of_more_than_is_kept_in_mind_all_is_unknown() {
        let mut unknown = Unknown::default();
        (0..MOST).for_each(|path| unknown.add(&path.to_string()));
        assert!(!unknown.holds("a") && !unknown.is_all(1));
        (0..MOST).for_each(|path| unknown.add(&format!("more/{path}")));
        assert!(unknown.holds("a") && unknown.is_all(1) && unknown.paths.len() == MOST);
        let mut unknown = Unknown::default();
        unknown.add(&"p".repeat(MOST_PATH + 1));
        assert!(unknown.holds("a") && unknown.paths.is_empty());
    }
}
