//! The corpora of this crate's fuzz targets, replayed as they are and damaged.

use std::fs;
use std::path::PathBuf;

use visapult_copy::decoders::ALL;

#[test]
fn every_decoder_bears_its_corpus_whole_cut_and_with_any_byte_changed() {
    for (name, decoder) in ALL {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
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
