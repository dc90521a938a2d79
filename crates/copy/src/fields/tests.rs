use std::collections::BTreeMap;

use visapult_volume_io::Samples;

use super::*;
use crate::listing::Kind;

/// A `.npy` file of `steps` times `[nz, ny, nx]` floats, each its own number.
fn numpy(dir: &Path, steps: usize, [nz, ny, nx]: [usize; 3]) -> PathBuf {
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({steps}, {nz}, {ny}, {nx}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    (0..steps * nz * ny * nx).for_each(|number| bytes.extend((number as f32).to_le_bytes()));
    let path = dir.join("field.npy");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn tree(dir: &Path, part: &FieldPart) -> Result<Arc<FieldTree>, CopyError> {
    let folder = Dir::open_ambient_dir(dir, cap_std::ambient_authority()).unwrap();
    let place = Place::Folder(folder, Some("field.npy".into()));
    FieldTree::open(place, "field.npy", part, Turn::default()).map(Arc::new)
}

/// Every file as it is listed: path, size and nanoseconds.
fn listed(tree: &Arc<FieldTree>) -> BTreeMap<PathBuf, (u64, u32)> {
    FieldWalk::new(Arc::clone(tree))
        .map(Result::unwrap)
        .filter_map(|(entry, path)| match entry.kind {
            Kind::File { size, .. } => Some((path, (size, entry.mtime.ns))),
            _ => None,
        })
        .collect()
}

#[test]
fn what_is_listed_is_what_is_read_and_the_same_every_time() {
    let dir = tempfile::tempdir().unwrap();
    numpy(dir.path(), 2, [5, 70, 130]);
    let part = FieldPart { stride: [2, 1, 1], rounding: Rounding::Bits(4), ..FieldPart::default() };
    let (one, other) = (tree(dir.path(), &part).unwrap(), tree(dir.path(), &part).unwrap());
    let files = listed(&one);
    assert_eq!(files, listed(&other));
    // Two steps, one layer, 2 x 3 chunks; documents of group and field; documents and chunks of four coordinates.
    assert_eq!(files.len(), 2 * 6 + 2 + 8);
    for (path, (size, ns)) in &files {
        let made = other.file(path).unwrap();
        assert_eq!((made.bytes.len() as u64, made.mtime.ns), (*size, *ns), "{}", path.display());
    }
    let depths: Vec<_> = FieldWalk::new(one).map(|step| step.unwrap().0.depth).collect();
    assert!(depths[0] == 0 && depths.windows(2).all(|pair| pair[1] <= pair[0] + 1));
}

#[test]
fn paths_that_are_no_files_of_it_are_not_there() {
    let dir = tempfile::tempdir().unwrap();
    numpy(dir.path(), 2, [3, 4, 5]);
    let tree = tree(dir.path(), &FieldPart::default()).unwrap();
    assert!(tree.file(Path::new("field/c/1/0/0/0")).is_ok());
    for wrong in [
        "",
        "field",
        "field/c",
        "field/c/0/0/0",
        "field/c/2/0/0/0",
        "field/c/0/0/0/x",
        "other/c/0/0/0/0",
        "../field.npy",
    ] {
        assert!(tree.file(Path::new(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_not_there_is_refused_in_a_line() {
    let dir = tempfile::tempdir().unwrap();
    numpy(dir.path(), 2, [3, 4, 5]);
    let samples = |first, end| Samples { first, end };
    let along_z = |first, end| Some([samples(first, end), samples(0, None), samples(0, None)]);
    let steps = |first, end, every| Some(Steps { first, end, every });
    for (part, expected) in [
        (FieldPart { bounds: along_z(1, Some(4)), ..FieldPart::default() }, "1:4 is not in the 3 samples along z"),
        (FieldPart { bounds: along_z(3, None), ..FieldPart::default() }, "is not in the 3 samples"),
        (FieldPart { bounds: along_z(u64::MAX, Some(0)), ..FieldPart::default() }, "is not in"),
        (FieldPart { stride: [0, 1, 1], ..FieldPart::default() }, "a stride is 1 or more"),
        (FieldPart { level: u32::MAX, ..FieldPart::default() }, "it has no level"),
        (FieldPart { steps: steps(0, Some(3), 1), ..FieldPart::default() }, "steps 0 to 1"),
        (FieldPart { steps: steps(0, Some(u64::MAX), 1), ..FieldPart::default() }, "steps 0 to 1"),
        (FieldPart { steps: steps(0, None, 0), ..FieldPart::default() }, "steps 0 to 1"),
        (FieldPart { fields: vec!["other".to_owned()], ..FieldPart::default() }, "there are field"),
        (FieldPart { fields: vec!["x".to_owned(); 100], ..FieldPart::default() }, "64 fields"),
        (FieldPart { rounding: Rounding::Bits(200), ..FieldPart::default() }, "rounding"),
    ] {
        let told = tree(dir.path(), &part).unwrap_err().to_string();
        assert!(told.contains(expected) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn a_stride_larger_than_anything_takes_the_first_sample() {
    let dir = tempfile::tempdir().unwrap();
    numpy(dir.path(), 1, [3, 4, 5]);
    let tree = tree(dir.path(), &FieldPart { stride: [u64::MAX; 3], ..FieldPart::default() }).unwrap();
    assert_eq!(tree.cut.size, [1, 1, 1]);
    assert!(tree.summary().contains("1 x 1 x 1"), "{}", tree.summary());
}

#[test]
fn batches_hold_every_chunk_once_and_a_bounded_part_of_the_source() {
    for (size, stride) in [
        ([130, 70, 5], 1),
        ([5000, 200, 70], 1),
        ([64 * 9, 64 * 9, 64], 8),
        ([1 << 20, 65, 1], 1),
        ([300, 300, 2], 700),
    ] {
        let cut = Cut::with(size, stride, vec![3, 5]);
        let batches = batches::Batches::new(&cut);
        let mut next = 0;
        while next < batches.count() {
            let batch = batches.of(next);
            let chunks = batches.chunks(batch);
            assert_eq!(chunks.start, next);
            assert!(
                chunks
                    .clone()
                    .all(|chunk| batches.of(chunk) == batch && batches.chunk(batches.place(chunk)) == Some(chunk))
            );
            let (step, bounds) = batches.bounds(batch);
            assert!([3, 5].contains(&step) && (bounds.volume() <= cut::MOST_SAMPLES), "{bounds}");
            next = chunks.end;
        }
    }
}

#[test]
fn a_source_that_changes_is_not_taken_for_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = numpy(dir.path(), 1, [3, 4, 5]);
    let tree = tree(dir.path(), &FieldPart::default()).unwrap();
    let changed = std::time::SystemTime::now() + std::time::Duration::from_secs(7);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(changed).unwrap();
    let told = tree.file(Path::new("field/c/0/0/0")).unwrap_err().to_string();
    assert!(told.contains("has changed since it was opened"), "{told}");
}
