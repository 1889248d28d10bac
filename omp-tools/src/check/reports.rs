//! Lines about misuse: each once per place.

use core::fmt;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::place::CodePosition;
use omp::agents::UNASSIGNED;
use omp::report;
use omp::task::Task;
use omp::thread::CurrentThread;

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// A lock that its owner sets again.
    SetTwice,
    /// A lock unset by a task that has not set it.
    Unset,
    /// A lock destroyed while a task has it set.
    Destroyed,
    /// Threads of a team in two places.
    SyncPoint,
    /// An event that was not fulfilled before the program ended.
    Event,
    /// A worker that does not get on.
    Standstill,
}

static REPORTED: Mutex<Option<HashSet<(About, usize, usize)>>> = Mutex::new(None);

/// Writes `GANGWAY_CHECK: <what>`, unless the same has been said of these two addresses.
pub fn report(about: About, one: usize, other: usize, what: impl fmt::Display) {
    let key = (about, one.min(other), one.max(other));
    let is_new = REPORTED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(key);
    if is_new && is_written(about) {
        report::warn(format_args!("GANGWAY_CHECK: {what}"));
    }
}

ult::seam! {
    /// Is a line about this written? Whatever it is about.
    fn is_written(about: About) -> bool {
        true
    } or lock_misuse_not_reported {
        !matches!(about, About::SetTwice | About::Unset | About::Destroyed)
    } or sync_point_not_reported {
        about != About::SyncPoint
    } or event_not_reported {
        about != About::Event
    } or standstill_not_reported {
        about != About::Standstill
    }
}

/// [`report`], of one place.
pub fn report_at(about: About, place: CodePosition, what: impl fmt::Display) {
    report(about, place.address, place.address, what);
}

/// A task, for people and for comparison; it may have ended.
#[derive(Clone, Copy, Debug)]
pub struct Participant {
    task: usize,
    thread: u32,
    is_explicit: bool,
}

impl Participant {
    /// The running task. Makes the caller an initial thread where it has not met OpenMP.
    pub fn me() -> Self {
        let here = CurrentThread::get();
        Self {
            task: Self::number(here.task),
            thread: here.thread.num(),
            is_explicit: here.task.is_explicit(),
        }
    }

    /// What [`Participant::is`] compares.
    pub fn number(task: &Task) -> usize {
        core::ptr::from_ref(task).addr()
    }

    /// The same task? Or a later one in its place: then no task is left that could unset the locks
    /// of the earlier one.
    pub fn is(&self, other: &Self) -> bool {
        self.task == other.task
    }

    /// Its number.
    pub fn task(&self) -> usize {
        self.task
    }
}

impl fmt::Display for Participant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.is_explicit { "a task of " } else { "" };
        if self.thread == UNASSIGNED {
            write!(f, "{of}a free agent")
        } else {
            write!(f, "{of}thread {}", self.thread)
        }
    }
}
