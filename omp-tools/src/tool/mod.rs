//! Events of the runtime, of which consumers are notified: tools by the standard's interface
//! (OMPT), and the trace.
//!
//! What lives here: the extension behind [`omp::extension::tools`]. That is the events as
//! consumers hear of them, and what is kept with threads, teams and tasks. What may not: anything
//! that the runtime itself needs to work, and devices, which report as the host does.
//!
//! | file | what lives there |
//! |---|---|
//! | here | which consumers are notified, and whether there are any |
//! | `event` | the events: what they say, and [`Consumer`], which is notified of them |
//! | `first` | what is reported once, before anything else |
//! | `record` | what is kept with threads, teams and tasks for consumers |
//! | `code` | where in the program a call comes from |
//! | `hook` | the events as the host reports them, by construct, and what consumers hear of that |
//! | `ompt` | tools: OMPT (5.2 §19) |
//!
//! **What it costs.** While no consumer is notified, an event of the host is one load of a word that
//! hardly ever changes ([`watch`]), and a branch that is not taken; everything else is out of line.
//! The short paths (locks, barriers, tasks, `taskwait`) ask once for tools, sanitizers and checks together,
//! and have a second form for all of them. Where events come in pairs that several threads agree
//! on, a region uses [`Plan::notified`](omp::team::Plan) instead of that word. Its value is fixed
//! when the region is forked. For example, a member waits for the end of a region only if its
//! thread 0 reports that end.
//!
//! **How a consumer hooks in.** It implements [`Consumer`], whose functions do nothing by default,
//! and calls [`attach`] with a place of its own ([`ConsumerSlot`]). From then on it is notified of
//! events, by all threads at the same time; after [`detach`] some notifications may still be under
//! way. A consumer attaches once, at any time, and may detach. It is notified of the ends of
//! regions and tasks that began before, and finds no record with tasks that were made before
//! ([`record::of`]).
//!
//! **What a consumer may do.** It is called in the name of the thread that the event says, on that
//! code's stack, running with its TLS block: its thread-local variables are those of the OpenMP
//! thread. No lock of the runtime is held, but that of the list of workers at the program's end,
//! and a device's own ([`omp::extension::tools::device`]). It may block for a short time,
//! allocate, and call inquiry functions; it may not wait for other OpenMP threads, call constructs,
//! or unwind. Between two events of a thread the kernel thread may have changed only if the thread's
//! worker was handed over (`stall.md`).
//!
//! *Threads.* A tool's thread is an OpenMP thread, not a kernel thread. Thread 0 of a team is the
//! thread that forked it ([`record::thread_for_tools`]). Each other member is a thread of its own,
//! as long as its team is kept. The index of its worker goes with every event, for consumers that
//! draw lanes.
//!
//! Rejected:
//! * A table of functions that is filled in: two loads and an indirect call where no consumer
//!   listens.
//! * The return address as an argument of every function down from the entry points: a register on
//!   the hot paths. It is found by unwinding when a consumer asks, see `code`.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

use ult::watch;

use omp::extension::{TOOL_WATCHES, TRACE_WATCHES};
pub mod code;
pub mod event;
pub mod first;
pub mod hook;
pub mod ompt;
pub mod record;

pub use event::Consumer;

/// Places of consumers, which are notified in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerSlot {
    /// A tool of the standard's interface.
    Ompt,
    /// The trace.
    Trace,
}

impl ConsumerSlot {
    const ALL: [Self; 2] = [Self::Ompt, Self::Trace];

    /// Its bit in [`watch`], which is set while the consumer in this place is notified.
    const fn bit(self) -> u32 {
        match self {
            Self::Ompt => TOOL_WATCHES,
            Self::Trace => TRACE_WATCHES,
        }
    }
}

static CONSUMERS: [OnceLock<&'static dyn Consumer>; 2] = [OnceLock::new(), OnceLock::new()];

pub use omp::extension::tools::is_on;

/// Is the consumer in this place notified?
#[inline(always)]
pub fn is_attached(place: ConsumerSlot) -> bool {
    watch::watchers() & place.bit() != 0
}

/// Notifies `consumer` of events from here on. A place has one consumer for the life of the
/// process; attaching it again after [`detach`] is allowed.
pub fn attach(place: ConsumerSlot, consumer: &'static dyn Consumer) {
    CONSUMERS[place as usize].get_or_init(|| consumer);
    watch::begin(place.bit());
}

/// Stops the notification of the consumer in this place.
pub fn detach(place: ConsumerSlot) {
    watch::end(place.bit());
}

/// Calls `event` for each consumer that is notified.
fn notify(event: impl Fn(&dyn Consumer)) {
    let on = watch::watchers(); // the cell orders what the consumer is
    for place in ConsumerSlot::ALL {
        if on & place.bit() != 0
            && let Some(consumer) = CONSUMERS[place as usize].get()
        {
            event(*consumer);
        }
    }
}

/// A number that no other call returns; never 0.
pub fn unique_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // ORDERING: Relaxed; only the number matters.
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}
