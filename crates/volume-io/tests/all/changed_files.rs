//! Files that change while they are looked at: that is told, whatever the reader would have made of what is there now.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use visapult_volume::Box3;
use visapult_volume_io::{ReadRequest, Source, open};

/// Fixtures whose values lie in the file that is named last.
const FIXED: [(&str, &str); 4] = [
    ("npy/f32_le.npy", "npy/f32_le.npy"),
    ("raw/plain.json", "raw/plain.raw"),
    ("nifti/f32.nii", "nifti/f32.nii"),
    ("nifti/f32.nii.gz", "nifti/f32.nii.gz"),
];
/// In one run of bytes, in chunks, read by the HDF5 library, and in many boxes.
const GROWING: [(&str, &str); 5] = [
    ("hdf5/single.h5", "hdf5/single.h5"),
    ("hdf5/chunked.h5:/chunked/f32_le", "hdf5/chunked.h5"),
    ("hdf5/filters.h5:/checksum", "hdf5/filters.h5"),
    ("hdf5/amr.h5", "hdf5/amr.h5"),
    ("hdf5/amr_packed.vtkhdf", "hdf5/amr_packed.vtkhdf"),
];

/// A fixture in a folder of its own, opened.
struct Opened {
    source: Box<dyn Source>,
    file: PathBuf,
    _dir: tempfile::TempDir,
}

impl Opened {
    fn of((url, file): (&str, &str)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        for path in [url.split(':').next().unwrap(), file] {
            fs::create_dir_all(dir.path().join(path).parent().unwrap()).unwrap();
            fs::copy(testdata.join(path), dir.path().join(path)).unwrap();
        }
        let source = open(&format!("{}/{url}", dir.path().display())).unwrap();
        Self { source, file: dir.path().join(file), _dir: dir }
    }

    /// The bits of all values: one that is missing is equal to itself.
    fn read(&self) -> Result<Vec<u32>, String> {
        let bounds = Box3::of_size(self.source.info().grid().size);
        let mut out = vec![0.0; bounds.volume()];
        let read = self.source.read(&ReadRequest { field: 0, step: 0, level: 0, bounds }, &mut out);
        read.map(|()| out.into_iter().map(f32::to_bits).collect()).map_err(|cause| cause.to_string())
    }

    /// What is told in place of values; once and for all.
    fn assert_changed(&self, how: &str) {
        for _ in 0..2 {
            let told = self.read().expect_err("the file has changed");
            let start = format!("{} has changed since it was opened", self.file.display());
            assert!(told.starts_with(&start) && told.ends_with("): open it again"), "{told}");
            assert!(told.contains(how) && !told.contains('\n'), "wanted {how:?}: {told}");
        }
    }
}

#[test]
fn a_file_that_another_has_replaced_is_not_read_on() {
    for fixture in FIXED.into_iter().chain(GROWING) {
        let opened = Opened::of(fixture);
        opened.read().unwrap();
        let other = opened.file.with_extension("other");
        fs::copy(&opened.file, &other).unwrap();
        fs::rename(&other, &opened.file).unwrap();
        opened.assert_changed("bytes has taken its place");
    }
}

#[test]
fn a_file_that_becomes_shorter_is_not_read_on() {
    for fixture in FIXED.into_iter().chain(GROWING) {
        let opened = Opened::of(fixture);
        opened.read().unwrap();
        let bytes = fs::metadata(&opened.file).unwrap().len();
        File::options().write(true).open(&opened.file).unwrap().set_len(bytes / 2).unwrap();
        opened.assert_changed(&format!("it had {bytes} bytes, now {}", bytes / 2));
    }
}

#[test]
fn a_file_that_is_written_to_is_not_read_on_unless_it_may_grow() {
    let later = SystemTime::now() + Duration::from_secs(7);
    let written =
        |opened: &Opened| File::options().write(true).open(&opened.file).unwrap().set_modified(later).unwrap();
    for fixture in FIXED {
        let opened = Opened::of(fixture);
        opened.read().unwrap();
        written(&opened);
        opened.assert_changed("it was written to");
    }
    for fixture in GROWING {
        let opened = Opened::of(fixture);
        let before = opened.read().unwrap();
        let bytes = fs::metadata(&opened.file).unwrap().len();
        File::options().write(true).open(&opened.file).unwrap().set_len(bytes + 4096).unwrap();
        written(&opened);
        assert_eq!(opened.read().unwrap(), before);
    }
}

