//! Runs one binary under `timeout(1)` and judges how it ended.
//!
//! The environment is cleaned of every variable an OpenMP runtime reads, so that a result does not
//! depend on the shell. Variables for the library itself (`GANGWAY_*`) pass: they are for
//! debugging.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One run: what to start with what around it.
pub struct ProgramRun {
    /// Program and arguments.
    pub arguments: Vec<PathBuf>,
    /// Environment on top of the cleaned one. The loader's variables reach only the program.
    pub env: Vec<(String, String)>,
    /// Seconds.
    pub timeout: u32,
}

/// How it ended.
pub struct ProgramEnd {
    /// Exit status, or 128 + signal.
    pub status: i32,
    /// `timeout` had to end it.
    pub hung: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl ProgramEnd {
    /// Whether it was ended, by a signal or for its time, instead of ending itself.
    pub fn was_ended(&self) -> bool {
        self.hung || self.status >= 128
    }
}

impl ProgramRun {
    /// The command line that reproduces the run in a shell.
    pub fn line(&self) -> String {
        let mut words = vec!["env".to_owned()];
        words.extend(self.env.iter().map(|(key, value)| format!("{key}={}", quoted(value))));
        words.extend(self.arguments.iter().map(|path| path.display().to_string()));
        words.join(" ")
    }

    /// Starts it and waits.
    pub fn start(&self) -> Result<ProgramEnd, String> {
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", &self.timeout.to_string(), "env"]); // the whole group: children may block other signals
        command.args(self.env.iter().map(|(key, value)| format!("{key}={value}")));
        command.args(&self.arguments).stdin(Stdio::null());
        for (key, _) in std::env::vars().filter(|(key, _)| foreign(key)) {
            command.env_remove(key);
        }
        let output = command.output().map_err(|error| format!("timeout: {error}"))?;
        let status = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
        Ok(ProgramEnd {
            status,
            hung: matches!(status, 124 | 137),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

fn foreign(key: &str) -> bool {
    let prefixes = ["OMP_", "KMP_", "GOMP_", "LD_PRELOAD", "LD_LIBRARY_PATH", "LIBOMP"];
    prefixes.iter().any(|prefix| key.starts_with(prefix))
}

fn quoted(value: &str) -> String {
    let plain = value.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-,+:=".contains(&b));
    if plain { value.to_owned() } else { format!("'{value}'") }
}

/// Whether `text` contains `pattern`, in which `*` stands for anything.
pub fn contains(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern.split('*').all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}
