//! On how many workers an outermost team runs: the number follows the processors that the program
//! gets.
//!
//! A member that waits at a barrier, or the thread that forks, measures a quantum, and asks
//! [`ult::allotment`] how many workers are to run. The other workers are withdrawn. Each member whose
//! assigned worker is withdrawn moves to an active one: at its next barrier, or when it waits for its
//! next region. A member that runs tasks while it waits at a barrier may move between two of them. It
//! goes back when its worker is active again. Threads of teams of ULTs start on active workers only;
//! those of outermost teams also move at a barrier.
//!
//! The number is one for the process. If regions of several sizes follow each other, the workers of
//! the largest team are all workers, and smaller teams move only if they have more members than
//! workers are to run.
//!
//! A member moves only if its team is not bound to places, and the process has one initial thread.
//! While no worker is kept waiting, nothing is measured.
//!
//! What does not live here: the decision, and the move itself ([`ult::sched::relocate`]).

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ult::allotment::attention::{self, ALL_WORKERS, count_away};
use ult::allotment::{Allotment, QUANTUM_MICROS, QuantumMeter, active, run_on};
use ult::sys::clock;
use ult::sys::fork::ForkMutex;
use ult::worker::Worker;

use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::{env, root, storage};

/// Quanta without a shortage after which measuring ends. Chosen: half a second; any value
/// from 20 to 200 will do.
const CALM_QUANTA: u32 = 50;
/// Quanta without a team of the largest size after which the largest one of now counts. Chosen: a
/// fifth of a second; any value from 5 to 100 will do.
const SMALLER_QUANTA: u32 = 20;
/// If a quantum ends so many microseconds late, no thread has measured meanwhile, and measuring begins
/// anew. Chosen: a hundred quanta; any value from 0.1 s to 10 s will do.
const STALE_MICROS: u64 = 1_000_000;

/// What is measured. One thread at a time measures.
static MEASURED: ForkMutex<Option<MeasuredProcess>> = ForkMutex::new(None);
/// When the quantum is to end, in microseconds; 0 if none has begun.
static DUE: AtomicU64 = AtomicU64::new(0);
/// The size of the largest team that was seen in the quantum.
static LARGEST: AtomicU32 = AtomicU32::new(0);

struct MeasuredProcess {
    allotment: Allotment,
    meter: QuantumMeter,
    /// Quanta in a row without a shortage.
    calm: u32,
    /// Quanta in a row without a team of the largest size.
    smaller: u32,
}

/// `thread` is about to wait at a barrier.
#[inline]
pub fn before_wait(thread: OwnThread) {
    if attention::needs_attention() {
        attend(thread);
    }
}

/// Is `thread`, which waits at a barrier, to call [`before_wait`] again? Between two tasks it may
/// measure, and move. True until it has done so.
#[inline]
pub fn is_due(thread: OwnThread) -> bool {
    attention::needs_attention() && is_due_cold(thread)
}

/// A region with this team begins.
#[inline]
pub fn at_fork(team: &Team) {
    if attention::needs_attention() {
        if let Some(workers) = workers_of(team) {
            measure(workers);
        }
        if team.kind == TeamKind::Ults && ult::stall::is_known_spinner(team.plan().body.function as usize) {
            attention::note_spinning_gang();
        }
    }
}

/// The thread is about to wait for its next region. The forking thread may be changing the team's
/// plan, so the plan is not read.
#[inline]
pub fn between_regions(thread: OwnThread) {
    if attention::needs_attention()
        && let Some((epoch, primary)) = thread.own().binding.primary_worker.get()
        && epoch == thread.seen_epoch.get()
    {
        follow(thread, ALL_WORKERS, primary);
    }
}

/// A region begins for the thread, which has an assigned worker.
#[inline]
pub fn region_begins(thread: OwnThread) {
    if attention::needs_attention() {
        let primary = primary_of_movable(thread.team());
        thread.own().binding.primary_worker.set(primary.map(|worker| (thread.seen_epoch.get(), worker)));
    }
}

#[cold]
fn attend(thread: OwnThread) {
    let team = thread.team();
    let Some(workers) = workers_of(team) else { return };
    measure(workers);
    if thread.num() != 0
        && let Some(primary) = primary_of_movable(team)
    {
        follow(thread, workers, primary);
    }
}

#[cold]
fn is_due_cold(thread: OwnThread) -> bool {
    let team = thread.team();
    // ORDERING: Relaxed; see `measure`.
    workers_of(team).is_some() && clock::micros() >= DUE.load(Ordering::Relaxed)
        || thread.own().binding.followed.get() != attention::running()
            && thread.num() != 0
            && primary_of_movable(team).is_some()
}

/// On how many workers the team runs if all of them run; `None` if nothing is measured for it.
fn workers_of(team: &Team) -> Option<u32> {
    match team.kind {
        TeamKind::AssignedWorkers => primary_of_movable(team).map(|_| team.size()),
        TeamKind::Ults if team.plan().binding.places.is_none() && storage::may_share() => {
            Some(env::settings().scheduling.workers)
        }
        _ => None,
    }
}

