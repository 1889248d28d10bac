//! A run of the program: its time, what the kernel says it used, how it ended and what it printed.
//!
//! What it prints goes to a file without a name: a pipe would have to be read meanwhile, and would
//! stay open where a child of the program lives on. Its complaints go where ours do. The kernel's
//! figures are of the program with the children that it waited for.

use std::env;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use links::unique::UniqueDirectory;

use crate::failure::CommandFailure;
use crate::{interrupt, run};

/// What a run has left.
#[derive(Debug)]
pub struct ChildRun {
    pub seconds: f64,
    /// Seconds of processors, user and system.
    pub busy: f64,
    /// The largest set of pages in memory, of one process; at least what this tool has when it
    /// starts the program, some 3 MB.
    pub most_bytes: u64,
    /// Switches of context: it waited, it was made to wait.
    pub switches: [u64; 2],
    /// The exit status as a shell has it, or that it was ended for taking too long.
    pub ending: ChildEnding,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEnding {
    Status(i32),
    Late,
}

/// Runs it, at most so long; also gives what it printed.
pub fn run(command: &mut Command, limit: Option<Duration>) -> Result<(ChildRun, File), CommandFailure> {
    let output = unnamed_file()?;
    command.stdout(
        output.try_clone().map_err(|why| CommandFailure::own(format!("what the program prints: {why}")))?,
    );
    own_process(command, limit.is_some());
    let name = command.get_program().display().to_string();
    let start = Instant::now();
    let child = command.spawn().map_err(|why| CommandFailure::of_exec(&name, &why))?;
    let pid = libc::pid_t::try_from(child.id()).expect("the kernel's own number");
    let is_late = watched(pid, limit);
    let seconds = start.elapsed().as_secs_f64();
    let (status, used) = reap(pid).map_err(|why| CommandFailure::own(format!("{name}: {why}")))?;
    let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
    let run = ChildRun {
        seconds,
        busy: time(used.ru_utime) + time(used.ru_stime),
        most_bytes: used.ru_maxrss.unsigned_abs() * 1024,
        switches: [used.ru_nvcsw.unsigned_abs(), used.ru_nivcsw.unsigned_abs()],
        ending: if is_late { ChildEnding::Late } else { ChildEnding::Status(run::status_of(status)) },
    };
    Ok((run, output))
}

/// An empty file whose name is removed at once, so that nothing is left of it however this tool
/// ends later.
fn unnamed_file() -> Result<File, CommandFailure> {
    let parent = env::temp_dir();
    let made = UniqueDirectory::new(&parent, "gangway-output-").and_then(|at| {
        File::options().read(true).write(true).create_new(true).open(at.path().join("stdout"))
    });
    made.map_err(|why| CommandFailure::own(format!("{}: {why}", parent.display())))
}

/// The tool starts the program with fork, not vfork: after vfork the kernel would count this tool's
/// peak memory as the program's. The program ends with this tool. With a limit it and the programs
/// that it starts are a group of processes, to be ended at once; a terminal's interrupt does not
/// reach that group.
fn own_process(command: &mut Command, with_limit: bool) {
    let end_with_us = || {
        // SAFETY: sets an attribute of the calling process, the child that is about to be the
        // program.
        let done = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    if with_limit {
        command.process_group(0);
    }
    // SAFETY: between fork and exec one system call is made. Such a function makes the standard
    // library use fork.
    unsafe { command.pre_exec(end_with_us) };
}

/// Waits for the end without taking it, and ends the program when the time is over; says whether
/// that was so. Until the end is taken, the kernel gives the child's number to no other process.
fn watched(pid: libc::pid_t, limit: Option<Duration>) -> bool {
    let (ended, end) = mpsc::channel::<()>();
    let guard = limit.map(|limit| {
        thread::spawn(move || {
            let is_late = end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if is_late {
                // SAFETY: only sends a signal, to the group of a child that has not been taken:
                // `watched` waits for this thread before that.
                unsafe { libc::kill(-pid, libc::SIGKILL) };
            }
            is_late
        })
    });
    interrupt::await_end(pid.unsigned_abs());
    drop(ended);
    guard.is_some_and(|thread| thread.join().unwrap_or(false))
}

fn reap(pid: libc::pid_t) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all zero is a value of this C structure.
    let mut used: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: room for both answers, and no other code waits for this child of ours.
    let got = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut used) };
    if got == pid { Ok((ExitStatus::from_raw(status), used)) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read as _, Seek as _};

    fn text(mut output: File) -> String {
        let mut text = String::new();
        output.rewind().and_then(|()| output.read_to_string(&mut text)).unwrap();
        text
    }

    #[test]
    fn a_run_leaves_its_status_output_and_figures() {
        let (run, output) = run(Command::new("sh").args(["-c", "echo a; echo b; exit 3"]), None).unwrap();
        assert_eq!((run.ending, text(output).as_str()), (ChildEnding::Status(3), "a\nb\n"));
        assert!(run.seconds > 0.0 && run.most_bytes > 100_000, "{run:?}");
    }

    #[test]
    fn memory_that_this_tool_had_is_not_the_programs() {
        let bytes = std::hint::black_box(vec![1_u8; 256 << 20]);
        drop(bytes);
        let (run, _) = run(&mut Command::new("true"), None).unwrap();
        assert!(run.most_bytes < 128 << 20, "{run:?}");
    }

    #[test]
    fn a_run_that_takes_too_long_is_ended_with_what_it_started() {
        let start = Instant::now();
        let (run, output) = run(
            Command::new("sh").args(["-c", "sleep 61 & echo $!; wait"]),
            Some(Duration::from_millis(500)),
        )
        .unwrap();
        assert!(run.ending == ChildEnding::Late && start.elapsed() < Duration::from_secs(30), "{run:?}");
        let stat = format!("/proc/{}/stat", text(output).trim());
        let is_gone = || fs::read_to_string(&stat).map_or(true, |text| text.contains(") Z "));
        assert!(
            (0..1000).any(|_| is_gone() || {
                thread::sleep(Duration::from_millis(10));
                false
            }),
            "{stat}"
        );
        let (quick, _) = super::run(&mut Command::new("true"), Some(Duration::from_secs(60))).unwrap();
        assert_eq!(quick.ending, ChildEnding::Status(0));
    }
}
