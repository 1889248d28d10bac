//! Images of target code for this machine: shared objects inside the program's own file, loaded
//! once per device, so that each device has variables of its own.
//!
//! The loader knows objects by path and inode. Each copy is an anonymous file of its own, reached
//! as `/proc/self/fd/<n>`. The descriptor stays open as long as the loader knows the object.
//! Otherwise another copy would get the number, the path, and with them the object that is loaded
//! already. That may be longer than it is in use: an object with unique symbols stays, and inside
//! of another `dlclose` the loader lets go later. Rejected: a file in `/tmp` (has to be writable,
//! stays behind when a program is killed).

use core::ffi::{CStr, c_void};
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use device_trait::{DeviceAddress, DeviceFailure};

const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
/// Offsets in an ELF header.
const CLASS: usize = 4;
const TYPE: usize = 16;
const MACHINE: usize = 18;
/// 64 bits; a shared object.
const CLASS_64: u8 = 2;
const SHARED: u16 = 3;

#[cfg(target_arch = "x86_64")]
const OURS: u16 = 62;
#[cfg(target_arch = "aarch64")]
const OURS: u16 = 183;

/// Is it a shared object for this machine?
pub fn is_ours(bytes: &[u8]) -> bool {
    let half = |at: usize| bytes.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    bytes.starts_with(&ELF_MAGIC)
        && bytes.get(CLASS) == Some(&CLASS_64)
        && half(TYPE) == Some(SHARED)
        && half(MACHINE) == Some(OURS)
}

/// A loaded shared object: what `dlopen` returned, and its file.
#[derive(Debug)]
pub struct ImageObject {
    handle: *mut c_void,
    file: OwnedFd,
}

/// Files of objects that were closed, until the loader does not know them any more.
static CLOSED: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

// SAFETY: a handle of the loader's, which locks.
unsafe impl Send for ImageObject {}
// SAFETY: as above.
unsafe impl Sync for ImageObject {}

/// Loads a copy of the object in `bytes`.
///
/// # Errors
/// What the loader says.
pub fn load(bytes: &[u8]) -> Result<ImageObject, DeviceFailure> {
    CLOSED.lock().unwrap_or_else(PoisonError::into_inner).retain(is_known);
    let file =
        anonymous(bytes).map_err(|e| DeviceFailure(format!("an image cannot be copied: {e}").into()))?;
    let path = path(&file);
    // SAFETY: a path; the object's constructors are the program's own code.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if object.is_null() {
        // SAFETY: null or a C string of the loader's, ours until the next call.
        let why =
            unsafe { libc::dlerror().as_ref().map(|s| CStr::from_ptr(s).to_string_lossy().into_owned()) };
        return Err(DeviceFailure(format!("an image cannot be loaded: {}", why.unwrap_or_default()).into()));
    }
    Ok(ImageObject { handle: object, file })
}

fn path(file: &OwnedFd) -> CString {
    CString::new(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap_or_default()
}

/// Does the loader know an object by this file's path?
fn is_known(file: &OwnedFd) -> bool {
    // SAFETY: a path; nothing is loaded.
    let found = unsafe { libc::dlopen(path(file).as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    // SAFETY: a handle of the line above, if it is one.
    !found.is_null() && unsafe { libc::dlclose(found) } == 0
}

/// A file with these bytes and no name.
fn anonymous(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    use std::io::Write;
    // SAFETY: a C string.
    let fd = unsafe { libc::memfd_create(c"gangway-image".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the descriptor is ours.
    let mut file = unsafe { std::fs::File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    Ok(file.into())
}

impl ImageObject {
    /// The address of a symbol.
    pub fn find(&self, name: &CStr) -> Option<DeviceAddress> {
        // SAFETY: a handle that is open, and a C string.
        let address = unsafe { libc::dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then(|| address.addr())
    }

    /// Calls its destructors and lets it go. No thread uses anything of it any more. Inside of a
    /// `dlclose` both happen at the end of that.
    pub fn close(self) {
        // SAFETY: a handle that is open.
        unsafe { libc::dlclose(self.handle) };
        CLOSED.lock().unwrap_or_else(PoisonError::into_inner).push(self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_objects_of_this_machine_are_ours() {
        let mut header = [0u8; 64];
        header[..4].copy_from_slice(&ELF_MAGIC);
        (header[CLASS], header[TYPE]) = (CLASS_64, SHARED as u8);
        header[MACHINE..MACHINE + 2].copy_from_slice(&OURS.to_le_bytes());
        assert!(is_ours(&header));
        for (at, other) in [(0, b'B'), (CLASS, 1), (TYPE, 2), (MACHINE, 190)] {
            let mut wrong = header;
            wrong[at] = other;
            assert!(!is_ours(&wrong), "{at}");
        }
        assert!(!is_ours(b"\x7fELF") && !is_ours(b"BC\xc0\xde"));
    }

    #[test]
    fn what_is_no_object_gives_the_loaders_words() {
        let why = load(b"\x7fELFrubbish").expect_err("loaded");
        assert!(why.0.starts_with("an image cannot be loaded: "), "{why}");
    }
}
