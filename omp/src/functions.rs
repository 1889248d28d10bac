//! Names of the program's functions, for lines to the user.
//!
//! What lives here: the loader's name of an address. What does not: names that only the file of an
//! object knows, which only checks of the program look for.

use core::ffi::{CStr, c_void};

/// A function's name where the loader knows it, else its module and the offset there.
pub fn name(function: usize) -> String {
    // SAFETY: a valid out pointer; names are the loader's C strings.
    unsafe {
        let mut object: libc::Dl_info = core::mem::zeroed();
        if libc::dladdr(function as *const c_void, &raw mut object) == 0 {
            return format!("{function:#x}");
        }
        let text = |name: *const core::ffi::c_char| {
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        };
        if let Some(name) = text(object.dli_sname).filter(|_| object.dli_saddr.addr() == function) {
            return name;
        }
        let module = text(object.dli_fname).unwrap_or_default();
        let module = module.rsplit('/').next().unwrap_or_default();
        format!("{module}+{:#x}", function - object.dli_fbase.addr())
    }
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
