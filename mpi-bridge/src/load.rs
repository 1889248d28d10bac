//! Opening the library of one MPI, for users in Rust. What may not live here: which MPI, and where
//! its library is.

use crate::table::{ABI, BridgeTable};
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The table of functions of a library that `cargo xtask bridge` has built. It stays open.
///
/// # Errors
/// It cannot be loaded, is something else, or is of another version; as a line.
pub fn table(library: &Path) -> Result<&'static BridgeTable, String> {
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    let path = CString::new(library.as_os_str().as_bytes())
        .map_err(|_| format!("{name} has a zero byte in its path"))?;
    // SAFETY: a path; the library's constructors are MPI's.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        // SAFETY: the loader's string, or null. Errors are kept by thread, so no other thread
        // changes the string before it is copied.
        let why =
            unsafe { libc::dlerror().as_ref().map(|s| CStr::from_ptr(s).to_string_lossy().into_owned()) };
        return Err(format!("{name} cannot be loaded: {}", why.unwrap_or_default()));
    }
    // SAFETY: an open library and a name.
    let get = unsafe { libc::dlsym(handle, c"gangway_bridge_table".as_ptr()) };
    if get.is_null() {
        return Err(format!("{name} is no bridge"));
    }
    // SAFETY: the header's function has this type; what it returns is null or lives as long as the
    // library, which is never closed.
    unsafe {
        let get = core::mem::transmute::<*mut c_void, unsafe extern "C" fn(u32) -> *const BridgeTable>(get);
        get(ABI).as_ref().ok_or_else(|| format!("{name} is of another version"))
    }
}

#[cfg(test)]
mod tests {
    use super::table;
    use std::path::Path;

    #[test]
    fn what_is_no_bridge_is_reported() {
        assert!(
            table(Path::new("/nonexistent/libgangway_mpi_none.so"))
                .is_err_and(|line| line.starts_with("libgangway_mpi_none.so cannot be loaded: "))
        );
        assert!(table(Path::new("libc.so.6")).is_err_and(|line| line == "libc.so.6 is no bridge"));
    }
}
