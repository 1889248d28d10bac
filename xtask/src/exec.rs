//! Runs programs with a time limit and collects what they say.
//!
//! Lives here: the one way xtask starts another program whose answer matters. `timeout` of
//! coreutils ends the whole process group, so that children of a program that hangs do not outlive
//! it.
//!
//! Rejected: a watchdog thread and `kill`. It needs the same process-group care, and a dependency
//! to make the call.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// What a program that ran has left.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Nothing when it exited with status 0, otherwise how it ended.
    pub problem: Option<String>,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// Runs `argv` in `directory` with additional environment `env`, at most `limit` seconds.
///
/// The environment is given to the program alone, not to the `timeout` before it.
pub fn run(argv: &[String], env: &[(String, String)], directory: &Path, limit: u32) -> Ran {
    let start = Instant::now();
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", &limit.to_string(), "env"]);
    command.args(env.iter().map(|(k, v)| format!("{k}={v}"))).args(argv);
    let output = command.current_dir(directory).stdin(Stdio::null()).output();
    let seconds = start.elapsed().as_secs_f64();
    match output {
        Ok(o) => Ran {
            problem: problem(&o.status, seconds >= f64::from(limit)),
            stdout: String::from_utf8_lossy(&o.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&o.stderr).into_owned(),
            seconds,
        },
        Err(e) => Ran { stdout: String::new(), stderr: String::new(), problem: Some(e.to_string()), seconds },
    }
}

fn problem(status: &std::process::ExitStatus, late: bool) -> Option<String> {
    if status.success() {
        None
    } else if late {
        Some("hangs".into())
    } else {
        // A shell reports a signal as 128 more than its number; `timeout` ends itself by the signal
        // of its child.
        let code = status.code().or(status.signal().map(|s| 128 + s)).unwrap_or_default();
        Some(match code {
            134 => "aborts".into(),
            136 => "arithmetic fault".into(),
            139 | 135 => "crashes".into(),
            code => format!("exit {code}"),
        })
    }
}

/// Runs a command of the build or installation with its output on the terminal. Returns whether it
/// succeeded.
pub fn visible(program: &str, arguments: &[&str], env: &[(&str, &str)], directory: &Path) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).envs(env.iter().copied()).current_dir(directory).stdin(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

/// Whether `program` can be found on the search path.
pub fn on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(program).is_file()))
}

/// The last line of a text that says anything, for a one-line report; at most 160 characters of it.
pub fn last_line(text: &str) -> &str {
    let line = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
    line.char_indices().nth(160).map_or(line, |(end, _)| &line[..end])
}

/// The processors that this process may use.
pub fn allowed_processors() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(processors).unwrap_or_default()
}

/// The processors of the kernel's list.
fn processors(list: &str) -> Vec<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_processors_are_spelled_out() {
        assert_eq!(processors("\t0-2,5,7-8\n"), [0, 1, 2, 5, 7, 8]);
        assert_eq!(processors("3"), [3]);
        assert_eq!(processors(""), []);
    }
}
