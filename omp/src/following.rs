//! On how many workers an outermost team runs: the number follows the processors that the program
//! gets.
//!
//! A member that waits at a barrier, or the thread that forks, measures a quantum, and asks
//! [`ult::allotment`] how many workers are to run. Each member but thread 0 moves at its next
//! barrier, or when it waits for its next region: member *n* of a team on *r* workers runs on the
//! worker of member *n* modulo *r*. It goes back when there are processors enough.
//!
//! The number is one for the process. If regions of several sizes follow each other, the workers of
//! the largest team are all workers, and smaller teams move only if they have more members than
//! workers are to run.
//!
//! A member moves only if it has an assigned worker, its team is not bound to places, and the process
//! has one initial thread. While no worker is kept waiting, nothing is measured.
//!
//! What does not live here: the decision, and the move itself ([`ult::sched::relocate`]).

use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ult::allotment::attention::{self, ALL_WORKERS, count_away};
use ult::allotment::{Allotment, QuantumMeter};
use ult::sys::clock;
use ult::sys::fork::ForkMutex;
use ult::worker::Worker;

use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::{root, storage};

/// Quanta without a shortage after which measuring ends. Chosen: half a second; any value
/// from 20 to 200 will do.
const CALM_QUANTA: u32 = 50;
/// Quanta without a team of the largest size after which the largest one of now counts. Chosen: a
/// fifth of a second; any value from 5 to 100 will do.
const SMALLER_QUANTA: u32 = 20;
/// If a quantum ends so many microseconds late, nobody has measured meanwhile, and measuring begins
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

/// A region with this team begins.
#[inline]
pub fn at_fork(team: &Team) {
    if attention::needs_attention() && primary_of_movable(team).is_some() {
        measure(team.size());
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
        follow(thread, thread.team(), primary);
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
    if let Some(primary) = primary_of_movable(team) {
        measure(team.size());
        if thread.num() != 0 {
            follow(thread, team, primary);
        }
    }
}

/// The worker of thread 0, if members of the team may move.
fn primary_of_movable(team: &Team) -> Option<&'static Worker> {
    let plan = team.plan();
    let may_move = team.kind == TeamKind::AssignedWorkers
        && team.size() > 1
        && plan.nesting.active_around <= 1
        && plan.binding.places.is_none()
        && storage::may_share()
        && !storage::are_kept_apart();
    plan.origin.root_worker.filter(|_| may_move)
}

/// A team of `size` threads is running: ends the quantum if it has lasted long enough.
fn measure(size: u32) {
    if root::count() != 1 {
        return attention::set_running(ALL_WORKERS);
    }
    // ORDERING: Relaxed, all; measurements. The lock orders what is decided.
    if LARGEST.load(Ordering::Relaxed) < size {
        LARGEST.fetch_max(size, Ordering::Relaxed);
    }
    let now = clock::micros();
    // ORDERING: as above.
    if now < DUE.load(Ordering::Relaxed) {
        return;
    }
    let Some(mut measured) = MEASURED.try_lock() else { return };
    // ORDERING: as above.
    let is_stale = now > DUE.load(Ordering::Relaxed) + STALE_MICROS;
    let largest = LARGEST.swap(0, Ordering::Relaxed).max(size);
    let calm = match measured.as_mut().filter(|_| !is_stale) {
        Some(process) => process.end_quantum(largest),
        None => {
            attention::set_running(ALL_WORKERS);
            *measured = Some(MeasuredProcess::new(largest));
            false
        }
    };
    attention::note_quantum();
    if calm && attention::away() == 0 {
        *measured = None;
        attention::end_attention();
    }
    // ORDERING: as above.
    DUE.store(measured.as_ref().map_or(0, |process| process.meter.due()), Ordering::Relaxed);
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
        attention::set_running(if all_run { ALL_WORKERS } else { running });
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

/// Moves the thread to the worker on which it is to run. `primary` is the worker of thread 0.
fn follow(thread: OwnThread, team: &Team, primary: &'static Worker) {
    let (num, running) = (thread.num(), attention::running());
    let (Some(home), Some(host)) = (thread.home_or_host(), thread.host()) else { return };
    let target = match num % running {
        // An isolated worker is for its thread alone.
        _ if num < running || !home.is_shared() => home,
        0 => primary,
        on => match team.thread(on).and_then(|member| member.home_or_host()) {
            Some(worker) => worker,
            None => return,
        },
    };
    if !ptr::eq(target, host) && ult::sched::relocate(home, target) {
        thread.note_host(target);
        count_away(ptr::eq(host, home), ptr::eq(target, home));
    }
}

/// The thread, which has an assigned worker, leaves its team: it is about to go home.
pub fn leaves_team(thread: OwnThread) {
    if let (Some(home), Some(host)) = (thread.home(), thread.host()) {
        count_away(ptr::eq(host, home), true);
    }
}
