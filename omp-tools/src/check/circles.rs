//! Tasks of this process that wait for each other: by locks, by the mutexes of `mutexinoutset`, by
//! `taskwait` and the ends of taskgroups.
//!
//! What lives here: which of these waits there are, and what comes about by the end of each. What
//! may not: which of them never end ([`super::stuck`]).
//!
//! A wait of a task gives what the task has: its own end, the locks that it has set, the mutexes of
//! its sets. One that belongs to the implicit task of a region gives what the task has that has
//! forked the region, too. A task that stands in line for a mutex has not begun, and gives its end.
//!
//! Not seen: waiting in `critical`, `ordered` and barriers, in loops of the program's own, and for
//! events. Who runs an undeferred task gives nothing while that waits. So not all circles are
//! found; what is found is one.
//!
//! No mutex of a set can be in the way of a task's own children: sets are among siblings. So a task
//! waits for a sibling in the set by way of a third task. As a rule that is the generating task,
//! which waits for both and has a lock that one of them wants.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use super::locks::{self, HeldLock};
use super::place::{CodePosition, CodeSource};
use super::ranks::ranks;
use super::reports::Participant;
use super::thing::{Occurrence, RankNeed, RankWait};
use super::words;
use omp::task::Task;
use omp::thread::CurrentThread;

/// What a task waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// A lock, by address.
    Lock(usize),
    /// Its children.
    Children,
    /// The members of a taskgroup, by address.
    Group(usize),
    /// What a node of the graph of dependences needs: `taskwait depend`, or a task that is run at
    /// once.
    Node(usize),
}

/// A task that waits.
struct TaskWaitRecord {
    who: Participant,
    /// The task and, outwards, the tasks that wait for the region whose implicit task it is.
    chain: Vec<usize>,
    parent: usize,
    group: usize,
    place: CodePosition,
    what: For,
}

/// A task, or a wait, with mutexes to acquire.
struct Member {
    /// Where it was made.
    place: CodePosition,
    /// The task, or who waits.
    task: usize,
    parent: usize,
    group: usize,
    /// Is it a task of its own?
    is_task: bool,
    /// The mutex for which it stands in line, 0 for none.
    lacks: usize,
    has: Vec<usize>,
}

#[derive(Default)]
struct TaskBook {
    last: u64,
    waits: BTreeMap<u64, TaskWaitRecord>,
    /// By the address of their nodes.
    members: HashMap<usize, Member>,
}

static BOOK: Mutex<Option<TaskBook>> = Mutex::new(None);

fn with<R>(look: impl FnOnce(&mut TaskBook) -> R) -> R {
    look(BOOK.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

fn address<T>(of: *const T) -> usize {
    of.addr()
}

/// The wait of this number is over.
pub fn is_over(number: u64) {
    with(|book| book.waits.remove(&number));
}

/// The running task waits for that, until [`is_over`] with the number that this returns.
pub fn begins(what: For) -> Option<u64> {
    if !super::is_noted() {
        return None;
    }
    // A task that waits for a lock of its own has been reported already.
    if matches!(what, For::Lock(lock) if locks::is_mine(lock)) {
        return None;
    }
    super::rounds::begin_alone();
    let task = CurrentThread::get().task;
    let waiting = TaskWaitRecord {
        who: Participant::me(),
        chain: chain(task),
        parent: task.parent().map_or(0, |parent| address(parent)),
        group: task.member_of().map_or(0, |group| address(group)),
        place: CodePosition::of_caller(CodeSource::NONE),
        what,
    };
    Some(with(|book| {
        book.last += 1;
        book.waits.insert(book.last, waiting);
        book.last
    }))
}

/// The task, and those that wait for the region whose implicit task it is.
fn chain(task: &Task) -> Vec<usize> {
    fn outer<'a>(task: &&'a Task) -> Option<&'a Task> {
        if task.is_explicit() { None } else { task.parent() }
    }
    core::iter::successors(Some(task), outer).map(|task| address(task)).collect()
}

// ---- mutexes of sets --------------------------------------------------------

/// The running task makes a node that has to acquire mutexes: for `task`, or, where there is none,
/// to wait itself.
pub fn joins_sets(node: usize, task: Option<&Task>) {
    if !super::is_noted() {
        return;
    }
    let (is_task, it) = (task.is_some(), task.unwrap_or(CurrentThread::get().task));
    let member = Member {
        place: CodePosition::of_caller(CodeSource::NONE),
        task: address(it),
        parent: it.parent().map_or(0, |parent| address(parent)),
        group: it.member_of().map_or(0, |group| address(group)),
        is_task,
        lacks: 0,
        has: Vec::new(),
    };
    with(|book| book.members.insert(node, member));
}

/// The node has acquired the mutex, or (not `has`) stands in line for it.
pub fn reaches(node: usize, mutex: usize, has: bool) {
    if super::is_noted() {
        with(|book| {
            if let Some(member) = book.members.get_mut(&node) {
                member.lacks = if has { 0 } else { mutex };
                member.has.extend(has.then_some(mutex));
            }
        });
    }
}

/// The node gives its mutexes back.
pub fn leaves_sets(node: usize) {
    if super::is_noted() {
        with(|book| book.members.remove(&node));
    }
}

// ---- what others hear of it -------------------------------------------------