const EDGE: usize = 8;

/// Creates a field to which steps may be appended, so many of them in a chunk.
fn appendable(file: &hdf5_metno::File, name: &str, steps_in_chunk: usize, is_packed: bool) {
    let dataset = file.new_dataset::<f32>().shape((0.., EDGE, EDGE, EDGE)).chunk((steps_in_chunk, EDGE, EDGE, EDGE));
    let dataset = if is_packed { dataset.shuffle().deflate(4) } else { dataset };
    dataset.create(name).unwrap();
}

/// A program that another test starts has our files open, and their locks, until it is one of its own.
fn patiently<T, E: std::fmt::Debug>(mut open: impl FnMut() -> Result<T, E>) -> T {
    for _ in 0..500 {
        if let Ok(opened) = open() {
            return opened;
        }
        thread::sleep(Duration::from_millis(20));
    }
    open().unwrap()
}

/// Appends a step of noise to each of two fields, as a simulation does that opens its file for that and closes it again.
fn append(path: &Path) {
    let file = patiently(|| hdf5_metno::File::append(path));
    for (name, apart) in [("u", 0), ("v", 1000)] {
        let dataset = file.dataset(name).unwrap();
        let step = dataset.shape()[0];
        dataset.resize((step + 1, EDGE, EDGE, EDGE)).unwrap();
        let value = |(_, z, y, x)| ((apart + 512 * step + 64 * z + 8 * y + x) as f32).sin();
        let noise = ndarray::Array4::from_shape_fn((1, EDGE, EDGE, EDGE), value);
        dataset.write_slice(&noise, (step..=step, .., .., ..)).unwrap();
        dataset.flush().unwrap();
    }
    file.close().unwrap();
}

#[test]
fn steps_are_read_on_while_others_are_appended_unless_that_moves_them() {
    for (steps_in_chunk, is_packed, moves) in [(8, true, true), (1, true, false), (8, false, false)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.h5");
        let file = hdf5_metno::File::create(&path).unwrap();
        ["u", "v"].iter().for_each(|name| appendable(&file, name, steps_in_chunk, is_packed));
        file.close().unwrap();
        append(&path);
        append(&path);
        let opened = Opened { source: patiently(|| open(&path.display().to_string())), file: path.clone(), _dir: dir };
        let before = opened.read().unwrap();
        // Where a chunk was that has moved there is room for one of the other field.
        append(&path);
        append(&path);
        if moves {
            opened.assert_changed("it was written to, which moves compressed chunks of several steps");
        } else {
            assert_eq!(opened.read().unwrap(), before, "{steps_in_chunk} steps in a chunk, packed: {is_packed}");
        }
    }
}

#[test]
fn a_file_that_was_removed_is_read_as_it_was() {
    for fixture in FIXED.into_iter().chain(GROWING) {
        let opened = Opened::of(fixture);
        let before = opened.read().unwrap();
        fs::remove_file(&opened.file).unwrap();
        assert_eq!(opened.read().unwrap(), before);
    }
}

#[test]
fn a_zarr_folder_that_is_gone_is_not_taken_for_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let array = dir.path().join("array.zarr");
    fs::create_dir(&array).unwrap();
    let metadata = r#"{"zarr_format": 2, "shape": [2, 2, 2], "chunks": [2, 2, 2], "dtype": "<f4", "compressor": null,
        "fill_value": 0, "order": "C", "filters": null}"#;
    fs::write(array.join(".zarray"), metadata).unwrap();
    let source = open(&array.display().to_string()).unwrap();
    let request = ReadRequest { field: 0, step: 0, level: 0, bounds: Box3::of_size([2; 3]) };
    source.read(&request, &mut [1.0; 8]).unwrap();
    fs::remove_dir_all(&array).unwrap();
    let told = source.read(&request, &mut [1.0; 8]).unwrap_err().to_string();
    assert!(told.contains("array.zarr") && told.ends_with("open it again"), "{told}");
}
