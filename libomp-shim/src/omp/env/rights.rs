//! A program that gained rights when it was started (setuid, setgid, file capabilities) gets its
//! environment from a user with fewer rights. Variables that name files or libraries are then not
//! read: that user could have files written, and code run, with the program's rights.
//!
//! The C library does the same with its own (`LD_PRELOAD`, `MALLOC_TRACE`: ld.so(8),
//! secure-execution mode).

use placement::choice::PlacementChoice;

/// Whether a value names a file or a library.
type Names = fn(&str) -> bool;

/// The variables whose values may name a file or a library. A test compares this list with
/// `variables.tsv`.
const NAMING: [(&str, Names); 9] = [
    ("OMP_TOOL_LIBRARIES", always),
    ("OMP_TOOL_VERBOSE_INIT", |value| {
        !["disabled", "stdout", "stderr"].iter().any(|word| value.eq_ignore_ascii_case(word))
    }),
    ("OMPX_SCHED", |value| {
        value
            .parse()
            .is_ok_and(|choice| matches!(choice, PlacementChoice::Manual(_) | PlacementChoice::Library(_)))
    }),
    ("OMPX_CUDA", |value| value.contains('/')),
    ("OMPX_TASKS", always),
    ("OMPX_GRAPH", always),
    ("OMPX_RATES", |value| value != "off"),
    ("GANGWAY_TRACE", always),
    ("GANGWAY_TOPOLOGY", always),
];

fn always(_: &str) -> bool {
    true
}

/// Has this process gained rights? Any thread, at any time.
pub fn gained() -> bool {
    // SAFETY: reads what the kernel gave the process when it began.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Does this value of the variable name a file or a library?
pub fn names_file(variable: &str, value: &str) -> bool {
    let plain = variable.strip_suffix("_ALL").unwrap_or(variable);
    NAMING.iter().any(|(name, names)| *name == plain && names(value))
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
    fn the_list_is_that_of_the_table() {
        let table =
            include_str!("../../../variables.tsv").lines().filter(|line| !line.starts_with('#')).skip(1);
        let rows = table.map(|line| line.split('\t').collect::<Vec<_>>());
        let naming: Vec<&str> = rows
            .filter(|row| ["file", "path", "FILE"].iter().any(|word| row[3].contains(word)))
            .map(|row| row[1])
            .collect();
        assert_eq!(naming, NAMING.map(|(name, _)| name));
    }

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
