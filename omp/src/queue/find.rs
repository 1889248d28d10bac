//! Tasks for the scheduler: what a thread starts while it waits.
//!
//! What does not live here: the search itself ([`super::search`]).

use ult::sched::{Job, SearchScope};

use super::push::push_foreign;
use super::search::find_task;
use crate::extension::offload;
use crate::task::life;
use crate::task::owned::OwnedTask;
use crate::thread::current::OwnThread;
use crate::thread::own::HelpedWait;

/// Finds a task that `thread`, which waits at a task scheduling point, may start. When that task
/// has ended, the thread may take further tasks for the same wait without a new call
/// ([`super::next_in_place`]). Each of them requires that `more` returns true. After
/// [`super::end_help`] the thread takes no more.
pub fn find(thread: OwnThread, scope: SearchScope, more: &dyn Fn() -> bool) -> Option<Job> {
    if has_its_fill(thread) {
        return None;
    }
    find_task(thread, scope).map(|task| begin(thread, task, more))
}

/// Makes a job of `task`, which `thread` has taken and may start while it waits. `more` has the
/// same meaning as in [`find`].
pub fn begin(thread: OwnThread, task: OwnedTask, more: &dyn Fn() -> bool) -> Job {
    // SAFETY: only the lifetime is erased; `end_help` forgets the pointer before the closure ends.
    let more = unsafe {
        core::mem::transmute::<*const (dyn Fn() -> bool + '_), *const (dyn Fn() -> bool + 'static)>(more)
    };
    let helped_wait = &thread.own().search.helped_wait;
    helped_wait.set(HelpedWait { number: helped_wait.get().number.wrapping_add(1), more: Some(more) });
    life::job(thread, task)
}

/// Returns true if `thread` is alone in its team and must start no task now. There are two such
/// cases:
///
/// * A task of the thread waits for a device, and the limit on such tasks is reached. The limit
///   counts the tasks of all teams. It does not bind a thread that has no task waiting for a
///   device. If it bound such a thread, too, a deadlock could follow: an operation in a device's
///   queue may wait for a task that only this thread can start.
/// * A target construct of the thread adds to the thread's copies of reduction items. These are
///   copied to the device and back. A task that started meanwhile could add to the same copies on
///   the host.
fn has_its_fill(thread: OwnThread) -> bool {
    if thread.team().size() != 1 {
        return false;
    }
    let own = thread.own();
    own.waits.reduces.get() != 0 || own.waits.at_devices.get() != 0 && !offload::has_room()
}

/// [`find`] for a member that has done its part of a region, and waits for the end of that region
/// or for the team's next one. `epoch` is the number of that region in this team. The member may
/// run tasks of that region only, because its thread number may not exist in the next one.
pub fn find_after(thread: OwnThread, scope: SearchScope, epoch: u64) -> Option<Job> {
    if thread.team().epoch() != epoch {
        return None; // the team runs another region, of which this thread may be no part
    }
    if scope == SearchScope::Peek {
        let is_any = thread.team().has_used_tasks() && thread.team().has_ready_tasks();
        return is_any.then_some(Job { run: no_job, data: core::ptr::null_mut() });
    }
    let task = find_task(thread, scope)?;
    // The forking thread stores the epoch of a region before a task of that region becomes visible.
    // So if `task` belongs to a newer region, this load does not return `epoch`.
    if thread.team().epoch() == epoch {
        return Some(life::late_job(thread, task));
    }
    push_foreign(thread.team(), task);
    None
}

unsafe fn no_job(_: *mut ()) {}
