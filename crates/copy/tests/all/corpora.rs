//! The corpora of this crate's fuzz targets.

use visapult_copy::decoders::ALL;

#[path = "../../../../fuzz/replay.rs"]
mod replay;

#[test]
fn every_decoder_bears_its_corpus_whole_cut_and_with_any_byte_changed() {
    replay::replay(&ALL);
}
