//! Code addresses as text: the function, by the symbol table of its file. At the end of the
//! program, when time does not matter.
//!
//! What compilers make of the bodies of regions and tasks are local functions (`main._omp_fn.0`),
//! which the loader does not know; they are in `.symtab`, unless that was stripped. Then the
//! loader's nearest name is given, or the file's name, each with an offset.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// The functions of one file, by address.
struct Functions {
    /// Addresses in the file are those in memory: not a library, nor a program that can be loaded
    /// anywhere.
    fixed: bool,
    /// Address, size and name, in the order of addresses.
    list: Vec<(u64, u64, String)>,
}

/// What has been looked up.
#[derive(Default)]
pub struct TraceSymbols(HashMap<String, Option<Functions>>);

/// What the loader says of an address.
struct SymbolAddress {
    file: String,
    base: u64,
    nearest: Option<(String, u64)>,
}

fn ask_loader(address: u64) -> Option<SymbolAddress> {
    // SAFETY: a valid out pointer; the strings are the loader's.
    unsafe {
        let mut object: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(address as *const c_void, &mut object) == 0 || object.dli_fname.is_null() {
            return None;
        }
        let text = |s: *const c_char| CStr::from_ptr(s).to_string_lossy().into_owned();
        let nearest =
            (!object.dli_sname.is_null()).then(|| (text(object.dli_sname), object.dli_saddr as u64));
        Some(SymbolAddress { file: text(object.dli_fname), base: object.dli_fbase as u64, nearest })
    }
}

/// Does a loaded file contain `address`?
pub fn is_loaded(address: u64) -> bool {
    ask_loader(address).is_some()
}

impl TraceSymbols {
    /// The function at `address`, with an offset where it is not at its beginning.
    pub fn name(&mut self, address: u64) -> String {
        let Some(place) = ask_loader(address) else { return format!("{address:#x}") };
        // The loader names the program as it was called; a relative name may not be right any more.
        let path = if Path::new(&place.file).is_absolute() {
            place.file.clone()
        } else {
            "/proc/self/exe".to_owned()
        };
        let functions = self.0.entry(path).or_insert_with_key(|path| read(Path::new(path)));
        let found = functions.as_ref().and_then(|f| f.find(address - if f.fixed { 0 } else { place.base }));
        let short =
            || Path::new(&place.file).file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
        match (found, place.nearest) {
            (Some((name, offset)), _) => with_offset(&demangle(name), offset),
            (None, Some((name, at))) => with_offset(&demangle(&name), address - at),
            (None, None) => with_offset(&short(), address - place.base),
        }
    }
}

fn with_offset(name: &str, offset: u64) -> String {
    if offset == 0 { name.to_owned() } else { format!("{name}+{offset:#x}") }
}

impl Functions {
    fn find(&self, address: u64) -> Option<(&str, u64)> {
        let at = self.list.partition_point(|f| f.0 <= address).checked_sub(1)?;
        let (begin, size, name) = &self.list[at];
        (address - begin < (*size).max(1)).then_some((name.as_str(), address - begin))
    }
}

/// Bytes of a section's header, and of a symbol, in 64-bit files.
const HEADER: usize = 64;
const SYMBOL: usize = 24;
/// Numbers of the format.
const FIXED: u64 = 2;
const SYMTAB: u64 = 2;
const FUNCTION: u8 = 2;

/// The functions in the symbol table of the file; `None` without one.
fn read(path: &Path) -> Option<Functions> {
    let file = fs::read(path).ok()?;
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let number = |at: usize, bytes: usize| {
        Some(file.get(at..at + bytes)?.iter().rev().fold(0_u64, |n, &b| n << 8 | u64::from(b)))
    };
    let sections = number(0x28, 8)? as usize;
    let section = |i: u64| sections + i as usize * HEADER;
    let mut tables = (0..number(0x3c, 2)?).map(section);
    let table = tables.find(|&at| number(at + 4, 4) == Some(SYMTAB))?;
    let text = number(section(number(table + 0x28, 4)?) + 0x18, 8)? as usize;
    let (begin, size) = (number(table + 0x18, 8)? as usize, number(table + 0x20, 8)? as usize);
    let mut list: Vec<_> = (begin..begin + size)
        .step_by(SYMBOL)
        .filter_map(|at| {
            let is_function = file.get(at + 4)? & 15 == FUNCTION;
            let name = file.get(text + number(at, 4)? as usize..)?;
            let name = name.split(|&b| b == 0).next()?;
            let address = number(at + 8, 8)?;
            (is_function && address != 0)
                .then(|| Some((address, number(at + 16, 8)?, String::from_utf8_lossy(name).into_owned())))?
        })
        .collect();
    list.sort();
    Some(Functions { fixed: number(0x10, 2)? == FIXED, list })
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

    #[test]
    fn what_is_no_object_file_has_no_functions() {
        assert!(read(Path::new("/proc/self/maps")).is_none());
        assert!(read(Path::new("/there/is/none")).is_none());
    }
}
