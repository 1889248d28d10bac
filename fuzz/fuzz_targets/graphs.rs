#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| gangway_fuzz::judge("graphs", input));
