//! What the tests of a crate do with the corpora of its fuzz targets: these are replayed as they are and damaged.

use std::fs;
use std::path::Path;

/// A decoder and its name.
pub(crate) type Decoder = (&'static str, fn(&[u8]));

/// Gives each decoder its corpus whole, cut anywhere, and with any byte changed.
pub(crate) fn replay(decoders: &[Decoder]) {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, decoder) in decoders {
        let files: Vec<_> = fs::read_dir(corpora.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "{name}");
        for bytes in files.iter().map(|file| fs::read(file).unwrap()) {
            decoder(&bytes);
            (0..bytes.len()).for_each(|end| decoder(&bytes[..end]));
            for (at, change) in (0..bytes.len()).flat_map(|at| [0x01, 0x20, 0x80].map(|change| (at, change))) {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                decoder(&damaged);
            }
        }
    }
}
