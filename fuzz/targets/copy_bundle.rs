//! A bundle of files, as the giving end of a copy sends it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_copy::decoders::bundle(bytes));
