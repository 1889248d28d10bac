//! `GANGWAY_TRACE`: what each kernel thread does, with times, as a file for Perfetto,
//! `chrome://tracing` and `gangway report` (docs/trace.md).
//!
//! While the program runs, events of fixed size go into memory of the kernel thread that they
//! happen on ([`lane`]); nothing is looked up, named or put in order. At exit the lanes are merged
//! by time, the events become slices of contexts ([`replay`]), and the file is written in one pass
//! ([`json`]).
//!
//! | file | what lives there |
//! |---|---|
//! | `lane` | the memory of one kernel thread: chunks, what is lost |
//! | `kind` | the events as they lie in memory |
//! | `clock` | the processor's counter, and what it is worth in nanoseconds |
//! | `scheduler`, `recorder` | the events of [`ult::observer`], and of [`crate::tool`] |
//! | `thin` | which tasks are left out where there are very many |
//! | `merge` | all lanes in the order of time |
//! | `replay`, `tasks`, `queues` | from events to slices, arrows and counters |
//! | `json` | the file's syntax |
//! | `symbols`, `names` | code addresses and source locations as text |
//! | `target`, `claim` | the file's name; which process has it where several were given the same |
//!
//! What may not live here: where things happen ([`crate::tool`] and `ult` say so).
//!
//! Off, nothing here runs: the places that tell of events ask a word that they share with other
//! tools. On, an event costs a reading of the processor's counter and a store of 32 bytes; of very
//! many short tasks most are only counted.
//!
//! The child of a fork records nothing, unless the file's name says which process it is of (`%p`):
//! then it begins anew. A process that ends otherwise than by `exit` or the end of `main` leaves no
//! file.
//!
//! Rejected:
//! * Writing while the program runs: a system call now and then is what one would see in the trace.
//! * One buffer for all kernel threads: a contended line per event.
//! * Slices instead of edges in memory: a task that waits may go on elsewhere, and has no end yet.

mod claim;
mod clock;
mod json;
mod kind;
mod lane;
mod merge;
mod names;
mod queues;
mod recorder;
mod replay;
mod run_delay;
mod scheduler;
mod symbols;
mod target;
mod tasks;
mod thin;

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::io;
use std::sync::OnceLock;

pub use kind::{Cause, TraceKind};
pub use recorder::{note_copy, note_outside, note_region, note_served, note_steal, note_task};
pub use thin::{Spans, Thin, ends as short_ends};

use crate::tool::record::of_thread;
use crate::tool::{self, ConsumerSlot};
use omp::env::Settings;
use omp::report;
use omp::thread::CurrentThread;
use omp::user_files::NewFile;

/// The file's name as given, from the root of the file system; set when something is recorded.
static WANTED: OnceLock<String> = OnceLock::new();
/// The process that records; 0: none does.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Begins to record if the settings, which have just been read, ask for it.
pub fn at_start(settings: &Settings) {
    let Some(file) = &settings.tools.trace else { return };
    if WANTED.set(file.clone()).is_err() {
        return;
    }
    // ORDERING: Relaxed; read in a child of this process.
    APART.store(target::notifies_processes_apart(file), Ordering::Relaxed);
    // ORDERING: Relaxed; as for `APART`.
    SHARES.store(
        !target::notifies_processes_apart(file) && !claim::take(&target::path(file)),
        Ordering::Relaxed,
    );
    clock::begin();
    lane::set_limit(settings.tools.trace_buffer);
    thin::set_share(settings.tools.trace_share);
    // ORDERING: Relaxed; read by threads that are started later, and by this one.
    PROCESS.store(process(), Ordering::Relaxed);
    ult::observer::set(Some(&scheduler::OBSERVER));
    tool::attach(ConsumerSlot::Trace, &recorder::Recorder);
    omp::exit::call(at_exit);
}

/// Is a trace recorded? For what is done once; the places that tell of events have a word of their
/// own.
pub fn is_on() -> bool {
    // ORDERING: Relaxed; set before anything is recorded.
    PROCESS.load(Ordering::Relaxed) != 0
}

/// Records what happens now, on the calling kernel thread. Any thread; not in a signal handler that
/// may have interrupted this function.
#[inline]
pub fn record(kind: TraceKind, small: u32, a: u64, b: u64) {
    lane::record(kind, small, a, b);
}

fn process() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::getpid() }
}

/// Does each process write a file of its own? Found before a fork, in whose child nothing may be
/// allocated.
static APART: AtomicBool = AtomicBool::new(false);

/// Another process writes the file of this name. This process adds its number to the name of its
/// own file.
static SHARES: AtomicBool = AtomicBool::new(false);

/// In the child of a fork, whose only thread this is.
fn forked() {
    claim::forget_after_fork();
    // ORDERING: Relaxed; there is one thread.
    let goes_on = APART.load(Ordering::Relaxed);
    lane::forget();
    each_below(Thin::forget);
    // ORDERING: Relaxed; there is one thread.
    PROCESS.store(if goes_on { process() } else { 0 }, Ordering::Relaxed);
    if !goes_on {
        stop();
    }
}

/// Calls `act` for the running thread, and for the threads that have forked the regions around it.
/// These threads are suspended there, and go on only after the running thread has ended its share.
/// A member that has ended its share has nothing to count, and can rely on no thread below it.
fn each_below(act: impl Fn(&Thin)) {
    let Some(here) = CurrentThread::if_known()
        .filter(|here| here.task.is_explicit() || !of_thread(&here.thread).joined.get())
    else {
        return;
    };
    let mut thread = Some(here.thread.thread());
    while let Some(this) = thread {
        act(&of_thread(this).thin);
        thread = this.team().plan().parent();
    }
}

unsafe extern "C" fn at_exit(_: c_int, _: *mut c_void) {
    // ORDERING: Relaxed; see `forked`.
    let recorded = PROCESS.swap(0, Ordering::Relaxed) == process();
    if recorded {
        tool::hook::region::await_members();
        each_below(Thin::flush);
    }
    stop();
    if let Some(name) = WANTED.get().filter(|_| recorded) {
        finish(name);
    }
}

fn write(path: &str) -> io::Result<()> {
    let mut new = NewFile::create(path)?;
    replay::write(&mut new, lane::all())?;
    new.complete()
}

/// Hears no more.
fn stop() {
    ult::observer::set(None);
    tool::detach(ConsumerSlot::Trace);
}

/// Writes the file and says what is not in it.
fn finish(name: &str) {
    let given = target::path(name);
    // ORDERING: Relaxed, both; written before anything is recorded.
    let shares = !APART.load(Ordering::Relaxed)
        && (SHARES.load(Ordering::Relaxed) || claim::was_written_meanwhile(&given));
    let path = if shares { target::apart(&given) } else { given.clone() };
    match write(&path) {
        Err(error) => report::warn(format_args!("GANGWAY_TRACE: {path}: {error}; there is no trace")),
        Ok(()) if shares => report::warn(format_args!(
            "GANGWAY_TRACE: {given} is the trace of another process; this one's trace is {path}"
        )),
        Ok(()) => {}
    }
    let lost: u64 = lane::all().map(lane::Lane::lost).sum();
    if lost != 0 {
        report::warn(format_args!(
            "GANGWAY_TRACE: {lost} events had no room and are not in {path}; GANGWAY_TRACE_BUFFER gives each thread more"
        ));
    }
}
