#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| qwp::fuzz::disk_record(data));
