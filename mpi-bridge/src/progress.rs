//! A thread that makes progress while all others compute, and how long a waiting thread looks
//! before it yields.
//!
//! MPI offers nothing to sleep on, so the thread looks, naps and looks again. It begins with looks
//! in a row and naps longer the longer nothing happens, about as long as nothing has happened, up
//! to `nap_us`. Each nap ends with a timer's interrupt and two switches, some 8 us of the core on
//! which workers compute, and 40 on virtual machines: 100 us at most took a tenth to a fifth of a
//! core there. While workers look themselves it does not look in a row, and its naps grow as if
//! nothing happened. It never holds up senders: they send themselves, unless the thread is inside
//! the gate, and then it sends for them.
//!
//! Rejected:
//! * Looks that yield the core in between: since Linux 6.18 a thread that yields to one that
//!   computes comes back at the end of its time slice. A rank bound to one core, or with a
//!   neighbour, then answered after 4 to 8 ms; a thread that sleeps is woken at once.
//! * A thread that spins: it takes a core from the workers, and with fewer cores than threads it
//!   delays all of them by time slices.
//! * Waking it from senders: nothing would be gained, as they send themselves.

use crate::bridge::Bridge;
use crate::table::code;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Looks without result before the first nap: some 3 us where all ranks share a machine, and 30
/// where MPI is looked at.
const LOOKS: u32 = 64;
const SHORTEST: Duration = Duration::from_micros(20);
/// Looks of other threads between two of the thread's own by which it knows that they look after
/// messages. Threads that compute send at times, and look then; threads that wait look at least as
/// often as the thread does.
const OTHERS: u64 = 4;
/// The longest nap of the thread for progress, microseconds: a rank whose workers all compute
/// answers within a millisecond.
const LONGEST_US: u32 = 500;

/// How a thread waits that has nothing else to do.
#[derive(Debug)]
pub(crate) struct PollPolicy {
    looks: u32,
    longest: Duration,
    nap: Duration,
}

impl Default for PollPolicy {
    fn default() -> Self {
        Self::new(50)
    }
}

impl PollPolicy {
    /// Naps of at most `longest` microseconds.
    pub(crate) fn new(longest: u32) -> Self {
        Self { looks: 0, longest: Duration::from_micros(u64::from(longest)), nap: SHORTEST }
    }

    /// After a look, where others have looked since the last one: they will find what comes.
    fn behind_others(&mut self) {
        self.looks = LOOKS;
        self.after(0);
    }

    /// After a look that found `events` things.
    pub(crate) fn after(&mut self, events: usize) {
        if events > 0 {
            (self.looks, self.nap) = (0, SHORTEST);
        } else if self.looks < LOOKS {
            self.looks += 1;
            core::hint::spin_loop();
        } else {
            std::thread::sleep(self.nap.min(self.longest));
            self.nap = (self.nap * 2).min(self.longest);
        }
    }
}

/// The thread for progress.
#[derive(Debug)]
pub(crate) struct Napping {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// A bridge that outlives the thread.
struct ProgressShared(*const Bridge);

// SAFETY: `Bridge` is Sync, and its owner joins the thread (`Bridge::stop`) before freeing it.
unsafe impl Send for ProgressShared {}

impl Napping {
    /// Starts it.
    pub(crate) fn start(bridge: &Bridge) -> Result<Self, i32> {
        let longest = if bridge.config.nap_us == 0 { LONGEST_US } else { bridge.config.nap_us };
        let (stop, shared) = (Arc::new(AtomicBool::new(false)), ProgressShared(bridge));
        let flag = stop.clone();
        let body = move || {
            let shared = shared;
            prepare();
            // SAFETY: see `ProgressShared`.
            run(unsafe { &*shared.0 }, &flag, longest);
        };
        let thread =
            std::thread::Builder::new().name("gangway-bridge".into()).stack_size(1 << 20).spawn(body);
        let thread = thread.map_err(|e| bridge.fail(code::STATE, &format!("no thread for progress: {e}")))?;
        Ok(Self { stop, thread })
    }

    /// Ends it, and waits for that. A thread that ends itself from a callback is left to end.
    pub(crate) fn end(self) {
        // ORDERING: Relaxed; joining is what orders.
        self.stop.store(true, Ordering::Relaxed);
        if self.thread.thread().id() != std::thread::current().id() {
            let _ = self.thread.join();
        }
    }
}

fn run(bridge: &Bridge, stop: &AtomicBool, longest: u32) {
    let mut poll_policy = PollPolicy::new(longest);
    // ORDERING: Relaxed, all; a sum that says whether anybody has looked.
    let looks = || bridge.counts.polls.load(Ordering::Relaxed);
    let mut seen = looks();
    // ORDERING: Relaxed; a flag.
    while !stop.load(Ordering::Relaxed) {
        let others = looks().wrapping_sub(seen) > OTHERS;
        let Ok(events) = bridge.progress() else { return };
        seen = looks();
        if others { poll_policy.behind_others() } else { poll_policy.after(events) }
    }
}

/// Leaves the program's signals to the program's threads, and makes naps end when they should.
fn prepare() {
    // SAFETY: the set is initialised by sigfillset before it is read; blocking signals and setting
    // the timer slack concern this thread alone. Signals that an instruction raises stay open, as
    // everywhere in the runtime.
    unsafe {
        let mut signals = core::mem::zeroed();
        libc::sigfillset(&raw mut signals);
        for open in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGSYS,
            libc::SIGPROF,
        ] {
            libc::sigdelset(&raw mut signals, open);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, core::ptr::null_mut());
        libc::prctl(libc::PR_SET_TIMERSLACK, 1000);
    }
}
