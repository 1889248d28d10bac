//! Code addresses as text: the function, by the symbol table of its file. At the end of the
//! program, when time does not matter.
//!
//! The file's own name comes first. Where it has none, the loader's nearest name is given, or the
//! file's name, each with an offset.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::collections::HashMap;
use std::path::PathBuf;

use ult::sys::loader::LoadedAddress;

use crate::object_file::{self, ObjectFile};

/// What has been looked up.
#[derive(Default)]
pub struct TraceSymbols(HashMap<PathBuf, Option<ObjectFile>>);

/// Does a loaded file contain `address`?
pub fn is_loaded(address: u64) -> bool {
    LoadedAddress::of(address as usize).is_some()
}

impl TraceSymbols {
    /// The function at `address`, with an offset where it is not at its beginning.
    pub fn name(&mut self, address: u64) -> String {
        let address = address as usize;
        let Some(object) = LoadedAddress::of(address) else { return format!("{address:#x}") };
        let path = object_file::path_of(&object);
        let file = self.0.entry(path).or_insert_with_key(|path| ObjectFile::open(path));
        let found = file.as_ref().and_then(|file| file.function(file.unloaded(address, object.base())));
        match (found, object.nearest()) {
            (Some(function), _) => with_offset(&demangle(&function.name), function.offset),
            (None, Some(symbol)) => {
                with_offset(&demangle(&symbol.name.to_string_lossy()), address - symbol.address)
            }
            (None, None) => {
                with_offset(&String::from_utf8_lossy(object.file_name()), address - object.base())
            }
        }
    }
}

fn with_offset(name: &str, offset: usize) -> String {
    if offset == 0 { name.to_owned() } else { format!("{name}+{offset:#x}") }
}

/// Names of C++, by the program's own library, if it has one.
fn demangle(name: &str) -> String {
    type Demangle = unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;
    // The outlined function's mark stands behind a name that is complete.
    let (stem, mark) = name.split_once('.').map_or((name, ""), |(stem, _)| (stem, &name[stem.len()..]));
    if !stem.starts_with("_Z") {
        return name.to_owned();
    }
    // SAFETY: looks a name up; the function has this signature by the C++ ABI (3.4).
    unsafe {
        let function = libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_demangle".as_ptr());
        let Some(text) = std::ffi::CString::new(stem).ok().filter(|_| !function.is_null()) else {
            return name.to_owned();
        };
        let demangle = core::mem::transmute::<*mut c_void, Demangle>(function);
        let plain =
            demangle(text.as_ptr(), core::ptr::null_mut(), core::ptr::null_mut(), core::ptr::null_mut());
        if plain.is_null() {
            return name.to_owned();
        }
        let result = bare(&CStr::from_ptr(plain).to_string_lossy()) + mark;
        libc::free(plain.cast());
        result
    }
}

/// A function's name without arguments, template arguments and type: they are long, and hide it.
fn bare(name: &str) -> String {
    if name.contains("operator") {
        return name.to_owned();
    }
    let name = name.replace("(anonymous namespace)::", "");
    let (mut bare, mut depth) = (String::new(), 0_i32);
    for letter in name.chars() {
        depth -= i32::from(matches!(letter, ')' | '>' | ']'));
        let inside = depth > 0 || matches!(letter, '(' | '<' | '[' | ')' | '>' | ']');
        depth += i32::from(matches!(letter, '(' | '<' | '['));
        if !inside {
            bare.push(letter);
        }
    }
    let mut words =
        bare.split_whitespace().filter(|word| !matches!(*word, "const" | "volatile" | "&" | "&&"));
    words.next_back().unwrap_or(&name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_are_bared() {
        let cases = [
            ("void outer<potrf(M&)::{lambda(int)#1}>(int, C, potrf(M&)::{lambda(int)#1})", "outer"),
            ("(anonymous namespace)::update(Tile&, int)", "update"),
            ("ns::Type<int>::run() const", "ns::Type::run"),
            ("A::operator()(int)", "A::operator()(int)"),
            ("plain", "plain"),
        ];
        for (name, expected) in cases {
            assert_eq!(bare(name), expected);
        }
    }

    #[inline(never)]
    fn something_local() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_local_function_is_found_by_its_address() {
        something_local();
        let name = TraceSymbols::default().name(something_local as *const () as u64);
        assert!(name.contains("something_local") && !name.contains("+0x"), "{name}");
        let inside = TraceSymbols::default().name(something_local as *const () as u64 + 1);
        assert!(inside.contains("something_local") && inside.ends_with("+0x1"), "{inside}");
    }

    #[test]
    fn what_is_nowhere_is_a_number() {
        assert_eq!(TraceSymbols::default().name(0x10), "0x10");
        assert!(!is_loaded(0x10) && is_loaded(something_local as *const () as u64));
    }
}
