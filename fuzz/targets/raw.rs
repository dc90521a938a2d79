//! Sidecars of raw files: the first 64 bytes are the numbers, the rest is the sidecar, which must call them `a.raw`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (values, sidecar) = bytes.split_at(bytes.len().min(64));
    visapult_fuzz::open_and_read(&[("a.raw", values), ("a.json", sidecar)]);
});
