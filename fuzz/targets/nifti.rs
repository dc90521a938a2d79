//! NIfTI headers, plain and compressed.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| visapult_fuzz::open_and_read(&[("a.nii", bytes)]));
