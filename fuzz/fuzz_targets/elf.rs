#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let found = links::object::of_bytes(input);
    // Names and lists are parts of the file: nothing grows beyond what the limits allow of it.
    let bytes = |object: &links::object::ElfObject| {
        object.needed.iter().chain(&object.rpath).chain(&object.runpath).map(String::len).sum::<usize>()
    };
    assert!(found.is_none_or(|object| bytes(&object) <= 1024 * input.len()));
});
