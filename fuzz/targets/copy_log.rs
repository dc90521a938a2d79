//! A restart log of a copy, as a disk may have kept it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_copy::decoders::log(bytes));
