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
//! If several of the program's kernel threads have teams at the same time, each of these teams runs
//! on as many workers as the number says.
//!
//! A member moves only if its team is not bound to places. Nothing is measured until a worker notices
//! that processors are short ([`ult::allotment::attention`]).
//!
//! What does not live here: the decision, and the move itself ([`ult::sched::relocate`]).

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ult::allotment::attention::{self, ALL_WORKERS, count_away};
use ult::allotment::{Allotment, QUANTUM_MICROS, QuantumMeter, active_worker, run_on, run_on_all};
use ult::sys::fork::ForkMutex;
use ult::sys::{arch, clock};
use ult::worker::Worker;

use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::{env, storage};

/// Quanta without a shortage after which measuring ends. Chosen: half a second; any value
/// from 20 to 200 will do.
const CALM_QUANTA: u32 = 50;
/// Quanta after which measuring ends if none of them had a shortage. Chosen: one more than the two
/// short quanta in a row that begin a trial; any value from 2 to 5 will do.
const FIRST_CALM_QUANTA: u32 = 3;
/// After so many quanta with smaller teams only, the largest of these counts as the largest team.
/// Chosen: a fifth of a second; any value from 5 to 100 will do.
const SMALLER_QUANTA: u32 = 20;
/// If a quantum ends later than this after it was due, in microseconds, measuring begins anew.
/// Chosen: a hundred quanta; any value from 0.1 s to 10 s will do.
const STALE_MICROS: u64 = 1_000_000;

/// More ticks than this are never left of a quantum. Derived: a second at least, at four ticks or fewer
/// in a nanosecond.
const MOST_TICKS_LEFT: u64 = 1 << 32;

/// What is measured. One thread at a time measures.
static MEASURED: ForkMutex<Option<MeasuredProcess>> = ForkMutex::new(None);
/// When the quantum is to end, in microseconds; 0 if none has begun.
static DUE: AtomicU64 = AtomicU64::new(0);
/// About the same time by the tick counter, which takes less time to read than the clock; 0 if it is
/// not known.
static DUE_TICKS: AtomicU64 = AtomicU64::new(0);
/// The largest result of [`workers_of`] in the quantum.
static MOST_WORKERS_WANTED: AtomicU32 = AtomicU32::new(0);

struct MeasuredProcess {
    allotment: Allotment,
    meter: QuantumMeter,
    /// Quanta in a row without a shortage, and whether there was one with a shortage.
    calm: u32,
    was_short: bool,
    /// Quanta in a row with smaller teams only, and the size of the largest of these teams.
    smaller: u32,
    largest_smaller: u32,
    /// How many teams count ([`Self::teams_after`]), and the quanta in a row that had fewer.
    teams: u32,
    quanta_with_fewer: u32,
}

/// `thread` is about to wait at a barrier.
#[inline]
pub fn before_wait(thread: OwnThread) {
    if attention::needs_attention() {
        attend(thread);
    }
}

