//! What the host's OpenMP tells the checks: [`Check`], implemented.
//!
//! What lives here: which room hears of which event. What may not: anything else.

use core::ffi::c_void;
use core::ptr::NonNull;

use ult::watch;

use super::circles::{self, For};
use super::place::CodeSource;
use super::ranks::Ranks;
use super::waits::CodeWaitTarget;
use super::{events, locks, ranks, standstills, sync_points, waits};
use omp::extension::CHECK_WATCHES;
use omp::extension::check::{BarrierKind, Check, WaitTarget};
use omp::outside;
use omp::task::Task;
use omp::team::Team;
use omp::thread::Thread;

/// The checks of `GANGWAY_CHECK`.
pub struct Checks {
    /// Whom they ask about the ranks of the program.
    pub ranks: &'static dyn Ranks,
}

/// Numbers of the waits of [`circles`] have this bit, those of [`waits`] do not.
const IN_CIRCLES: u64 = 1 << 63;

impl Check for Checks {
    fn begin(&self) {
        ranks::begin(self.ranks);
        watch::begin(CHECK_WATCHES);
        standstills::begin();
    }

    fn region_named(&self, function: *const (), location: *const c_void) {
        sync_points::keep_source(function.addr(), CodeSource::at(location));
    }

    fn barrier_reached(&self, thread: &Thread, kind: BarrierKind, location: *const c_void) {
        sync_points::look_at_barrier(thread, kind, CodeSource::at(location));
    }

    fn join_reached(&self, thread: &Thread) {
        sync_points::look_at_join(thread);
    }

    fn region_ended(&self, team: &Team) {
        sync_points::forget(team);
    }

    fn wait_begins(&self, what: WaitTarget) -> u64 {
        let what = match what {
            WaitTarget::Lock(lock) => For::Lock(lock),
            WaitTarget::Children => For::Children,
            WaitTarget::Group(group) => For::Group(group),
            WaitTarget::Node(node) => For::Node(node),
            WaitTarget::Library => return code_waits(CodeWaitTarget::Library),
            WaitTarget::Message(call, message) => {
                return code_waits(CodeWaitTarget::Message(call, message));
            }
            WaitTarget::Condition => return code_waits(CodeWaitTarget::Condition),
        };
        circles::begins(what).map_or(0, |number| number | IN_CIRCLES)
    }

    fn wait_ends(&self, number: u64) {
        if number & IN_CIRCLES == 0 {
            waits::is_over(number);
        } else {
            circles::is_over(number & !IN_CIRCLES);
        }
    }

    fn mutexes_wanted(&self, node: usize, task: Option<&Task>) {
        circles::joins_sets(node, task);
    }

    fn mutex_reached(&self, node: usize, mutex: usize, has: bool) {
        circles::reaches(node, mutex, has);
    }

    fn mutexes_released(&self, node: usize) {
        circles::leaves_sets(node);
    }

    fn event_made(&self, task: NonNull<Task>, location: *const c_void) {
        events::made(task, CodeSource::at(location));
    }

    fn event_fulfilled(&self, task: usize) {
        events::fulfilled(task);
    }

    fn lock_made(&self, lock: usize) {
        locks::made(lock);
    }

    fn lock_wanted(&self, lock: usize) {
        locks::wanted(lock);
    }

    fn lock_set(&self, lock: usize) {
        locks::set(lock);
    }

    fn lock_unset(&self, lock: usize) {
        locks::unset(lock);
    }

    fn nest_lock_unset(&self, lock: usize) {
        locks::unset_nest(lock);
    }

    fn lock_destroyed(&self, lock: usize, is_locked: bool, routine: &str) {
        locks::destroyed(lock, is_locked, routine);
    }
}

/// Code waits for something outside of OpenMP; its kernel thread does nothing else meanwhile, unless
/// it may suspend.
fn code_waits(what: CodeWaitTarget) -> u64 {
    waits::begins(|| what, !outside::may_suspend()).unwrap_or(0)
}
