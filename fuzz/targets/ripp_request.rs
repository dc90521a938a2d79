//! What a measuring listener is asked for.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_ripp_net::decoders::request(bytes));
