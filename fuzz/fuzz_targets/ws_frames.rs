#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| qwp::fuzz::ws_frames(data));
