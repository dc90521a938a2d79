//! A listing as people read it, and as programs do.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use visapult_copy::{Item, ItemKind, counted, escaped, size};

use super::beside::Beside;
use super::fold::{Amount, Fold, Row};
use crate::say::{in_one_line, printable};

/// The longest size, and a date.
const SIZE: usize = 10;
const DATE: usize = 16;

/// The entries of a folder in columns, with what is below them, and how much all is.
pub(super) fn table(fold: &Fold, beside: &Beside, within: humantime::Duration) -> String {
    let zone = TimeZone::system();
    let files = |row: &Row| match (&row.item.kind, row.amount()) {
        (ItemKind::Folder, Some(amount)) => counted(amount.files, "file"),
        _ => String::new(),
    };
    let width = fold.rows().map(|row| files(row).len()).max().unwrap_or(0);
    let mut told = String::new();
    for row in fold.rows() {
        let (item, bytes) = (&row.item, row.amount().map_or_else(String::new, |amount| size(amount.bytes)));
        let date = date(item, &zone);
        // Where there is no folder there is no column.
        let files = if width == 0 { String::new() } else { format!("  {:>width$}", files(row)) };
        told += &format!("{bytes:>SIZE$}{files}  {date:DATE$}  {}\n", name(item));
    }
    told += &total(fold.seen(), fold.is_whole(), beside);
    if !fold.is_whole() {
        told.truncate(told.len() - 1);
        told += &format!("; {}\n", uncounted(*within));
    }
    told
}

fn uncounted(within: Duration) -> String {
    if within.is_zero() {
        return "what is in folders was not counted".to_owned();
    }
    format!("not all was counted in {} (--within)", humantime::format_duration(within))
}

/// An entry with its path, unless it is the folder that is listed.
pub(super) fn line(item: &Item) -> Option<String> {
    let bytes = match item.kind {
        ItemKind::File(bytes) => size(bytes),
        ItemKind::Folder if item.path.as_os_str().is_empty() => return None,
        _ => String::new(),
    };
    Some(format!("{bytes:>SIZE$}  {:DATE$}  {}\n", date(item, &TimeZone::system()), name(item)))
}

/// How much all is, in a line.
pub(super) fn total(amount: &Amount, is_whole: bool, beside: &Beside) -> String {
    let mut told = format!("{}{}", if is_whole { "in all " } else { "at least " }, amount.files_and_bytes());
    for (number, what) in [(amount.folders, "folder"), (amount.links, "link")] {
        if number > 0 {
            told += &format!(", {}", counted(number, what));
        }
    }
    if beside.failed() > 0 {
        told += &format!("; {} NOT LISTED", beside.failed());
    }
    told + "\n"
}

/// By the clock on the wall.
fn date(item: &Item, zone: &TimeZone) -> String {
    let at = item.modified.and_then(|(s, ns)| Timestamp::new(s, ns.try_into().ok()?).ok());
    at.map_or_else(String::new, |at| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string())
}

/// The path of an entry below the place, or its name where it is at the place itself.
fn path(item: &Item) -> &OsStr {
    if item.path.as_os_str().is_empty() { &item.name } else { item.path.as_os_str() }
}

fn name(item: &Item) -> String {
    let text = |name: &OsStr| in_one_line(&name.to_string_lossy());
    let called = text(path(item));
    match &item.kind {
        ItemKind::Folder => called + "/",
        ItemKind::File(_) => called,
        ItemKind::Link(target) => format!("{called} -> {}", text(target.as_os_str())),
    }
}

/// All of a listing as JSON.
pub(super) fn document(fold: &Fold, beside: &Beside) -> String {
    let mut document = Document::default();
    let entries: String = fold.rows().map(|row| document.add(&row.item, row.amount())).collect();
    entries + &document.close(fold.seen(), fold.is_whole(), beside)
}

/// A document in JSON that grows entry by entry, a line each.
#[derive(Debug, Default)]
pub(super) struct Document {
    is_begun: bool,
}

impl Document {
    /// An entry with its path, unless it is the folder that is listed. What is in folders is told by other entries.
    pub(super) fn entry(&mut self, item: &Item) -> Option<String> {
        let amount = match item.kind {
            ItemKind::Folder if item.path.as_os_str().is_empty() => return None,
            ItemKind::File(bytes) => Some(Amount { files: 1, bytes, ..Amount::default() }),
            _ => None,
        };
        Some(self.add(item, amount))
    }

    pub(super) fn end(&mut self, total: &Amount, beside: &Beside) -> String {
        self.close(total, true, beside)
    }

