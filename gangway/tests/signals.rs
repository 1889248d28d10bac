//! What is left, and what the program gets, when this tool is interrupted.

mod common;

use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{directory, gangway, library};

const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Starts the tool on a script, with a directory for files of a moment, and sends it a signal once
/// the script says that it runs.
fn interrupted(
    tool: &mut Command,
    words: &[&str],
    at: &Path,
    script: &str,
    signal: libc::c_int,
) -> ExitStatus {
    let (temporary, begun) = (at.join("tmp"), at.join("begun"));
    fs::create_dir_all(&temporary).unwrap();
    drop(fs::remove_file(&begun));
    // A command of a script's background begins with SIGINT ignored, and so do all that it starts,
    // these tests too.
    let not_ignored = || {
        // SAFETY: the default action, in a child that is about to be the tool.
        SIGNALS.iter().for_each(|&signal| _ = unsafe { libc::signal(signal, libc::SIG_DFL) });
        Ok(())
    };
    // SAFETY: between fork and exec only signal(2) is called.
    unsafe { tool.pre_exec(not_ignored) };
    let script = format!("{script}; touch {}; sleep 30 & wait", begun.display());
    let mut child: Child = tool
        .args(words)
        .args(["sh", "-c", &script])
        .env("TMPDIR", &temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let since = Instant::now();
    while !begun.exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "the script does not run");
        sleep(Duration::from_millis(5));
    }
    // SAFETY: only sends a signal, to a child that has not been waited for.
    unsafe { libc::kill(child.id().try_into().unwrap(), signal) };
    let sent = Instant::now();
    let status = child.wait().unwrap();
    assert!(sent.elapsed() < Duration::from_secs(25), "the tool goes on");
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{words:?}, signal {signal}: {left:?}");
    status
}

#[test]
fn nothing_is_left_by_a_tool_that_is_interrupted() {
    let Some(library) = library("nothing_is_left_by_a_tool_that_is_interrupted") else { return };
    let at = directory("interrupted");
    for signal in SIGNALS {
        let end = |words: &[&str]| interrupted(&mut gangway(&library, &at), words, &at, ":", signal);
        assert_eq!(end(&["run", "--verify"]).code(), Some(128 + signal), "as the program ended");
        assert_eq!(end(&["doctor"]).signal(), Some(signal));
        assert_eq!(end(&["compare"]).signal(), Some(signal));
    }
}

#[test]
fn a_program_that_handles_the_signal_says_how_it_ends() {
    let Some(library) = library("a_program_that_handles_the_signal_says_how_it_ends") else { return };
    let at = directory("handled");
    for signal in SIGNALS {
        let script =
            format!("n=0; trap 'n=$((n+1)); echo $n > {}; exit 7' {signal}", at.join("count").display());
        let status = interrupted(&mut gangway(&library, &at), &["run", "--verify"], &at, &script, signal);
        assert_eq!((status.code(), fs::read_to_string(at.join("count")).unwrap().as_str()), (Some(7), "1\n"));
    }
}
