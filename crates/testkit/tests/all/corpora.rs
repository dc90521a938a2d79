//! The corpora of the transport's fuzz targets, replayed as they are and damaged.

use std::fs;
use std::path::PathBuf;

use fastrand::Rng;
use visapult_testkit::decoders::ALL;
use visapult_testkit::hostile::damage;

const DAMAGED: usize = 300;

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_decoder_bears_its_corpus() {
    for (name, decoder) in ALL {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name}");
        corpus.iter().for_each(|bytes| decoder(bytes));
    }
}

#[test]
fn every_decoder_bears_damaged_bytes() {
    let mut rng = Rng::with_seed(3);
    for (name, decoder) in ALL {
        for bytes in corpus(name) {
            for _ in 0..DAMAGED {
                let mut damaged = bytes.clone();
                for _ in 0..rng.usize(1..6) {
                    if !damaged.is_empty() {
                        damage(&mut rng, &mut damaged);
                    }
                }
                decoder(&damaged);
            }
        }
    }
}