/// Is there something for [`before_wait`] to do again: has the quantum ended, or has the number of
/// running workers changed since `thread` last called it? Asked between two tasks at a barrier.
#[inline]
pub fn must_measure_or_move(thread: OwnThread) -> bool {
    attention::needs_attention() && must_measure_or_move_cold(thread)
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
    if attention::needs_attention() {
        let noted = thread.own().binding.primary_worker.get();
        let primary = noted.filter(|(epoch, _)| *epoch == thread.seen_epoch.get());
        follow(thread, ALL_WORKERS, primary.map(|(_, primary)| primary));
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
    if team.is_lost() {
        return; // no other worker of the team exists
    }
    let workers = workers_of(team);
    if let Some(workers) = workers {
        measure(workers);
    }
    if thread.num() != 0 {
        follow(thread, workers.unwrap_or(ALL_WORKERS), primary_of_movable(team));
    }
}

#[cold]
fn must_measure_or_move_cold(thread: OwnThread) -> bool {
    let team = thread.team();
    if team.is_lost() {
        return false;
    }
    is_quantum_over() && workers_of(team).is_some()
        || thread.own().binding.running_workers_seen.get() != attention::running()
            && thread.num() != 0
            && primary_of_movable(team).is_some()
}

/// On how many workers the team runs if none is withdrawn; for a team of ULTs, the number of workers
/// that the settings give. `None` if nothing is measured for the team.
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
    if MOST_WORKERS_WANTED.load(Ordering::Relaxed) < workers {
        MOST_WORKERS_WANTED.fetch_max(workers, Ordering::Relaxed);
    }
    if !is_quantum_over() {
        return;
    }
    // ORDERING: as above.
    let (now, due) = (clock::micros(), DUE.load(Ordering::Relaxed));
    // ORDERING: as above.
    let mine = now >= due
        && DUE.compare_exchange(due, now + STALE_MICROS, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if !mine {
        return;
    }
    let next = MEASURED.try_lock().map_or(now + QUANTUM_MICROS, |mut measured| {
        // ORDERING: as above.
        let largest = MOST_WORKERS_WANTED.swap(0, Ordering::Relaxed).max(workers);
        end_quantum(&mut measured, largest, now > due + STALE_MICROS)
    });
    // If this thread held the lock, it has released it, so the thread that measures next can take it.
    // ORDERING: as above.
    DUE.store(next, Ordering::Relaxed);
}

/// Is the quantum over? Each wait at a barrier calls this. So it reads the tick counter first, and the
/// clock only if no ticks are left. After a virtual machine has moved to another computer, the counter
/// may differ. If more than [`MOST_TICKS_LEFT`] are left, the clock decides.
fn is_quantum_over() -> bool {
    // ORDERING: Relaxed; see `measure`.
    let left = DUE_TICKS.load(Ordering::Relaxed).wrapping_sub(arch::ticks());
    // ORDERING: as above.
    !(1..MOST_TICKS_LEFT).contains(&left) && clock::micros() >= DUE.load(Ordering::Relaxed)
}

/// Ends the quantum, or begins to measure if nothing was measured. Returns when the next one ends.
fn end_quantum(measured: &mut Option<MeasuredProcess>, largest: u32, is_stale: bool) -> u64 {
    let calm = match measured.as_mut().filter(|_| !is_stale) {
        Some(process) => process.end_quantum(largest),
        None => {
            run_on_all();
            *measured = Some(MeasuredProcess::new(largest));
            false
        }
    };
    attention::note_quantum();
    if calm && attention::away() == 0 {
        let was_short = measured.take().is_some_and(|process| process.was_short);
        attention::end_attention(was_short);
    }
    // ORDERING: Relaxed; a measurement.
    DUE_TICKS.store(measured.as_ref().map_or(0, |process| process.meter.due_ticks()), Ordering::Relaxed);
    measured.as_ref().map_or(0, |process| process.meter.due())
}

impl MeasuredProcess {
    fn new(largest: u32) -> Self {
        attention::set_total_workers(largest);
        let seed = u64::from(std::process::id()) << 8 | u64::from(largest);
        let (allotment, meter) = (Allotment::new(largest, seed), QuantumMeter::begin());
        Self {
            allotment,
            meter,
            calm: 0,
            was_short: false,
            smaller: 0,
            largest_smaller: 0,
            teams: 1,
            quanta_with_fewer: 0,
        }
    }

    /// Ends a quantum in which the largest team had `largest` threads. True after a time without a
    /// shortage.
    fn end_quantum(&mut self, largest: u32) -> bool {
        let mut sample = self.meter.end_quantum();
        sample.teams = self.teams_after(sample.teams);
        attention::add_time_with_fewer_workers(sample.wall);
        match self.new_most(sample.most_workers_of_team(largest)) {
            Some(most) => {
                self.allotment.resize(most);
                attention::set_total_workers(most);
            }
            None => _ = self.allotment.decide(sample),
        }
        let running = self.allotment.running();
        if running == self.allotment.most() {
            run_on_all();
        } else if prepare_to_share() {
            run_on(running, sample.teams);
        } else {
            run_on_all();
            *self = Self::new(largest);
        }
        let is_calm = self.allotment.is_calm();
        self.was_short |= !is_calm;
        self.calm = if is_calm { self.calm + 1 } else { 0 };
        self.calm >= if self.was_short { CALM_QUANTA } else { FIRST_CALM_QUANTA }
    }

    /// How many teams count after a quantum with `teams` of them. A kernel thread of the program that
    /// pauses for fewer than [`SMALLER_QUANTA`] quanta still counts.
    fn teams_after(&mut self, teams: u32) -> u32 {
        self.quanta_with_fewer = if teams < self.teams { self.quanta_with_fewer + 1 } else { 0 };
        if teams > self.teams || self.quanta_with_fewer == SMALLER_QUANTA {
            (self.teams, self.quanta_with_fewer) = (teams, 0);
        }
        self.teams
    }

    /// The number of all workers from here on, if it changes. `largest` is the most workers that a
    /// team of the quantum could have.
    fn new_most(&mut self, largest: u32) -> Option<u32> {
        let most = self.allotment.most();
        if largest == most {
            (self.smaller, self.largest_smaller) = (0, 0);
            return None;
        }
        (self.smaller, self.largest_smaller) = (self.smaller + 1, self.largest_smaller.max(largest));
        if largest < most && self.smaller < SMALLER_QUANTA {
            return None;
        }
        self.smaller = 0;
        Some(core::mem::take(&mut self.largest_smaller))
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
    // ORDERING: as above.
    DUE_TICKS.store(0, Ordering::Relaxed);
    // ORDERING: as above.
    MOST_WORKERS_WANTED.store(0, Ordering::Relaxed);
}

/// Moves the thread to the worker on which it is to run. `primary` is the worker of thread 0; `None` if
/// the thread is to be on its assigned worker. The team runs on at most `team_limit` workers.
fn follow(thread: OwnThread, team_limit: u32, primary: Option<&'static Worker>) {
    let running = attention::running();
    let seen_before = thread.own().binding.running_workers_seen.replace(running);
    let Some(host) = thread.host() else { return };
    let stays = seen_before == running && !host.is_withdrawn();
    let target = match (thread.home(), primary) {
        // An isolated worker is for its thread alone.
        (Some(home), Some(primary)) if home.is_withdrawn() && home.is_shared() => {
            if stays {
                return;
            }
            active_worker(thread.num(), team_limit, primary)
        }
        (Some(home), _) => home,
        (None, Some(primary)) if !stays => active_worker(thread.num(), team_limit, primary),
        (None, _) => return,
    };
    if ptr::eq(target, host) {
        return;
    }
    // Counted before the move: `relocate` returns only when the target runs the thread.
    let is_home = |worker: &Worker| thread.home().is_none_or(|home| ptr::eq(worker, home));
    count_away(is_home(host), is_home(target));
    if ult::sched::relocate(thread.home(), target) {
        thread.note_host(target);
    } else {
        count_away(is_home(target), is_home(host));
    }
}

/// The thread, which has an assigned worker, leaves its team: it is about to go home.
pub fn leaves_team(thread: OwnThread) {
    if let (Some(home), Some(host)) = (thread.home(), thread.host()) {
        count_away(ptr::eq(host, home), true);
    }
}
