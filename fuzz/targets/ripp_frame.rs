//! Frames of the transport: the sealed part of a datagram.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_testkit::decoders::frame(bytes));
