//! Hand-off: what becomes of the contexts on a worker whose running code blocks in the kernel.
//!
//! The stall monitor finds that a worker sleeps in a system call that is not the runtime's while others wait behind it. A
//! spare kernel thread then *stands in*: it seizes the worker's gate, which is open while program code runs, moves all
//! strands but the running one to its own bench, and steals what is queued there. Contexts may move because each strand has an
//! identity of its own, and no two kernel threads wear one at the same time:
//!
//! * the running strand stays, with every older context of it;
//! * if contexts of the kernel thread's own strand move (the program's main stack, a resident thread), the kernel thread lends
//!   its own storage to them and idles under a borrowed identity until they come back ([`return_to`]): at the end of an
//!   outermost region, or of a resident thread. Until then they run under another kernel thread's number;
//! * what waits for no region never moves: the loop of an idle pool worker, and one that stands in itself.
//!
//! Who makes an adopted context ready wakes the worker that it sat on before. So one that stands in polls, every
//! [`super::look::HOLD_BACK`], until it has nothing left on its bench and the blocked worker moves again.
//!
//! Rejected: forwarding wake-ups from the blocked worker to its heir (a chain of pointers to follow at every wake-up, for a
//! rescue that happens once per region: code that was seen to block gets kernel threads of its own from its next fork on).

use core::ptr;
use core::sync::atomic::Ordering;

use super::bench::Waiting;
use super::runner::run_on_runner;
use super::{Job, Spin, Wait, enter_program};
use crate::identity::{self, Identity};
use crate::pool::{self, Assignment};
use crate::stall::Watched;
use crate::worker::{self, Role, Worker};

/// Stack of one that stands in; the contexts it adopts bring their own.
const STACK: usize = 256 << 10;

/// The running code of this worker blocks in the kernel, or cannot be interrupted, while others wait behind it: a spare kernel
/// thread takes them over. On any thread; does not wait. Without a kernel thread to spare nothing happens.
pub fn hand_off(watched: &'static Watched) {
    let blocked = Worker::of(watched);
    let mut spare = Vec::with_capacity(1);
    pool::acquire(1, &mut spare);
    if let Some(spare) = spare.pop() {
        let argument = ptr::from_ref(blocked).cast_mut().cast();
        pool::assign(spare, Assignment { entry: stand_in, argument, stack_size: STACK });
    }
}

/// What the spare kernel thread does.
unsafe fn stand_in(argument: *mut ()) {
    // SAFETY: `hand_off` passes a worker record, and those are never freed.
    let blocked: &'static Worker = unsafe { &*argument.cast() };
    let me = worker::register_current();
    me.stand_in(true);
    let turns = blocked.watched.turns();
    adopt(blocked, me);
    super::wait(&Wait {
        ready: &|| blocked.watched.turns() != turns && has_nothing_left(me),
        seek: None,
        sleepers: None,
        spin: Spin { micros: 50 },
        yields: false,
        finished: true,
    });
    me.stand_in(false);
}

/// Is the context that stands in alone on the worker, and nothing queued? It may be on the bench or not (the first look of a
/// wait comes before it sits down), and another one may be about to.
fn has_nothing_left(me: &'static Worker) -> bool {
    // SAFETY: own kernel thread: called by the scheduler of this worker.
    let own = unsafe { &*me.own() };
    let strand = ptr::from_ref(me) as usize;
    let alone = own.role.strand == strand && !own.bench.has(|entry| entry.role.strand != strand);
    alone && me.gang_deque.is_empty() && me.ults.is_empty()
}

/// Moves the suspended contexts of `blocked` to `me`, if it still runs program code.
fn adopt(blocked: &'static Worker, me: &'static Worker) {
    super::enter(me);
    if blocked.seize() {
        // SAFETY: the gate is ours, so the owner does not touch its part; we are the owner of the other.
        unsafe { adopt_seized(blocked, me) };
        blocked.let_go();
        blocked.publish_crowd();
    }
    enter_program();
}

