use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::super::folders::close_again;
use super::*;
use crate::landing::Ground;
use crate::listing::Mtime;
use crate::partial::COLLIDES;

const MTIME: Mtime = Mtime { s: 1_000_000_000, ns: 5 };

fn folder(name: &str, mode: u32) -> Entry {
    Entry { depth: 0, name: Name::new(name.as_bytes()).unwrap(), kind: Kind::Folder, mode, mtime: MTIME }
}

#[test]
fn a_folder_is_never_open_to_more_people_than_its_mode_says() {
    let dir = tempfile::tempdir().unwrap();
    let base = Arc::new(Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap());
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o7777;
    let landing = Landing { ground: Ground::Folder(Arc::clone(&base)), rename: None, is_known: true };
    let mut tree = Tree::new(Some(&landing), Wish { unsynced: true, ..Wish::default() });
    fs::create_dir(dir.path().join("group")).unwrap();
    fs::set_permissions(dir.path().join("group"), Permissions::from_mode(0o2700)).unwrap();
    for entry in [folder("private", 0o700), folder("closed", 0o500), folder("group", 0o750)] {
        assert!(matches!(tree.take(entry), Some(Ok(Verdict::Folder { .. }))));
    }
    // What is put into them meanwhile is nobody else's to see, and there may be an end before theirs.
    assert_eq!((mode("private"), mode("closed"), mode("group")), (0o700, 0o700, 0o2700));
    assert!(tree.finish(&base).is_empty());
    assert_eq!((mode("private"), mode("closed"), mode("group")), (0o700, 0o500, 0o2750));
}

#[test]
fn a_folder_that_was_opened_up_is_closed_again_where_the_copy_ends_before_it_has_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    let base = Arc::new(Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap());
    let path = dir.path().join("closed");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o2500)).unwrap();
    let landing = Landing { ground: Ground::Folder(Arc::clone(&base)), rename: None, is_known: true };
    let mut tree = Tree::new(Some(&landing), Wish::default());
    assert!(matches!(tree.take(folder("closed", 0o555)), Some(Ok(Verdict::Folder { .. }))));
    // Whoever may do all needs no folder opened.
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    let meanwhile = if is_root { 0o2500 } else { 0o2700 };
    assert_eq!(mode(), meanwhile);
    close_again(&base, &tree.take_opened());
    assert_eq!(mode(), 0o2500);
}

/// What becomes of entries of these names, in a folder that was there.
fn fates(dir: &Path, entries: [(&str, Kind); 3]) -> [Result<(), String>; 3] {
    let base = Arc::new(Dir::open_ambient_dir(dir, ambient_authority()).unwrap());
    let landing = Landing { ground: Ground::Folder(base), rename: None, is_known: true };
    let mut tree = Tree::new(Some(&landing), Wish::default());
    entries.map(|(name, kind)| {
        let entry = Entry { kind, ..folder(name, 0o640) };
        tree.take(entry).unwrap().map(|_| ()).map_err(|unplaced| unplaced.why)
    })
}

