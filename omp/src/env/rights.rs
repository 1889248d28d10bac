//! A program that gained rights when it was started (setuid, setgid, file capabilities) gets its
//! environment from a user with fewer rights. Variables that name files or libraries are then not
//! read: that user could have files written, and code run, with the program's rights.
//!
//! The C library does the same with its own (`LD_PRELOAD`, `MALLOC_TRACE`: ld.so(8),
//! secure-execution mode).

use super::build::Settings;

/// Has this process gained rights? Any thread, at any time.
pub fn gained() -> bool {
    // SAFETY: reads what the kernel gave the process when it began.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Does this value of the variable name a file or a library?
pub fn names_file(variable: &str, value: &str) -> bool {
    let plain = variable.strip_suffix("_ALL").unwrap_or(variable);
    Settings::names_file(plain, value)
}

/// The line for a variable that is not read.
pub fn refusal(variable: &str) -> String {
    format!(
        "{variable}: names a file or a library, and this program has more rights than the user who started it (setuid, setgid, capabilities); not read"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_words_are_read() {
        let words = [
            ("OMP_TOOL_VERBOSE_INIT", "STDERR"),
            ("OMPX_SCHED", "heftmc:lambda=0.5"),
            ("OMPX_SCHED", "least"),
            ("OMPX_CUDA", "on"),
            ("OMPX_RATES", "off"),
            ("OMP_NUM_THREADS", "/etc/passwd"),
        ];
        assert!(words.iter().all(|(name, value)| !names_file(name, value)));
        let files = [
            ("OMP_TOOL_VERBOSE_INIT", "log"),
            ("OMPX_SCHED", "library:./x.so"),
            ("OMPX_SCHED", "library:./x:lambda=.so"),
            ("OMPX_SCHED", "manual:lambda"),
            ("OMPX_CUDA", "./libcuda.so"),
            ("OMPX_RATES", "rates"),
            ("OMPX_RATES", "OFF"),
            ("GANGWAY_TRACE", "t"),
            ("GANGWAY_TRACE_ALL", "t"),
        ];
        assert!(files.iter().all(|(name, value)| names_file(name, value)));
    }
}
