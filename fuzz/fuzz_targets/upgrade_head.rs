#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| qwp::fuzz::upgrade_head(data));
