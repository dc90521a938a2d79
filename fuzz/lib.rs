//! What the fuzz targets share: bytes become a file, the file is opened and read.

use visapult_volume::Box3;
use visapult_volume_io::{ReadRequest, open};

/// Writes `files` into a folder, opens the last one and reads a corner of it; errors are fine, anything else is not.
pub fn open_and_read(files: &[(&str, &[u8])]) {
    let dir = tempfile::tempdir().expect("a folder for temporary files");
    for (name, bytes) in files {
        std::fs::write(dir.path().join(name), bytes).expect("room for a temporary file");
    }
    let Some((name, _)) = files.last() else { return };
    let Ok(source) = open(&dir.path().join(name).display().to_string()) else { return };
    let bounds = Box3::of_size(source.info().grid().size.map(|edge| edge.min(32)));
    let request = ReadRequest { field: 0, step: source.steps().last, level: 0, bounds };
    let _ = source.read(&request, &mut vec![0.0; bounds.volume()]);
}
