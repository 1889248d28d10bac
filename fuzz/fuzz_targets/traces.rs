#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    if let Ok(text) = std::str::from_utf8(input) {
        report::chance::judge(text);
    }
});