    fn add(&mut self, item: &Item, amount: Option<Amount>) -> String {
        let (kind, target) = match &item.kind {
            ItemKind::Folder => ("folder", None),
            ItemKind::File(_) => ("file", None),
            ItemKind::Link(target) => ("link", Some(target.to_string_lossy())),
        };
        let entry = json!({
            "path": path(item).to_string_lossy(),
            "url_path": escaped(path(item).as_bytes()),
            "kind": kind,
            "bytes": amount.map(|amount| amount.bytes),
            "files": amount.map(|amount| amount.files),
            "modified": item.modified.map(|(s, ns)| s as f64 + f64::from(ns) / 1e9),
            "target": target,
        });
        let before = if self.is_begun { ",\n" } else { "{\"entries\": [\n" };
        self.is_begun = true;
        before.to_owned() + &printable(&entry.to_string())
    }

    fn close(&mut self, total: &Amount, is_whole: bool, beside: &Beside) -> String {
        let before = if self.is_begun { "\n" } else { "{\"entries\": [\n" };
        let failed: Vec<Value> =
            beside.failures().iter().map(|(path, why)| json!({ "path": path, "why": why })).collect();
        let Amount { files, bytes, folders, links } = total;
        let total = json!({
            "files": files, "bytes": bytes, "folders": folders, "links": links, "failed": beside.failed(), "is_whole": is_whole,
        });
        format!("{before}],\n\"failed\": {},\n\"total\": {total}}}\n", printable(&json!(failed).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold::tests::{item, tree};
    use super::*;

    fn within(text: &str) -> humantime::Duration {
        text.parse().unwrap()
    }

    #[test]
    fn a_folder_is_a_table_and_a_line() {
        let told = table(&tree(), &Beside::default(), within("10s"));
        let lines: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0][..2], ["12", "bytes"]);
        assert_eq!(lines[1][..4], ["1.0", "MB", "2", "files"]);
        assert_eq!(lines[1].last(), Some(&"run/"));
        assert_eq!(told.lines().last(), Some("in all 3 files, 1.0 MB, 3 folders, 1 link"));
        let column = |line: &str| line.find("2023-11").unwrap();
        let rows: Vec<&str> = told.lines().take(3).collect();
        assert!(rows.iter().all(|row| column(row) == column(rows[0])), "{told}");
    }

    #[test]
    fn what_was_not_counted_is_said() {
        let mut fold = Fold::default();
        fold.add_top(item("run", ItemKind::Folder));
        let told = |time| table(&fold, &Beside::default(), within(time));
        assert!(told("10s").ends_with("at least 0 files, 0 bytes, 1 folder; not all was counted in 10s (--within)\n"));
        assert!(told("0s").ends_with("; what is in folders was not counted\n"));
        let document: Value = serde_json::from_str(&document(&fold, &Beside::default())).unwrap();
        assert_eq!((&document["entries"][0]["bytes"], &document["total"]["is_whole"]), (&Value::Null, &json!(false)));
    }

    #[test]
    fn names_move_no_cursor_and_take_one_line() {
        let odd = item("a\x1b[2J\n\u{202e}b", ItemKind::Link("c\rd".into()));
        assert_eq!(name(&odd), "a\\u001b[2J\\u000a\\u202eb -> c\\u000dd");
        let entry = Document::default().entry(&odd).unwrap() + "]}";
        assert!(!entry.contains('\u{202e}'));
        let told: Value = serde_json::from_str(&entry).unwrap();
        assert_eq!(told["entries"][0]["path"], "a\x1b[2J\n\u{202e}b");
    }

    #[test]
    fn dates_are_of_the_zone_and_none_where_nobody_tells_or_nobody_can() {
        let file = item("a", ItemKind::File(1));
        assert_eq!(date(&file, &TimeZone::UTC), "2023-11-14 22:13");
        for modified in [None, Some((i64::MAX, 0))] {
            assert_eq!(date(&Item { modified, ..file.clone() }, &TimeZone::UTC), "");
        }
    }

    #[test]
    fn a_document_says_bytes_and_seconds() {
        let told: Value = serde_json::from_str(&document(&tree(), &Beside::default())).unwrap();
        let run = &told["entries"][1];
        assert_eq!(
            (&run["path"], &run["kind"], &run["files"], &run["bytes"]),
            (&json!("run"), &json!("folder"), &json!(2), &json!(1_000_500))
        );
        assert_eq!(run["modified"], 1_700_000_000.5);
        assert_eq!(
            told["total"],
            json!({ "files": 3, "bytes": 1_000_512, "folders": 3, "links": 1, "failed": 0, "is_whole": true })
        );
        let empty: Value = serde_json::from_str(&document(&Fold::default(), &Beside::default())).unwrap();
        assert_eq!(empty["entries"], json!([]));
    }
}
