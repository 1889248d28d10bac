//! Where something is in the program's source, as text: by the location that clang's code passes,
//! or by a code address.

use core::ffi::{CStr, c_char};
use std::collections::HashMap;

use super::json::escape;
use super::symbols::{self, TraceSymbols};

/// Marks a place that is a location's text, not code.
const LOCATION: u64 = 1 << 63;

/// The place of the location text at `text` (`;file;function;line;column;;`), if there is one that
/// says something, else that of the code at `code`.
pub fn place(text: *const c_char, code: usize) -> u64 {
    // SAFETY: null, or a C string of the compiler's.
    let is_known = !text.is_null() && !unsafe { CStr::from_ptr(text) }.to_bytes().starts_with(b";unknown;");
    if is_known { text as u64 | LOCATION } else { code as u64 }
}

/// Names of places.
#[derive(Default)]
pub struct PlaceNames {
    known: HashMap<u64, String>,
    symbols: TraceSymbols,
}

impl PlaceNames {
    /// The name of a place, escaped.
    pub fn of(&mut self, place: u64) -> &str {
        let symbols = &mut self.symbols;
        self.known.entry(place).or_insert_with(|| escape(&find(place, symbols)))
    }
}

fn find(place: u64, symbols: &mut TraceSymbols) -> String {
    let address = place & !LOCATION;
    match (place, address == place) {
        (0, _) => "?".to_owned(),
        (_, true) => symbols.name(address),
        // A library that is unloaded has taken the text along.
        _ if !symbols::is_loaded(address) => format!("{address:#x}"),
        // SAFETY: a location's text is a C string among the constants of a file that is loaded.
        _ => shortened(&unsafe { CStr::from_ptr(address as *const c_char) }.to_string_lossy()),
    }
}

/// `function (file:line)`; the file without its directories.
fn shortened(text: &str) -> String {
    let parts: Vec<&str> = text.split(';').collect();
    let [_, file, function, line, ..] = parts[..] else { return text.to_owned() };
    let file = file.rsplit('/').next().unwrap_or(file);
    match (function, file) {
        ("unknown", "unknown") => "unknown".to_owned(),
        _ => format!("{function} ({file}:{line})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_names() {
        let mut names = PlaceNames::default();
        let text = c";/usr/src/a.c;main;12;5;;";
        assert_eq!(names.of(place(text.as_ptr(), 4)), "main (a.c:12)");
        assert_eq!(names.of(0), "?");
        assert!(names.of(place(core::ptr::null(), find as *const () as usize)).contains("find"));
        assert_eq!(shortened("odd"), "odd");
    }
}
