//! The tree that keys make: what is between slashes is a folder.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use visapult_objects::Fault;

use super::store::{Key, Store, Told};
use crate::filter::Filter;
use crate::listing::{MOST_DEPTH, Mtime};
use crate::names::Name;

/// What the keys come to, folders before what is in them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Folder {
        path: PathBuf,
        name: Name,
        depth: u16,
    },
    File {
        path: PathBuf,
        name: Name,
        depth: u16,
        told: Told,
    },
    /// A key that is not copied, as it is below what is meant, and why.
    Odd {
        key: String,
        why: String,
    },
    /// One with a name that copies keep for themselves.
    Ours {
        path: PathBuf,
    },
}

/// Lists what is below a key.
pub(crate) struct Keys {
    store: Arc<Store>,
    stream: Option<BoxStream<'static, object_store::Result<Key>>>,
    prefix: String,
    growing: Growing,
    over: AtomicBool,
}

impl Keys {
    pub(crate) fn new(store: &Arc<Store>, filter: Filter) -> Self {
        Self {
            stream: Some(if filter.is_top() { store.list_top() } else { store.list() }),
            prefix: store.prefix(),
            store: Arc::clone(store),
            growing: Growing::new(filter),
            over: AtomicBool::new(false),
        }
    }

    /// What folders have for a time.
    pub(crate) const fn now(&self) -> Mtime {
        self.growing.now
    }
}

impl Iterator for Keys {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.growing.steps.pop_front() {
                return Some(step);
            }
            let stream = self.stream.as_mut()?;
            let odd = |why: String| Some(Step::Odd { key: String::new(), why });
            match self.store.connection.run(async { Ok(stream.next().await.transpose()?) }, &self.over) {
                Ok(Some(Key { key, is_path, told })) => {
                    let Some(below) = key.strip_prefix(&self.prefix) else { continue };
                    if !self.growing.add(below, is_path, told) {
                        self.stream = None;
                        return odd("the store does not list its keys in order: what follows is not known".to_owned());
                    }
                }
                Ok(None) => self.stream = None,
                Err(Fault::Stopped) => return None,
                Err(fault) => {
                    self.stream = None;
                    return odd(format!("not all of it could be listed: {}", self.store.why(&fault)));
                }
            }
        }
    }
}

/// The tree as far as its keys are known, which come in order.
struct Growing {
    filter: Filter,
    /// Folders that the latest key is in.
    folders: Vec<String>,
    /// Files of each of those, and of what they are all in, that a folder to come may be called like.
    files: Vec<Vec<String>>,
    latest: String,
    /// What begins like this is left alone.
    skipped: Option<String>,
    steps: VecDeque<Step>,
    /// Folders of keys have no time of their own.
    now: Mtime,
}

