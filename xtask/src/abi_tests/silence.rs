//! The library under programs that never call OpenMP: `LD_PRELOAD` is inherited by every child, so
//! it must cost nothing there. No output, no thread, no file opened by us, under 0.3 ms.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::build::TestBuilder;
use super::plan::AbiVerdict;
use super::report::AbiReport;

/// What preloading may add to the start and end of a process (median). Chosen: about twice what was
/// measured, 110 to 170 µs (70 to 130 for libgomp and libomp; Intel Xeon).
const LIMIT: Duration = Duration::from_micros(300);
/// Spawns of each kind. The medians of this many are steady to a few microseconds on a quiet
/// machine.
const SPAWNS: usize = 301;
/// Trials at most. Other work on the machine usually raises the difference of the medians. So the check
/// repeats while that is above [`LIMIT`], and the least counts. Chosen: any value from 2 to 5 will do.
const TRIALS: usize = 3;

/// Checks silence, threads, files and cost.
pub fn check(builder: &TestBuilder, report: &AbiReport) {
    let Some(library) = builder.library() else {
        report.check("silence", AbiVerdict::Skipped("no library given".into()));
        return;
    };
    for (name, command) in [("true", vec!["/bin/true"]), ("sh", vec!["/bin/sh", "-c", "echo a | cat; :"])] {
        report.check(&format!("silence: output of {name}"), output_is_unchanged(library, &command));
        report.check(&format!("silence: system calls of {name}"), system_calls(library, &command));
    }
    report.check("silence: cost", cost(library));
}

fn preloaded(library: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("LD_PRELOAD", library).stdin(Stdio::null());
    command
}

fn line(library: &Path, words: &[&str]) -> String {
    format!("env LD_PRELOAD={} {}", library.display(), words.join(" "))
}

fn output_is_unchanged(library: &Path, words: &[&str]) -> AbiVerdict {
    let plain = Command::new(words[0]).args(&words[1..]).output();
    let ours = preloaded(library, words).output();
    match (plain, ours) {
        (Ok(plain), Ok(ours)) if plain == ours => AbiVerdict::Passed,
        (_, Ok(ours)) => {
            let text = String::from_utf8_lossy(&ours.stderr).into_owned();
            AbiVerdict::Failed(format!("its output changed; stderr: {text}"), line(library, words))
        }
        (_, Err(error)) => AbiVerdict::Failed(error.to_string(), line(library, words)),
    }
}

/// Traces both ways and compares: the only files more are those the dynamic loader opens for the
/// library and what it needs, before the first `mprotect`-ed program start; no clone for a thread.
fn system_calls(library: &Path, words: &[&str]) -> AbiVerdict {
    let Some(plain) = trace(None, words) else {
        return AbiVerdict::Skipped("strace is not installed or may not trace here".into());
    };
    let ours = trace(Some(library), words).unwrap_or_default();
    let more = |kind: &str| count(&ours, kind) > count(&plain, kind);
    if ours.contains("CLONE_THREAD") && !plain.contains("CLONE_THREAD") {
        return AbiVerdict::Failed("a thread was started".into(), line(library, words));
    }
    if let Some(opened) = opened_by_us(&plain, &ours) {
        return AbiVerdict::Failed(format!("the library opened {opened}"), line(library, words));
    }
    let noisy =
        ["sched_getaffinity", "timer_create", "rt_sigaction", "sysinfo"].into_iter().find(|kind| more(kind));
    match noisy {
        Some(kind) => {
            AbiVerdict::Failed(format!("{kind} was called before any OpenMP call"), line(library, words))
        }
        None => AbiVerdict::Passed,
    }
}

fn trace(library: Option<&Path>, words: &[&str]) -> Option<String> {
    let mut command = Command::new("strace");
    command.args([
        "-f",
        "-e",
        "trace=open,openat,clone,clone3,sched_getaffinity,timer_create,rt_sigaction,sysinfo",
    ]);
    if let Some(library) = library {
        command.arg("-E").arg(format!("LD_PRELOAD={}", library.display()));
    }
    let output = command.args(words).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

fn count(trace: &str, kind: &str) -> usize {
    trace.lines().filter(|line| line.contains(&format!("{kind}("))).count()
}

/// A successfully opened file that is neither opened without us nor a shared object.
fn opened_by_us(plain: &str, ours: &str) -> Option<String> {
    let name = |line: &str| line.split('"').nth(1).map(str::to_owned);
    let known: Vec<String> = plain.lines().filter_map(name).collect();
    let opened = ours.lines().filter(|line| line.contains("open") && !line.contains("= -1")).filter_map(name);
    opened.filter(|file| !file.contains(".so")).find(|file| !known.contains(file))
}

/// See [`TRIALS`].
fn cost(library: &Path) -> AbiVerdict {
    let mut least = added_time(library);
    for _ in 1..TRIALS {
        if least >= LIMIT {
            least = least.min(added_time(library));
        }
    }
    let text = format!(
        "preloading adds {} µs to a process (median of {SPAWNS}, least of at most {TRIALS} trials; limit {} µs)",
        least.as_micros(),
        LIMIT.as_micros()
    );
    println!("note: {text}");
    if least < LIMIT { AbiVerdict::Passed } else { AbiVerdict::Failed(text, line(library, &["/bin/true"])) }
}

/// What preloading adds: the difference of two medians of spawns in turn.
fn added_time(library: &Path) -> Duration {
    let mut without = Vec::with_capacity(SPAWNS);
    let mut with = Vec::with_capacity(SPAWNS);
    for _ in 0..SPAWNS {
        without.push(spawn(Command::new("/bin/true").stdin(Stdio::null())));
        with.push(spawn(&mut preloaded(library, &["/bin/true"])));
    }
    median(&mut with).saturating_sub(median(&mut without))
}

fn spawn(command: &mut Command) -> Duration {
    let start = Instant::now();
    let _ = command.status();
    start.elapsed()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