/// # Safety
/// `blocked` is seized, `me` is the calling kernel thread's.
unsafe fn adopt_seized(blocked: &'static Worker, me: &'static Worker) {
    // SAFETY: as the caller says.
    let (theirs, mine) = unsafe { (&mut *blocked.own(), &mut *me.own()) };
    let running = theirs.role.strand;
    let own_strand = ptr::from_ref(blocked) as usize;
    let idles = |entry: &Waiting| !entry.role.is_of_a_region();
    let is_own = |entry: &Waiting| entry.role.strand == own_strand && !idles(entry);
    let moves_own = running != own_strand && theirs.bench.has(is_own) && lend(theirs);
    let may_move = |entry: &Waiting| match entry.role.strand {
        strand if strand == running => false,
        // Where identities ran out, strands share one.
        _ if same(entry.role.identity, theirs.role.identity) => false,
        strand if strand == own_strand => moves_own && !idles(entry),
        _ => true,
    };
    for entry in theirs.bench.take_all(may_move) {
        // Contexts of one strand move together; a ULT is counted with its oldest.
        let is_ult = entry.role.strand != own_strand && !mine.bench.has(|e| e.role.strand == entry.role.strand);
        blocked.count_hosted(-i32::from(is_ult));
        me.count_hosted(i32::from(is_ult));
        mine.bench.sit(entry);
    }
    blocked.set_suspended_to_none();
}

fn same(a: Option<&'static Identity>, b: Option<&'static Identity>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if ptr::eq(a, b))
}

/// Has the kernel thread idle under a borrowed identity, so that its own can be worn elsewhere. False if there is none.
fn lend(owner: &mut worker::Own) -> bool {
    let Some(own) = owner.native_identity else { return false };
    if owner.lent.is_some() {
        return true;
    }
    match identity::borrow() {
        Some(substitute) => {
            owner.lent = Some(own);
            owner.native_identity = Some(substitute);
            true
        }
        None => false,
    }
}

// ---- coming back ----------------------------------------------------------------------------------------------

/// Makes the calling context go on at `home`, the worker that it was adopted from. Nothing to do if it is there.
///
/// `home` must come to its scheduler by itself: the code that blocked there has ended, or will.
pub fn return_to(home: &'static Worker) {
    let me = worker::register_current();
    if ptr::eq(me, home) {
        return;
    }
    super::enter(me);
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *me.own() };
    let mut entry = Waiting::interrupted(own.current, own.role);
    let mut delivery = Delivery { home, entry: &raw mut entry };
    let job = Job { run: deliver, data: (&raw mut delivery).cast() };
    // SAFETY: the context is on no bench, so nobody but who takes `returning` resumes it; `entry` and `delivery` lie on
    // its stack, which stays until then. The job runs on another stack and under another identity.
    unsafe { run_on_runner(me, job, Role::none(me)) };
    enter_program();
}

struct Delivery {
    home: &'static Worker,
    entry: *mut Waiting,
}

unsafe fn deliver(data: *mut ()) {
    // SAFETY: `return_to` passes its own delivery, whose stack has been left.
    let (home, entry) = unsafe { ((*data.cast::<Delivery>()).home, (*data.cast::<Delivery>()).entry) };
    // ORDERING: Release, pairs with the Acquire in `take_returning`: the stack has been left.
    home.returning.store(entry, Ordering::Release);
    home.wake();
}

/// Is a context of this worker coming back?
#[inline]
pub(super) fn has_returning(worker: &Worker) -> bool {
    // ORDERING: Relaxed; taken with Acquire.
    !worker.returning.load(Ordering::Relaxed).is_null()
}

/// Takes it.
#[inline]
pub(super) fn take_returning(worker: &'static Worker) -> Option<Waiting> {
    if !has_returning(worker) {
        return None;
    }
    // ORDERING: Acquire, pairs with `deliver`.
    let entry = worker.returning.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    if let Some(lent) = own.lent.take() {
        // The substitute is still worn here, and given up with the next switch: it is not lent to anybody else again.
        own.native_identity = Some(lent);
    }
    // SAFETY: `deliver` stored a pointer to an entry on the returning context's stack.
    unsafe { entry.as_ref().copied() }
}
