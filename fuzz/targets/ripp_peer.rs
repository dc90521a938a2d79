//! Everything that a peer of the transport says, from somebody with the key.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_testkit::decoders::peer(bytes));
