//! Which task waits for what in this process, as far as `GANGWAY_CHECK` wants to know.
//!
//! One lock for all of it: it is taken when a function begins or ends and when a task begins or
//! ends to wait, and only under `GANGWAY_CHECK`. In the child of a fork nothing is noted.

use core::ptr;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::ranks::ranks;
use super::thing::Occurrence;
use omp::extension::check::AwaitedMessage;
use omp::task::Task;
use omp::thread::CurrentThread;

/// Code of the program that runs in a task of its own. It is one of these: a function that was
/// invoked or that an event has fired, a handler of an object, a procedure of a persistent task, a
/// target region for another rank.
#[derive(Clone, Debug)]
pub struct CodeActivity {
    /// Its address.
    pub function: usize,
    /// What it runs on, in words behind the name of the function; may be empty.
    pub of: String,
    /// What comes about by its end.
    pub gives: Vec<Occurrence>,
}

/// The target of a task's wait.
#[derive(Clone, Debug)]
pub enum CodeWaitTarget {
    /// `ompx_suspend_until`: what a library waits for.
    Library,
    /// `ompx_suspend_for`: a message, in a call of this name.
    Message(String, AwaitedMessage),
    /// `ompx_wait_until`.
    Condition,
    /// Something of the ranks'.
    OfRanks {
        /// None: the runtime does not know which code could bring it about.
        thing: Option<Occurrence>,
        /// What `describe` gets.
        name: [u64; 2],
        /// The words for it. Called at each look, by the thread that looks or in the middle of a
        /// message.
        describe: fn([u64; 2]) -> String,
    },
}

/// A wait.
#[derive(Clone, Debug)]
pub struct CodeWait {
    /// Never used again in this process.
    pub number: u64,
    /// Whose it is; `None`: `main`'s, or that of a thread of the program's own.
    pub whose: Option<CodeActivity>,
    /// It is the activity itself that waits, and not a task or thread that it has made.
    pub itself: bool,
    /// What for.
    pub what: CodeWaitTarget,
    /// The kernel thread that is held by it, 0 if none is.
    pub holds: i32,
}

#[derive(Default)]
struct CodeBook {
    last: u64,
    waits: BTreeMap<u64, CodeWait>,
    /// By the address of their tasks.
    activities: HashMap<usize, CodeActivity>,
}

static BOOK: Mutex<Option<CodeBook>> = Mutex::new(None);

fn with<R>(look: impl FnOnce(&mut CodeBook) -> R) -> R {
    let mut book: MutexGuard<'_, Option<CodeBook>> = BOOK.lock().unwrap_or_else(PoisonError::into_inner);
    look(book.get_or_insert_default())
}

/// Are waits of code noted? Not where this process has lost the ranks.
pub fn is_on() -> bool {
    super::is_on() && !ranks().are_lost()
}

/// Takes a note back when it is dropped.
pub struct CodeWaitNote(Note);

enum Note {
    Nothing,
    Wait(u64),
    Activity(usize),
}

impl Drop for CodeWaitNote {
    fn drop(&mut self) {
        match self.0 {
            Note::Nothing => {}
            Note::Wait(number) => is_over(number),
            Note::Activity(task) => {
                with(|book| book.activities.remove(&task));
            }
        }
    }
}

/// The calling task runs this until what is returned is dropped.
pub fn runs(activity: impl FnOnce() -> CodeActivity) -> CodeWaitNote {
    if !is_on() {
        return CodeWaitNote(Note::Nothing);
    }
    let task = ptr::from_ref(CurrentThread::get().task).addr();
    let activity = activity();
    with(|book| book.activities.insert(task, activity));
    CodeWaitNote(Note::Activity(task))
}

/// The calling task waits for this until what is returned is dropped; `held`: its kernel thread
/// does nothing else meanwhile.
pub fn waits(what: impl FnOnce() -> CodeWaitTarget, held: bool) -> CodeWaitNote {
    CodeWaitNote(begins(what, held).map_or(Note::Nothing, Note::Wait))
}

/// As [`waits`], until [`is_over`] with the number that this returns.
pub fn begins(what: impl FnOnce() -> CodeWaitTarget, held: bool) -> Option<u64> {
    if !is_on() {
        return None;
    }
    let what = what();
    super::rounds::begin_alone();
    let holds = if held { ult::sys::thread::number() } else { 0 };
    let task = CurrentThread::if_known().map(|here| here.task);
    Some(with(|book| {
        let (whose, itself) = book.whose(task);
        book.last += 1;
        book.waits.insert(book.last, CodeWait { number: book.last, whose, itself, what, holds });
        book.last
    }))
}

/// The wait of this number is over.
pub fn is_over(number: u64) {
    with(|book| book.waits.remove(&number));
}

impl CodeBook {
    /// The activity that a task is or descends from, and whether it is the task itself.
    fn whose(&self, task: Option<&Task>) -> (Option<CodeActivity>, bool) {
        let (mut at, mut itself) = (task, true);
        while let Some(task) = at {
            if let Some(activity) = self.activities.get(&ptr::from_ref(task).addr()) {
                return (Some(activity.clone()), itself);
            }
            (at, itself) = (task.parent(), false);
        }
        (None, false)
    }
}

/// All waits.
pub fn all() -> Vec<CodeWait> {
    with(|book| book.waits.values().cloned().collect())
}