/// Numbers of these waits have this bit, those of tasks that have not begun come of their nodes.
const MARK: u64 = 1 << 62;

ult::seam! {
    /// All waits of this rank, in the form that ranks send each other.
    pub fn all() -> Vec<RankWait> {
        let locks = locks::all();
        let rank = ranks().number();
        with(|book| {
            let teller = WaitDescriber { book, locks: &locks, rank };
            let running = book.waits.iter().map(|(&number, waiting)| teller.running(number, waiting));
            let lined_up = book.members.iter().filter(|(_, member)| member.is_task && member.lacks != 0);
            running.chain(lined_up.map(|(&node, member)| teller.lined_up(node, member))).collect()
        })
    } or circle_not_reported {
        Vec::new()
    }
}

struct WaitDescriber<'a> {
    book: &'a TaskBook,
    locks: &'a [HeldLock],
    rank: u32,
}

impl WaitDescriber<'_> {
    fn running(&self, number: u64, waiting: &TaskWaitRecord) -> RankWait {
        let what = match waiting.what {
            For::Lock(_) => "in omp_set_lock",
            For::Children => "in a taskwait",
            For::Group(_) => "at the end of a taskgroup",
            For::Node(_) => "before a task that is run at once, or in taskwait depend,",
        };
        let made =
            self.made(waiting.who.task()).map_or_else(String::new, |place| format!(", made at {place},"));
        let who = format!("{}{made} {what} at {}", waiting.who, waiting.place);
        RankWait {
            number: number | MARK,
            is_code: false,
            gives: self.gives(&waiting.chain),
            needs: self.needs(waiting),
            who: fit(who),
        }
    }

    fn lined_up(&self, node: usize, member: &Member) -> RankWait {
        let who = format!("the task made at {}", member.place);
        let number = words::number(Occurrence::Task(self.rank, node as u64));
        RankWait {
            number,
            is_code: false,
            gives: vec![self.end(member.task)],
            needs: vec![self.mutex(member.lacks)],
            who: fit(who),
        }
    }

    fn end(&self, task: usize) -> Occurrence {
        Occurrence::Task(self.rank, task as u64)
    }

    /// Where a member of a set was made.
    fn made(&self, task: usize) -> Option<CodePosition> {
        self.book
            .members
            .values()
            .find(|member| member.is_task && member.task == task)
            .map(|member| member.place)
    }

    /// What comes about when these tasks have ended, or some time before.
    fn gives(&self, tasks: &[usize]) -> Vec<Occurrence> {
        let held = self
            .locks
            .iter()
            .filter(|held| tasks.contains(&held.holder.who.task()))
            .map(|held| Occurrence::Lock(self.rank, held.lock as u64));
        let members = self.book.members.values().filter(|member| tasks.contains(&member.task));
        let sets =
            members.flat_map(|member| &member.has).map(|&mutex| Occurrence::Set(self.rank, mutex as u64));
        tasks.iter().map(|&task| self.end(task)).chain(held).chain(sets).collect()
    }

    fn needs(&self, waiting: &TaskWaitRecord) -> Vec<RankNeed> {
        match waiting.what {
            For::Lock(lock) => vec![self.lock(lock)],
            For::Node(node) => self
                .book
                .members
                .get(&node)
                .filter(|member| member.lacks != 0)
                .map(|member| self.mutex(member.lacks))
                .into_iter()
                .collect(),
            For::Children => self.ends(|parent, _| parent == waiting.who.task()),
            For::Group(group) => self.ends(|_, of| of == group),
        }
    }

    /// The ends of those tasks that wait themselves: of the others nothing is known.
    fn ends(&self, is_needed: impl Fn(usize, usize) -> bool) -> Vec<RankNeed> {
        let running = self
            .book
            .waits
            .values()
            .filter(|other| is_needed(other.parent, other.group))
            .map(|other| (other.who.task(), other.place, "waits"));
        let lined_up =
            self.book.members.values().filter(|member| {
                member.is_task && member.lacks != 0 && is_needed(member.parent, member.group)
            });
        let all = running.chain(lined_up.map(|member| (member.task, member.place, "was made")));
        all.map(|(task, place, verb)| RankNeed {
            thing: Some(self.end(task)),
            what: fit(format!("the task that {verb} at {place}")),
        })
        .collect()
    }

    fn lock(&self, lock: usize) -> RankNeed {
        let holder = self.locks.iter().find(|held| held.lock == lock).map(|held| &held.holder);
        let what = holder.map_or_else(
            || "a lock".to_owned(),
            |holder| format!("the lock that {} has set at {}", holder.who, holder.place),
        );
        RankNeed { thing: Some(Occurrence::Lock(self.rank, lock as u64)), what: fit(what) }
    }

    fn mutex(&self, mutex: usize) -> RankNeed {
        let holder = self.book.members.values().find(|member| member.has.contains(&mutex));
        let what = holder.map_or_else(
            || "a mutexinoutset".to_owned(),
            |holder| format!("the mutexinoutset that the task made at {} has", holder.place),
        );
        RankNeed { thing: Some(Occurrence::Set(self.rank, mutex as u64)), what: fit(what) }
    }
}

/// Other ranks hear no more than so much of it.
fn fit(text: String) -> String {
    if ranks().are_together() { words::cut(text) } else { text }
}
