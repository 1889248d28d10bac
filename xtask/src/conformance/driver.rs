//! Runs the driver of a suite, passes its lines on as they come, and reads the counts among them.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// Tests by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SuiteCounts {
    /// As they should be.
    pub passed: usize,
    /// Not so, or passed in spite of being listed as known failures.
    pub failed: usize,
    /// Not run, or failed as known.
    pub skipped: usize,
}

/// What a suite has come to.
#[derive(Debug, Default)]
pub struct SuiteOutcome {
    /// Groups of tests with their counts, in the driver's order.
    pub groups: Vec<(String, SuiteCounts)>,
    /// All together.
    pub total: SuiteCounts,
    /// What the driver said of each test that failed.
    pub failures: Vec<String>,
}

/// Runs `argv`.
///
/// # Errors
/// When it cannot be started or ends without counts.
pub fn run(argv: &[String]) -> Result<SuiteOutcome, String> {
    let (program, arguments) = argv.split_first().ok_or("nothing to run")?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|e| format!("{program}: {e}"))?;
    let (mut outcome, mut total) = (SuiteOutcome::default(), None);
    for line in
        child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok)
    {
        println!("    {line}");
        match read(&line) {
            Some((None, counts)) => total = Some(counts),
            Some((Some(group), counts)) => outcome.groups.push((group, counts)),
            None => outcome.failures.extend(failed(&line)),
        }
    }
    let status = child.wait().map_err(|e| format!("{program}: {e}"))?;
    outcome.total = total.ok_or(format!("the driver ended without counts ({status})"))?;
    outcome.failures.resize(outcome.total.failed, "a test of which the driver said no more".into());
    if !status.success() && outcome.total.failed == 0 {
        return Err(format!("the driver failed though no test did ({status})"));
    }
    Ok(outcome)
}

/// What a line says of a test that failed: `VERDICT name [seconds] why`.
fn failed(line: &str) -> Option<String> {
    let (verdict, _) = line.split_once(' ')?;
    matches!(verdict, "FAIL" | "TIMEOUT" | "XPASS" | "PASSES-BUT-KNOWN").then(|| line.to_owned())
}

/// `[group: ]N passed, N failed, N skipped`
fn read(line: &str) -> Option<(Option<String>, SuiteCounts)> {
    let (group, counts) = match line.rsplit_once(": ") {
        Some((group, counts)) => (Some(group.to_string()), counts),
        None => (None, line),
    };
    let parts: Vec<&str> = counts.split(", ").collect();
    let [passed, failed, skipped] = parts[..] else { return None };
    let number = |text: &str, word: &str| text.strip_suffix(word)?.trim_end().parse().ok();
    let counts = SuiteCounts {
        passed: number(passed, "passed")?,
        failed: number(failed, "failed")?,
        skipped: number(skipped, "skipped")?,
    };
    Some((group, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_distinguished_from_other_lines() {
        let counts = SuiteCounts { passed: 3, failed: 0, skipped: 12 };
        assert_eq!(read("3 passed, 0 failed, 12 skipped"), Some((None, counts)));
        assert_eq!(read("a/b: 3 passed, 0 failed, 12 skipped"), Some((Some("a/b".into()), counts)));
        for other in ["FAIL a/b.c [0.1 s] 3 passed, 0 failed", "fetching 3 passed", ""] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn a_driver_without_counts_is_an_error() {
        let shell = |script: &str| run(&["sh".into(), "-c".into(), script.into()]);
        assert!(shell("echo hello").is_err());
        assert!(shell("echo 1 passed, 0 failed, 0 skipped; exit 3").is_err());
        let outcome = shell(
            "echo FAIL a.c; echo g: 1 passed, 2 failed, 0 skipped; echo 1 passed, 2 failed, 0 skipped; exit 1",
        );
        let seen = outcome.map(|o| (o.groups.len(), o.failures.len(), o.failures[0].clone()));
        assert_eq!(seen, Ok((1, 2, "FAIL a.c".into())));
    }
}
