//! Messages of the transport's control channel.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_testkit::decoders::message(bytes));
