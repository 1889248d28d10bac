//! The one error reporter: every message of the runtime to its user goes through here.
//!
//! A message is one line, `gangway: <what> <where>; <what happens instead>`, and leaves in one
//! `write(2)`, so that lines of several threads and processes do not mix. Lines about the
//! environment begin like those of LLVM's runtime, which scripts look for, and with the number that
//! has there: `OMP: Warning #42: `. Nothing here allocates or locks: it may be called from a signal
//! handler and while the allocator's lock is held. `eprintln!` was rejected for both reasons.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

/// Longest message in bytes; what is longer is cut.
const LINE: usize = 1024;

static SILENT: AtomicBool = AtomicBool::new(false);

/// Turns warnings on or off (`KMP_WARNINGS`, `kmp_set_warnings_on/off`). Fatal messages are always
/// shown.
pub fn set_warnings(on: bool) {
    // ORDERING: Relaxed; a flag by itself, nothing is published with it.
    SILENT.store(!on, Ordering::Relaxed);
}

/// Whether warnings are shown.
pub fn warnings() -> bool {
    // ORDERING: Relaxed; pairs with `set_warnings`, nothing is read through it.
    !SILENT.load(Ordering::Relaxed)
}

/// Writes `gangway: <what>` to stderr, unless warnings are off, and goes on.
pub fn warn(what: impl fmt::Display) {
    if warnings() {
        say(&what);
    }
}

/// As [`warn`] for a wrong value in the environment, in the form that programs and scripts know
/// from LLVM's runtime.
pub fn warn_environment(what: impl fmt::Display) {
    if warnings() {
        put(libc::STDERR_FILENO, ReportLine::of("OMP: Warning #42: ", &what).bytes());
    }
}

/// Writes `gangway: <what>` to stderr and aborts the process, where a debugger or a core file can
/// see it.
pub fn fatal(what: impl fmt::Display) -> ! {
    say(&what);
    std::process::abort()
}

/// Writes `gangway: <what>` to stderr and ends the process with status 1: what the program itself
/// asked for.
pub fn end(what: impl fmt::Display) -> ! {
    say(&what);
    std::process::exit(1)
}

fn say(what: &dyn fmt::Display) {
    let line = ReportLine::of("", what);
    put(libc::STDERR_FILENO, line.bytes());
}

/// Writes `bytes` to the descriptor `fd` in as few `write(2)` as the kernel allows (normally one).
/// Errors are ignored, because no way is left to report them. `errno` is kept.
pub fn put(fd: libc::c_int, mut bytes: &[u8]) {
    // SAFETY: __errno_location always returns the calling thread's valid errno.
    let errno = unsafe { *libc::__errno_location() };
    while !bytes.is_empty() {
        // SAFETY: `bytes` is a live slice, `write` only reads it.
        let n = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(n) {
            Ok(n) if n > 0 => bytes = &bytes[n..],
            _ if last_errno() == libc::EINTR => {}
            _ => break,
        }
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn last_errno() -> libc::c_int {
    // SAFETY: __errno_location always returns the calling thread's valid errno.
    unsafe { *libc::__errno_location() }
}

/// One message being put together: ends in exactly one newline, holds no other control character.
struct ReportLine {
    text: [u8; LINE],
    len: usize,
}

impl ReportLine {
    fn of(before: &str, what: &dyn fmt::Display) -> ReportLine {
        let mut line = ReportLine { text: [0; LINE], len: 0 };
        // A full buffer is the only error and means "cut here".
        let _ = write!(line, "{before}gangway: {what}");
        line.text[line.len] = b'\n';
        line.len += 1;
        line
    }

    fn bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }
}

impl fmt::Write for ReportLine {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for &b in s.as_bytes() {
            if self.len == LINE - 1 {
                return Err(fmt::Error);
            }
            self.text[self.len] = if b.is_ascii_control() { b'?' } else { b };
            self.len += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(ReportLine::of("", &"a\nb").bytes(), b"gangway: a?b\n");
    }

    #[test]
    fn a_long_message_is_cut_and_still_ends_in_a_newline() {
        let long = "x".repeat(5000);
        let line = ReportLine::of("", &long);
        assert_eq!(line.bytes().len(), LINE);
        assert_eq!(line.bytes()[LINE - 1], b'\n');
    }
}
