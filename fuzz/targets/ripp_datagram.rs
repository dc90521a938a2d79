//! Datagrams of the transport, from somebody without a key.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_testkit::decoders::datagram(bytes));
