//! A program that gained rights when it was started (setuid, setgid, file capabilities) gets its
//! environment from a user with fewer rights. Variables that name files or libraries are then not
//! read: that user could have files written, and code run, with the program's rights.
//!
//! The C library does the same with its own (`LD_PRELOAD`, `MALLOC_TRACE`: ld.so(8),
//! secure-execution mode).

/// Has this process gained rights? Any thread, at any time.
pub fn gained() -> bool {
    // SAFETY: reads what the kernel gave the process when it began.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The line for a variable that is not read.
pub fn refusal(variable: &str) -> String {
    format!(
        "{variable}: names a file or a library, and this program has more rights than the user who started it (setuid, setgid, capabilities); not read"
    )
}
