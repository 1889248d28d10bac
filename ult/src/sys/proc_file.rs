//! Small files of the kernel below `/proc`.

use core::ffi::CStr;

use super::arch::system_call;

/// Bytes that are read of a file.
const LENGTH: usize = 64;

/// Calls `parse` with the first 64 bytes of a file. `None` if the file cannot be read, or `parse`
/// says so.
///
/// Any thread, in signal handlers as well. `errno` stays, and no cancellation point is met: the
/// calls go past the C library. The file is opened each time, because a program may close or
/// replace a descriptor that stays open.
pub fn parse_start<R>(path: &CStr, parse: impl FnOnce(&str) -> Option<R>) -> Option<R> {
    let mut text = [0_u8; LENGTH];
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: a string that ends with a zero; room for so many bytes; a descriptor that no other
    // code knows.
    let length = unsafe {
        let here = libc::AT_FDCWD as isize as usize;
        let file = system_call(libc::SYS_openat as usize, [here, path.as_ptr() as usize, flags, 0]);
        let file = usize::try_from(file).ok()?;
        let length = system_call(libc::SYS_read as usize, [file, text.as_mut_ptr() as usize, text.len(), 0]);
        system_call(libc::SYS_close as usize, [file, 0, 0, 0]);
        length
    };
    parse(core::str::from_utf8(text.get(..usize::try_from(length).ok()?)?).ok()?)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::parse_start;

    #[test]
    fn a_file_is_read_and_a_missing_one_is_none() {
        // SAFETY: this thread's.
        unsafe { *libc::__errno_location() = 77 };
        assert_eq!(parse_start(c"/proc/sys/kernel/ostype", |text| Some(text.trim() == "Linux")), Some(true));
        assert_eq!(parse_start(c"/proc/there/is/none", |_| Some(())), None);
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
    }
}
