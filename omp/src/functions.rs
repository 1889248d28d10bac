//! Names of the program's functions, for lines to the user.
//!
//! What lives here: the loader's name of an address. What does not: names that only the file of an
//! object knows, which only checks of the program look for.

use ult::sys::loader::LoadedAddress;

/// A function's name where the loader knows it, else its module and the offset there.
pub fn name(function: usize) -> String {
    let Some(object) = LoadedAddress::of(function) else { return format!("{function:#x}") };
    if let Some(symbol) = object.nearest().filter(|symbol| symbol.address == function) {
        return symbol.name.to_string_lossy().into_owned();
    }
    let module = String::from_utf8_lossy(object.file_name());
    format!("{module}+{:#x}", function - object.base())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_names_or_places() {
        assert!(name(libc::getpid as *const () as usize).ends_with("getpid"));
        let inside = name(libc::getpid as *const () as usize + 1);
        assert!(inside.starts_with("libc.so") && inside.contains("+0x"), "{inside}");
        assert_eq!(name(8), "0x8");
    }
}