/// The worker of thread 0, if members of the team may move.
fn primary_of_movable(team: &Team) -> Option<&'static Worker> {
    let plan = team.plan();
    let may_move = matches!(team.kind, TeamKind::AssignedWorkers | TeamKind::Ults)
        && team.size() > 1
        && plan.nesting.active_around <= 1
        && plan.binding.places.is_none()
        && storage::may_share()
        && !storage::are_kept_apart();
    plan.origin.root_worker.filter(|_| may_move)
}

/// A team is running that has so many workers: ends the quantum if it has lasted long enough.
fn measure(workers: u32) {
    // ORDERING: Relaxed, all; measurements. The exchange of `DUE` gives the quantum to one thread,
    // and the lock orders what is decided.
    if LARGEST.load(Ordering::Relaxed) < workers {
        LARGEST.fetch_max(workers, Ordering::Relaxed);
    }
    let (now, due) = (clock::micros(), DUE.load(Ordering::Relaxed));
    // ORDERING: as above.
    let mine = now >= due
        && DUE.compare_exchange(due, now + STALE_MICROS, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if !mine {
        return;
    }
    let Some(mut measured) = MEASURED.try_lock() else { return };
    // ORDERING: as above.
    let largest = LARGEST.swap(0, Ordering::Relaxed).max(workers);
    let next = if root::count() == 1 {
        end_quantum(&mut measured, largest, now > due + STALE_MICROS)
    } else {
        run_on(ALL_WORKERS);
        now + QUANTUM_MICROS
    };
    // ORDERING: as above.
    DUE.store(next, Ordering::Relaxed);
}

/// Ends the quantum, or begins to measure if nothing was measured. Returns when the next one ends.
fn end_quantum(measured: &mut Option<MeasuredProcess>, largest: u32, is_stale: bool) -> u64 {
    let calm = match measured.as_mut().filter(|_| !is_stale) {
        Some(process) => process.end_quantum(largest),
        None => {
            run_on(ALL_WORKERS);
            *measured = Some(MeasuredProcess::new(largest));
            false
        }
    };
    attention::note_quantum();
    if calm && attention::away() == 0 {
        *measured = None;
        attention::end_attention();
    }
    measured.as_ref().map_or(0, |process| process.meter.due())
}

impl MeasuredProcess {
    fn new(largest: u32) -> Self {
        let seed = u64::from(std::process::id()) << 8 | u64::from(largest);
        let (allotment, meter) = (Allotment::new(largest, seed), QuantumMeter::begin());
        Self { allotment, meter, calm: 0, smaller: 0 }
    }

    /// Ends a quantum in which the largest team had `largest` threads. True after a time without a
    /// shortage.
    fn end_quantum(&mut self, largest: u32) -> bool {
        self.smaller = if largest < self.allotment.most() { self.smaller + 1 } else { 0 };
        let sample = self.meter.end_quantum();
        if largest > self.allotment.most() || self.smaller > SMALLER_QUANTA {
            self.allotment.resize(largest);
        } else {
            self.allotment.decide(sample);
        }
        let running = self.allotment.running();
        let all_run = running == self.allotment.most() || !prepare_to_share();
        run_on(if all_run { ALL_WORKERS } else { running });
        self.calm = if self.allotment.is_calm() { self.calm + 1 } else { 0 };
        self.calm > CALM_QUANTA
    }
}

/// Called before threads share a worker. From then on signals reach the right thread, and the monitor
/// helps threads that wait behind code that spins or blocks. False if there is no monitor.
fn prepare_to_share() -> bool {
    ult::signals::take_over();
    let is_watched = ult::stall::start_if_needed();
    ult::stall::keep_up_with_objects();
    is_watched
}

/// In the child of a fork, whose teams are new.
///
/// # Safety
/// Before the child has a second thread.
pub unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { MEASURED.forget(None) };
    // ORDERING: Relaxed; single-threaded.
    DUE.store(0, Ordering::Relaxed);
}

/// Moves the thread to the worker on which it is to run. `primary` is the worker of thread 0. The team
/// runs on at most `most` workers.
fn follow(thread: OwnThread, most: u32, primary: &'static Worker) {
    let followed = thread.own().binding.followed.replace(attention::running());
    let Some(host) = thread.host() else { return };
    let elsewhere = || active(thread.num(), most, primary);
    let target = match thread.home() {
        // An isolated worker is for its thread alone.
        Some(home) if !home.is_withdrawn() || !home.is_shared() => home,
        None if followed == attention::running() => return,
        _ => elsewhere(),
    };
    if !ptr::eq(target, host) && ult::sched::relocate(thread.home(), target) {
        thread.note_host(target);
        if let Some(home) = thread.home() {
            count_away(ptr::eq(host, home), ptr::eq(target, home));
        }
    }
}

/// The thread, which has an assigned worker, leaves its team: it is about to go home.
pub fn leaves_team(thread: OwnThread) {
    if let (Some(home), Some(host)) = (thread.home(), thread.host()) {
        count_away(ptr::eq(host, home), true);
    }
}