/// A folder with a file, a link and a folder in it, and a tree that is copied into it.
fn of_other_kinds(dir: &Path, wish: Wish) -> (Arc<Dir>, Tree) {
    fs::write(dir.join("file"), "kept").unwrap();
    std::os::unix::fs::symlink("folder", dir.join("link")).unwrap();
    fs::create_dir(dir.join("folder")).unwrap();
    fs::write(dir.join("folder/inner"), "kept").unwrap();
    let base = Arc::new(Dir::open_ambient_dir(dir, ambient_authority()).unwrap());
    let landing = Landing { ground: Ground::Folder(Arc::clone(&base)), rename: None, is_known: true };
    let tree = Tree::new(Some(&landing), Wish { unsynced: true, ..wish });
    (base, tree)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_of_another_kind_stays_until_it_is_to_give_way() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
    for name in ["file", "link"] {
        let Some(Ok(Verdict::StandIn { at, .. })) = tree.take(folder(name, 0o755)) else { panic!("{name}") };
        assert_eq!((tree.resolved(&at), at), (name.into(), format!("{name}.visapult-folder").into()));
        // What is in it goes there, and is not held against what the link leads to.
        let inner = Entry { depth: 1, kind: Kind::File { size: 4, has_holes: false }, ..folder("inner", 0o644) };
        let Some(Ok(Verdict::Wanted { pending, .. })) = tree.take(inner) else { panic!("{name}") };
        assert_eq!(pending.folder, Path::new(&format!("{name}.visapult-folder")));
        assert!(!pending.replaces && !pending.waits);
    }
    let file = Entry { kind: Kind::File { size: 4, has_holes: false }, ..folder("folder", 0o644) };
    let Some(Ok(Verdict::Wanted { pending, .. })) = tree.take(file) else { panic!() };
    assert!(pending.waits && !pending.replaces);
    assert_eq!(names(dir.path()), ["file", "file.visapult-folder", "folder", "link", "link.visapult-folder"]);
    assert_eq!(fs::read(dir.path().join("folder/inner")).unwrap(), b"kept");
    let surplus = tree.take_surplus();
    assert!(surplus.is_empty() && tree.take_ours().is_empty(), "{surplus:?}");
    let gives_way: Vec<PathBuf> = tree.take_in_way().iter().map(InWay::path).collect();
    assert_eq!(gives_way, [Path::new("file"), Path::new("link"), Path::new("folder")]);
}

#[test]
fn a_link_is_made_once_a_folder_has_given_way() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
    let link = Entry { kind: Kind::Link { target: b"elsewhere".to_vec() }, ..folder("folder", 0o777) };
    assert!(matches!(tree.take(link), Some(Ok(Verdict::Later { .. }))));
    assert_eq!(names(dir.path()), ["file", "folder", "link"]);
    assert_eq!(tree.take_in_way().len(), 1);
}

#[test]
fn what_is_of_another_kind_is_told_where_nothing_is_to_be_deleted_or_copied() {
    let comparison = Wish { dry_run: true, alike: Alike::Content, delete: Delete::InFolders, ..Wish::default() };
    for (wish, is_advised) in [(Wish::default(), true), (comparison, false)] {
        let dir = tempfile::tempdir().unwrap();
        let (_, mut tree) = of_other_kinds(dir.path(), wish);
        let file = Entry { kind: Kind::File { size: 4, has_holes: false }, ..folder("folder", 0o644) };
        let told = if is_advised {
            [NO_FOLDER, NO_FOLDER, A_FOLDER]
        } else {
            [
                "is a file here and a folder there",
                "is a link here and a folder there",
                "is a folder here and a file there",
            ]
        };
        for (entry, what) in [folder("file", 0o755), folder("link", 0o755), file].into_iter().zip(told) {
            let Some(Err(Unplaced { why, .. })) = tree.take(entry) else { panic!("{what}") };
            assert!(why.contains(what) && why.contains("copy with delete") == is_advised, "{why}");
        }
        assert!(tree.take_in_way().is_empty());
        assert_eq!(names(dir.path()), ["file", "folder", "link"]);
    }
}

#[test]
fn a_dry_run_makes_nothing_for_what_would_give_way_and_looks_into_what_an_earlier_attempt_has_left() {
    let dir = tempfile::tempdir().unwrap();
    let wish = Wish { dry_run: true, delete: Delete::InFolders, ..Wish::default() };
    let (_, mut tree) = of_other_kinds(dir.path(), wish);
    fs::create_dir(dir.path().join("link.visapult-folder")).unwrap();
    fs::write(dir.path().join("link.visapult-folder/inner"), "half").unwrap();
    for (name, replaces) in [("file", false), ("link", true)] {
        assert!(matches!(tree.take(folder(name, 0o755)), Some(Ok(Verdict::StandIn { .. }))));
        let inner = Entry { depth: 1, kind: Kind::File { size: 9, has_holes: false }, ..folder("inner", 0o644) };
        let Some(Ok(Verdict::Wanted { pending, .. })) = tree.take(inner) else { panic!("{name}") };
        assert_eq!(pending.replaces, replaces, "{name}");
    }
    assert_eq!(names(dir.path()), ["file", "folder", "link", "link.visapult-folder"]);
}

