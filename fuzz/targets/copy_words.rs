//! What the ends of a copy say, and what their users write.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_copy::decoders::words(bytes));
