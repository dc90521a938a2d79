//! `.npy` headers and values.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_fuzz::open_and_read(&[("a.npy", bytes)]));
