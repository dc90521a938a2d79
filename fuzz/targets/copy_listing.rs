//! A listing of a tree, as the giving end of a copy tells it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_copy::decoders::listing(bytes));
