//! The policy file of a share.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_copy::decoders::policy(bytes));