impl Growing {
    fn new(filter: Filter) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self {
            filter,
            folders: Vec::new(),
            files: vec![Vec::new()],
            latest: String::new(),
            skipped: None,
            steps: VecDeque::new(),
            now: Mtime { s: now as i64, ns: 0 },
        }
    }

    /// Takes the next key, as it is below what is meant; false if it should have come earlier.
    fn add(&mut self, key: &str, is_path: bool, told: Told) -> bool {
        if key.is_empty() {
            return true;
        }
        if *key <= *self.latest {
            return false;
        }
        key.clone_into(&mut self.latest);
        if self.skipped.as_ref().is_some_and(|skipped| key.starts_with(skipped)) {
            return true;
        }
        // What a store's own pages make to show a folder.
        let is_marker = !is_path && key.ends_with('/');
        let parts: Option<Vec<Name>> = key
            .strip_suffix('/')
            .filter(|_| is_marker)
            .unwrap_or(key)
            .split('/')
            .map(|part| Name::new(part.as_bytes()))
            .collect();
        let is_odd = !is_path && (!is_marker || key.contains(char::is_control));
        let Some(mut parts) = parts.filter(|parts| !is_odd && parts.len() < usize::from(MOST_DEPTH)) else {
            let why = if key.split('/').any(|part| part.len() > 255) {
                "a name of more than 255 bytes has no place in a folder"
            } else {
                "a key that is no path: it is copied by a program that knows keys alone"
            };
            self.steps.push_back(Step::Odd { key: key.to_owned(), why: why.to_owned() });
            return true;
        };
        if parts.iter().any(Name::is_ours) {
            let path = PathBuf::from(key);
            let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
            if folders.all(|folder| self.filter.enters(folder)) && self.filter.takes(&path) {
                self.steps.push_back(Step::Ours { path });
            }
            return true;
        }
        let file = if is_marker { None } else { parts.pop() };
        if self.enter(&parts)
            && let Some(name) = file
        {
            self.add_file(name, told);
        }
        true
    }

    /// Goes into these folders; false if they are not meant.
    fn enter(&mut self, parts: &[Name]) -> bool {
        let common =
            parts.iter().zip(&self.folders).take_while(|(part, folder)| part.bytes() == folder.as_bytes()).count();
        self.folders.truncate(common);
        self.files.truncate(common + 1);
        for part in &parts[common..] {
            let name = String::from_utf8_lossy(part.bytes()).into_owned();
            let path = self.path(&name);
            let below = path.display().to_string() + "/";
            if self.files.last().is_some_and(|files| files.contains(&name)) {
                let why = "an object has the name of this folder, and nothing is file and folder".to_owned();
                self.steps.push_back(Step::Odd { key: below.clone(), why });
                self.skipped = Some(below);
                return false;
            }
            if !self.filter.enters(&path) {
                self.skipped = Some(below);
                return false;
            }
            let depth = self.folders.len() as u16;
            self.steps.push_back(Step::Folder { path, name: part.clone(), depth });
            self.folders.push(name);
            self.files.push(Vec::new());
        }
        true
    }

    fn add_file(&mut self, name: Name, told: Told) {
        let text = String::from_utf8_lossy(name.bytes()).into_owned();
        let path = self.path(&text);
        if !self.filter.takes(&path) {
            return;
        }
        if let Some(files) = self.files.last_mut() {
            // Between `a` and `a/b` there are only keys that begin with `a`.
            files.retain(|before| text.starts_with(before));
            files.push(text);
        }
        self.steps.push_back(Step::File { path, name, depth: self.folders.len() as u16, told });
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folders.iter().map(String::as_str).chain([name]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selection::Patterns;

    const TOLD: Told = Told { size: 1, mtime: Mtime { s: 1, ns: 0 } };

    fn grown(keys: &[&str], only: Patterns) -> Vec<String> {
        let mut growing = Growing::new(Filter::new(&only).unwrap());
        for key in keys {
            let is_path = !key.contains("//") && !key.ends_with('/') && !key.starts_with('/') && !key.contains("..");
            assert!(growing.add(key, is_path, TOLD), "{key}");
        }
        let told = |step| match step {
            Step::Folder { path, depth, .. } => format!("{depth} {}/", path.display()),
            Step::File { path, depth, .. } => format!("{depth} {}", path.display()),
            Step::Odd { key, why } => format!("{key}: {}", why.split(' ').take(3).collect::<Vec<_>>().join(" ")),
            Step::Ours { path } => format!("not {}", path.display()),
        };
        growing.steps.into_iter().map(told).collect()
    }

    #[test]
    fn keys_become_a_tree() {
        let keys = ["a.txt", "a/", "a/b/1", "a/b/2", "a/c", "b/1/2/3", "b/2/", "c"];
        let all = [
            "0 a.txt",
            "0 a/",
            "1 a/b/",
            "2 a/b/1",
            "2 a/b/2",
            "1 a/c",
            "0 b/",
            "1 b/1/",
            "2 b/1/2/",
            "3 b/1/2/3",
            "1 b/2/",
            "0 c",
        ];
        assert_eq!(grown(&keys, Patterns::default()), all);
        let only = Patterns { include: vec!["2".to_owned()], exclude: vec!["b/1".to_owned()], follow: false };
        assert_eq!(grown(&keys, only), ["0 a/", "1 a/b/", "2 a/b/2", "0 b/", "1 b/2/"]);
    }

    #[test]
    fn names_that_copies_keep_for_themselves_are_told() {
        let keys = ["a", "a.visapult-part", "b/c.visapult-log", "tmp/d.visapult-part"];
        let only = Patterns { include: Vec::new(), exclude: vec!["tmp/".to_owned()], follow: false };
        assert_eq!(grown(&keys, only), ["0 a", "not a.visapult-part", "not b/c.visapult-log"]);
    }

    #[test]
    fn what_no_folder_can_hold_is_told_once() {
        let long = "x".repeat(256);
        let keys = ["../e", "a", "a.b", "a/1", "a/2", "b//c", "b/d", &long];
        let found = grown(&keys, Patterns::default());
        let expected = ["../e: a key that", "0 a", "0 a.b", "a/: an object has", "b//c: a key that", "0 b/", "1 b/d"];
        assert_eq!(found[..7], expected);
        assert!(found[7].ends_with("a name of"), "{found:?}");
        let mut growing = Growing::new(Filter::default());
        assert!(growing.add("b", true, TOLD) && !growing.add("a", true, TOLD));
    }
}
