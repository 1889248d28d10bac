//! Locks, `critical`, `atomic` by a lock, `ordered`, and `flush`. A mutex is known by its address.

use super::super::event::EventSite;
use super::super::{Consumer, is_on, notify, record};
use super::{ProgramCall, put_state, site, state};
use omp::extension::side::BeginToken;
use omp::extension::tools::kinds::{ToolEndpoint, ToolMutex};
use omp::thread::CurrentThread;

/// A wish for a mutex that was reported.
#[derive(Clone, Copy)]
struct MutexWanted {
    here: CurrentThread,
    call: ProgramCall,
    /// The thread's state before.
    state: record::ThreadState,
}

/// See [`Tools::mutex_wanted`](omp::extension::tools::Tools).
pub fn wanted(kind: ToolMutex, hint: u32, id: usize) -> BeginToken {
    let here = CurrentThread::get();
    let mut call = ProgramCall::begin(here);
    let (site, id) = (call.site(here), id as u64);
    notify(|consumer| consumer.mutex_acquire(&site, kind, hint, id));
    call.code = site.found_code();
    let state = put_state(&here.thread, state_of(kind), id);
    BeginToken::new(MutexWanted { here, call, state })
}

/// See [`Tools::mutex_answers`](omp::extension::tools::Tools).
pub fn answers(kind: ToolMutex, id: usize, count: u32, token: &BeginToken) {
    // SAFETY: `wanted` has made it.
    let MutexWanted { here, call, state } = unsafe { token.get() };
    let (site, id) = (call.site(here), id as u64);
    record::of_thread(&here.thread).state.set(state);
    match count {
        0 => {}
        1 => notify(|consumer| consumer.mutex_acquired(&site, kind, id)),
        _ => notify(|consumer| consumer.nest_lock(&site, ToolEndpoint::Begin, id)),
    }
    call.end(here);
}

fn state_of(kind: ToolMutex) -> u32 {
    match kind {
        ToolMutex::Critical => state::CRITICAL,
        ToolMutex::Atomic => state::ATOMIC,
        ToolMutex::Ordered => state::ORDERED,
        _ => state::LOCK,
    }
}

/// See [`Tools::mutex_released`](omp::extension::tools::Tools).
pub fn released(kind: ToolMutex, id: usize, left: u32) {
    notify_here(|consumer, site| match left {
        0 => consumer.mutex_released(site, kind, id as u64),
        _ => consumer.nest_lock(site, ToolEndpoint::End, id as u64),
    });
}

/// See [`Tools::lock_made`](omp::extension::tools::Tools).
pub fn made(kind: ToolMutex, hint: u32, id: usize) {
    CurrentThread::get(); // looks for a tool if no thread has
    if is_on() {
        notify_here(|consumer, site| consumer.lock_init(site, kind, hint, id as u64));
    }
}

/// See [`Tools::lock_destroyed`](omp::extension::tools::Tools).
pub fn destroyed(kind: ToolMutex, id: usize) {
    notify_here(|consumer, site| consumer.lock_destroy(site, kind, id as u64));
}

/// See [`Tools::flush`](omp::extension::tools::Tools).
pub fn flush() {
    notify_here(|consumer, site| consumer.flush(site));
}

fn notify_here(event: impl Fn(&dyn Consumer, &EventSite)) {
    let site = site(CurrentThread::get(), None);
    notify(|consumer| event(consumer, &site));
}
