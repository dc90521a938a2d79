//! Frames and acknowledgements of streams.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_ripp_net::decoders::stream(bytes));
