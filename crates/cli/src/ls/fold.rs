//! A tree folded into the entries of its top folder: nothing is kept of what is below them but how much it is.

use std::collections::BTreeMap;
use std::ffi::OsString;

use visapult_copy::{Item, ItemKind, counted, size};

/// Entries of one folder at most: half a gigabyte of memory.
const MOST_ROWS: usize = 1 << 20;

/// How much there is of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) files: u64,
    pub(super) bytes: u64,
    pub(super) folders: u64,
    pub(super) links: u64,
}

impl Amount {
    pub(super) const fn add(&mut self, kind: &ItemKind) {
        match kind {
            ItemKind::Folder => self.folders += 1,
            ItemKind::Link(_) => self.links += 1,
            ItemKind::File(bytes) => {
                self.files += 1;
                // What a share tells may be no size at all.
                self.bytes = self.bytes.saturating_add(*bytes);
            }
        }
    }

    const fn plus(self, other: &Self) -> Self {
        Self {
            files: self.files + other.files,
            bytes: self.bytes.saturating_add(other.bytes),
            folders: self.folders + other.folders,
            links: self.links + other.links,
        }
    }

    pub(super) fn files_and_bytes(&self) -> String {
        format!("{}, {}", counted(self.files, "file"), size(self.bytes))
    }
}

/// An entry of the folder.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) item: Item,
    /// What is below it, as far as that is known.
    pub(super) below: Amount,
    /// That is all of it.
    pub(super) is_counted: bool,
}

/// The entries of a folder, in order; or the one file.
#[derive(Debug, Default)]
pub(super) struct Fold {
    rows: BTreeMap<OsString, Row>,
    seen: Amount,
    /// The entry that something was below last: what is in a folder comes in one piece.
    latest: Option<OsString>,
}

impl Fold {
    /// Takes what is listed, folders before what is in them.
    pub(super) fn add(&mut self, item: Item) {
        let mut parts = item.path.iter();
        let Some(first) = parts.next() else { return self.add_itself(item) };
        self.seen.add(&item.kind);
        if parts.next().is_none() {
            let name = first.to_owned();
            self.latest = Some(name.clone());
            self.rows.entry(name).or_insert(Row { item, below: Amount::default(), is_counted: true });
        } else if let Some(row) = self.rows.get_mut(first) {
            row.below.add(&item.kind);
        }
    }

    /// What is at the place itself is the one entry, unless it is the folder.
    fn add_itself(&mut self, item: Item) {
        if item.kind != ItemKind::Folder {
            self.seen.add(&item.kind);
            self.rows.insert(item.name.clone(), Row { item, below: Amount::default(), is_counted: true });
        }
    }

    /// No more comes of what is below: of the folder that came last there may be more.
    pub(super) fn cut(&mut self) {
        if let Some(row) = self.latest.take().and_then(|name| self.rows.get_mut(&name)) {
            row.is_counted = row.item.kind != ItemKind::Folder;
        }
    }

    /// Takes what is listed after that, of which only what is not known yet matters, and what is in the folder itself.
    pub(super) fn add_top(&mut self, item: Item) {
        let is_deeper = item.path.iter().nth(1).is_some();
        let is_known = item.path.iter().next().is_some_and(|name| self.rows.contains_key(name));
        if is_deeper || is_known {
            return;
        }
        let name = item.name.clone();
        self.add(item);
        if let Some(row) = self.rows.get_mut(&name) {
            row.is_counted = row.item.kind != ItemKind::Folder;
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// There are more entries than can be kept.
    pub(super) fn is_full(&self) -> bool {
        self.rows.len() > MOST_ROWS
    }

    /// All that was listed.
    pub(super) const fn seen(&self) -> &Amount {
        &self.seen
    }

    /// And that is all there is.
    pub(super) fn is_whole(&self) -> bool {
        self.rows.values().all(|row| row.is_counted)
    }
}

impl Row {
    /// The entry with what is below it, where that is known.
    pub(super) fn amount(&self) -> Option<Amount> {
        let mut own = Amount::default();
        if let ItemKind::File(_) = self.item.kind {
            own.add(&self.item.kind);
        }
        (self.is_counted && !matches!(self.item.kind, ItemKind::Link(_))).then(|| own.plus(&self.below))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn item(path: &str, kind: ItemKind) -> Item {
        let name = path.rsplit('/').next().unwrap_or_default();
        Item { path: path.into(), name: name.into(), kind, modified: Some((1_700_000_000, 500_000_000)) }
    }

    pub(crate) fn tree() -> Fold {
        let mut fold = Fold::default();
        let mut add = |path, kind| fold.add(item(path, kind));
        add("", ItemKind::Folder);
        add("notes", ItemKind::File(12));
        add("run", ItemKind::Folder);
        add("run/1", ItemKind::Folder);
        add("run/1/a", ItemKind::File(1_000_000));
        add("run/1/l", ItemKind::Link("a".into()));
        add("run/2", ItemKind::File(500));
        add("void", ItemKind::Folder);
        fold
    }

    fn told(fold: &Fold) -> Vec<String> {
        let amount = |row: &Row| row.amount().map_or("?".to_owned(), |amount| amount.files_and_bytes());
        fold.rows().map(|row| format!("{}: {}", row.item.path.display(), amount(row))).collect()
    }

    #[test]
    fn what_is_below_an_entry_is_counted_and_not_kept() {
        let fold = tree();
        assert_eq!(told(&fold), ["notes: 1 file, 12 bytes", "run: 2 files, 1.0 MB", "void: 0 files, 0 bytes"]);
        assert_eq!(*fold.seen(), Amount { files: 3, bytes: 1_000_512, folders: 3, links: 1 });
        assert!(fold.is_whole());
    }

    #[test]
    fn where_it_is_cut_the_latest_folder_and_those_to_come_are_not_counted() {
        let mut fold = Fold::default();
        for (path, kind) in
            [("a", ItemKind::Folder), ("a/x", ItemKind::File(1)), ("b", ItemKind::Folder), ("b/y", ItemKind::File(2))]
        {
            fold.add(item(path, kind));
        }
        fold.cut();
        for (path, kind) in [
            ("", ItemKind::Folder),
            ("a", ItemKind::Folder),
            ("b", ItemKind::Folder),
            ("c", ItemKind::Folder),
            ("c/z", ItemKind::File(9)),
            ("d", ItemKind::File(4)),
        ] {
            fold.add_top(item(path, kind));
        }
        assert_eq!(told(&fold), ["a: 1 file, 1 byte", "b: ?", "c: ?", "d: 1 file, 4 bytes"]);
        assert_eq!((fold.seen().files, fold.is_whole()), (3, false));
    }

    #[test]
    fn a_file_is_the_one_entry() {
        let mut fold = Fold::default();
        fold.add(Item { path: "".into(), ..item("a.h5", ItemKind::File(7)) });
        assert_eq!(told(&fold), [": 1 file, 7 bytes"]);
        assert_eq!(fold.seen().files, 1);
    }

    #[test]
    fn sizes_that_nobody_can_have_are_no_overflow() {
        let mut amount = Amount::default();
        (0..3).for_each(|_| amount.add(&ItemKind::File(u64::MAX)));
        assert_eq!((amount.files, amount.bytes), (3, u64::MAX));
    }
}