#[test]
fn a_folder_goes_on_from_what_was_left_when_its_name_had_just_become_free() {
    let dir = tempfile::tempdir().unwrap();
    let (base, mut tree) = of_other_kinds(dir.path(), Wish::default());
    fs::create_dir(dir.path().join("new.visapult-folder")).unwrap();
    fs::write(dir.path().join("new.visapult-folder/inner"), "kept").unwrap();
    let landing = Landing { ground: Ground::Folder(base), rename: None, is_known: true };
    let mut dry = Tree::new(Some(&landing), Wish { dry_run: true, ..Wish::default() });
    let inner = Entry { depth: 1, kind: Kind::File { size: 9, has_holes: false }, ..folder("inner", 0o644) };
    assert!(matches!(dry.take(folder("new", 0o755)), Some(Ok(Verdict::StandIn { .. }))));
    let Some(Ok(Verdict::Wanted { pending, .. })) = dry.take(inner) else { panic!() };
    assert!(pending.replaces);
    assert_eq!(names(dir.path()), ["file", "folder", "link", "new.visapult-folder"]);
    let taken = tree.take(folder("new", 0o755));
    assert!(matches!(taken, Some(Ok(Verdict::Folder { is_new: false, .. }))), "{taken:?}");
    assert_eq!(fs::read(dir.path().join("new/inner")).unwrap(), b"kept");
    assert_eq!(names(dir.path()), ["file", "folder", "link", "new"]);
}

#[test]
fn what_gives_way_to_one_name_is_no_place_for_another_that_is_the_same_there() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
    let file = Entry { kind: Kind::File { size: 4, has_holes: false }, ..folder("folder", 0o644) };
    assert!(matches!(tree.take(file), Some(Ok(Verdict::Wanted { .. }))));
    // As where case does not count: one folder has both names.
    fs::rename(dir.path().join("folder"), dir.path().join("Folder")).unwrap();
    let Some(Err(Unplaced { why, .. })) = tree.take(folder("Folder", 0o755)) else { panic!() };
    assert!(why.contains(COLLIDES), "{why}");
}

#[test]
fn what_is_neither_file_folder_nor_link_gives_way_to_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut tree) = of_other_kinds(dir.path(), Wish { delete: Delete::InFolders, ..Wish::default() });
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    let Some(Err(Unplaced { why, .. })) = tree.take(folder("socket", 0o755)) else { panic!() };
    assert!(why.ends_with(NO_FOLDER), "{why}");
    assert!(tree.take_in_way().is_empty());
}

#[test]
fn nothing_takes_the_place_of_what_was_listed_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let (upper, lower) = (dir.path().join("Density"), dir.path().join("density"));
    let file = || Kind::File { size: 3, has_holes: false };
    fs::write(&upper, "one").unwrap();
    // As where case does not count: one file has both names.
    fs::hard_link(&upper, &lower).unwrap();
    for kind in [file(), Kind::Link { target: b"x".to_vec() }] {
        let [first, second, other] = fates(dir.path(), [("Density", file()), ("density", kind), ("other", file())]);
        assert_eq!((first, other), (Ok(()), Ok(())));
        assert_eq!(second, Err(format!("cannot be written: {COLLIDES}")));
    }
    assert_eq!(fs::read(&lower).unwrap(), b"one");
    // And where it does.
    fs::remove_file(&lower).unwrap();
    fs::write(&lower, "two").unwrap();
    let all = fates(dir.path(), [("Density", file()), ("density", file()), ("DENSITY", file())]);
    assert_eq!(all, [Ok(()), Ok(()), Ok(())]);
}
