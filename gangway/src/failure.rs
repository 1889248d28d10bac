//! What does not work: a line, and the exit status that goes with it.

use std::io;

/// A line on standard error, and the exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFailure {
    pub status: u8,
    pub line: String,
}

impl CommandFailure {
    /// Something of this tool's: its options, the library, its directories.
    pub fn own(line: impl Into<String>) -> Self {
        Self { status: 125, line: line.into() }
    }

    /// The program is there, but cannot be run, or not on Gangway.
    pub fn not_runnable(line: impl Into<String>) -> Self {
        Self { status: 126, line: line.into() }
    }

    /// There is no such program.
    pub fn not_found(line: impl Into<String>) -> Self {
        Self { status: 127, line: line.into() }
    }

    /// The kernel did not run it.
    pub fn of_exec(program: &str, why: &io::Error) -> Self {
        let text = why.to_string();
        let line = format!("{program}: {}", text.split(" (os error").next().unwrap_or_default());
        if why.kind() == io::ErrorKind::NotFound { Self::not_found(line) } else { Self::not_runnable(line) }
    }
}
