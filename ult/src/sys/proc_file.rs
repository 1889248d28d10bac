//! Small files of the kernel below `/proc`.

use core::ffi::CStr;

use super::arch::system_call;

/// Bytes that are read of a file.
const LENGTH: usize = 512;

/// Calls `parse` with the first 512 bytes of a file. `None` if the file cannot be read, or `parse`
/// says so.
///
/// Any thread, in signal handlers as well. `errno` stays, and no cancellation point is met: the
/// calls go past the C library. The file is opened each time, because a program may close or
/// replace a descriptor that stays open.
pub fn parse_start<R>(path: &CStr, parse: impl FnOnce(&str) -> Option<R>) -> Option<R> {
    parse_bytes(path, |bytes| parse(core::str::from_utf8(bytes).ok()?))
}

/// [`parse_start`] for a file of the kernel thread `tid` of this process, whose bytes may be no
/// UTF-8: its name is the program's. `file` has at most 16 characters.
pub fn parse_of_thread<R>(tid: i32, file: &str, parse: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
    use std::io::Write;
    let mut path = [0_u8; 48];
    // A tid has at most ten digits, so the path and a zero byte always fit.
    write!(&mut path[..47], "/proc/self/task/{tid}/{file}").ok()?;
    parse_bytes(CStr::from_bytes_until_nul(&path).ok()?, parse)
}

fn parse_bytes<R>(path: &CStr, parse: impl FnOnce(&[u8]) -> Option<R>) -> Option<R> {
    let mut bytes = [0_u8; LENGTH];
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: a string that ends with a zero; room for so many bytes; a descriptor that no other
    // code knows.
    let length = unsafe {
        let here = libc::AT_FDCWD as isize as usize;
        let file = system_call(libc::SYS_openat as usize, [here, path.as_ptr() as usize, flags, 0]);
        let file = usize::try_from(file).ok()?;
        let length =
            system_call(libc::SYS_read as usize, [file, bytes.as_mut_ptr() as usize, bytes.len(), 0]);
        system_call(libc::SYS_close as usize, [file, 0, 0, 0]);
        length
    };
    parse(bytes.get(..usize::try_from(length).ok()?)?)
}

/// How long a kernel thread ran, and how long it waited for a processor while it wanted to run, in
/// nanoseconds since its start: the first two numbers of `schedstat`
/// (Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct RunTimes {
    /// On a processor.
    pub ran: u64,
    /// Runnable, while other threads had the processors.
    pub delayed: u64,
}

impl RunTimes {
    /// From the text of a `schedstat` file.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split_ascii_whitespace().map_while(|number| number.parse().ok());
        Some(Self { ran: numbers.next()?, delayed: numbers.next()? })
    }

    /// Of the kernel thread `tid` of this process. `None` if the kernel does not count.
    #[must_use]
    pub fn of_thread(tid: i32) -> Option<Self> {
        parse_of_thread(tid, "schedstat", |bytes| Self::parse(core::str::from_utf8(bytes).ok()?))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{RunTimes, parse_start};

    #[test]
    fn a_file_is_read_and_a_missing_one_is_none() {
        // SAFETY: this thread's.
        unsafe { *libc::__errno_location() = 77 };
        assert_eq!(parse_start(c"/proc/sys/kernel/ostype", |text| Some(text.trim() == "Linux")), Some(true));
        assert_eq!(parse_start(c"/proc/there/is/none", |_| Some(())), None);
        // SAFETY: as above.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
    }

    #[test]
    fn the_delay_is_the_second_number() {
        assert_eq!(RunTimes::parse("120 345 6\n"), Some(RunTimes { ran: 120, delayed: 345 }));
        assert_eq!(RunTimes::parse("120"), None);
        assert_eq!(RunTimes::parse("120 -3 1"), None);
    }
}
