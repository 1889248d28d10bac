//! What a rank does for others: handlers of requests, and the jobs that they leave.
//!
//! Handlers run in the middle of the bridge and must be short: they write, count, answer, or leave
//! a [`ServeJob`] for the team that serves (`omp_cluster::remote::server`).

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::ffi::CString;
use std::sync::Mutex;

use mpi_bridge::table::{BridgeMessage, HandlerFn};
use ult::sys::memory::LEAST_PAGE as PAGE;

use super::images::RankImages;
use super::link::opened;
use super::pending::PendingOutcome;
use super::region::{self, ReceivedRegion, RegionMessage, not_here};
use super::remote::{fence, lock};
use super::wire::verb;
use super::{CLUSTER, Cluster, steal};
use crate::persistent::wire::HANDLER as PERSISTENT;
use crate::remote::check::rounds;
use crate::remote::server::SERVER;
use crate::remote::wire::HANDLERS as REMOTE;
use omp::extension::tools;
use omp_offload::interface::DeviceFailure;
use omp_offload::modules;

/// What is to be done outside of the handlers.
enum ServeJob {
    Run(RegionMessage),
    Copy { to: usize, from: usize, size: usize },
    Fetch { to: usize, rank: u32, from: usize, size: usize },
    Load { identity: u64 },
    Find { object: u64, name: CString },
    Base { identity: u64 },
}

/// A job, who asked for it, and the ticket there.
struct ServeRequest {
    job: ServeJob,
    source: u32,
    ticket: u64,
}

/// Writes that a rank waits for.
struct AwaitedWrites {
    /// Whose.
    source: u32,
    /// How many.
    writes: u64,
    /// Who asks.
    asker: u32,
    /// The ticket there.
    ticket: u64,
}

/// What a rank has for others.
#[derive(Default)]
pub struct RankMemory {
    /// Regions that have come. Handlers alone write it, one at a time.
    came: AtomicU64,
    /// Those of them that are over.
    over: AtomicU64,
    /// Who waits for writes.
    awaited: Mutex<Vec<AwaitedWrites>>,
    /// Images that were loaded for them.
    images: RankImages,
}

impl RankMemory {
    /// Regions that are not over.
    pub fn regions(&self) -> u64 {
        // ORDERING: Relaxed; a load that need not be exact, read so that it is never below 0.
        let over = self.over.load(Ordering::Relaxed);
        // ORDERING: as above.
        self.came.load(Ordering::Relaxed).saturating_sub(over)
    }

    /// Has each region that had come before now ended? What it did is seen then.
    pub(super) fn is_idle(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `carry_out`; the next load comes behind it.
        let over = self.over.load(Ordering::Acquire);
        // ORDERING: Relaxed; regions that came before what made the caller ask were counted by the
        // handler that has published that, or by an earlier one.
        self.came.load(Ordering::Relaxed) == over
    }

    /// Regions that have come so far.
    pub fn came(&self) -> u64 {
        // ORDERING: Relaxed; a sum for people.
        self.came.load(Ordering::Relaxed)
    }
}

// ---- handlers ---------------------------------------------------------------

/// All handlers, by number.
pub const HANDLERS: [(u32, HandlerFn); 23] = [
    (verb::WRITE, written),
    (verb::RUN, asked_to_run),
    (verb::COPY, asked_to_copy),
    (verb::ALLOCATE, asked_for_memory),
    (verb::RELEASE, released),
    (verb::LOAD, asked_to_load),
    (verb::FIND, asked_to_find),
    (verb::BASE, asked_for_base),
    (verb::FENCE, fenced),
    (verb::ANSWER, super::link::answered),
    (verb::AWAIT, awaited),
    REMOTE[0],
    REMOTE[1],
    REMOTE[2],
    (verb::STEAL, steal::asked),
    (verb::STOLEN, steal::answered),
    (verb::WORK, steal::announced),
    (verb::LOOK, rounds::asked),
    (verb::LOOKED, rounds::answered),
    (verb::FETCH, asked_to_fetch),
    PERSISTENT,
    (verb::AGAIN, asked_to_run_again),
    (verb::UNLOAD, let_go),
];

/// A write of `source` has been made, or a block that it gave back was wiped: answers those that
/// wait for it.
fn one_more_handled(cluster: &Cluster, source: u32) {
    // ORDERING: Release, pairs with the Acquire in `awaited` and in answers: who reads the number
    // finds the bytes.
    let handled = cluster.peer(source).handled.fetch_add(1, Ordering::Release) + 1;
    let mut waiting = lock(&cluster.served.awaited);
    waiting.retain(|awaited| {
        let over = awaited.source == source && awaited.writes <= handled;
        if over {
            cluster.answer(awaited.asker, awaited.ticket, Ok(0), &[]);
        }
        !over
    });
}

macro_rules! handlers {
    ($($(#[$doc:meta])* fn $name:ident($cluster:ident, $reader:ident, $source:ident) $body:block)*) => {$(
        $(#[$doc])*
        unsafe extern "C" fn $name(_: *mut c_void, message: *const BridgeMessage) {
            let Some($cluster) = CLUSTER.get() else { return };
            // SAFETY: the bridge's message.
            #[allow(unused_mut, reason = "by handler")]
            let (mut $reader, $source) = unsafe { opened(message) };
            $body
        }
    )*};
}

handlers! {
    /// [`verb::WRITE`].
    fn written(cluster, reader, source) {
        let to = reader.word() as usize as *mut u8;
        // SAFETY: the sender has the memory from us; the message is its own.
        unsafe { ptr::copy_nonoverlapping(reader.0.as_ptr(), to, reader.0.len()) };
        one_more_handled(cluster, source);
    }

    /// [`verb::AWAIT`].
    fn awaited(cluster, reader, source) {
        let (ticket, whose, writes) = (reader.word(), reader.word() as u32, reader.word());
        // ORDERING: Acquire, pairs with the Release in `written`.
        if cluster.peer(whose).handled.load(Ordering::Acquire) >= writes {
            cluster.answer(source, ticket, Ok(0), &[]);
        } else {
            lock(&cluster.served.awaited).push(AwaitedWrites { source: whose, writes, asker: source, ticket });
        }
    }

    /// [`verb::FENCE`].
    fn fenced(cluster, reader, source) {
        cluster.answer(source, reader.word(), Ok(0), &[]);
    }

    /// [`verb::ALLOCATE`].
    fn asked_for_memory(cluster, reader, source) {
        let (ticket, size) = (reader.word(), reader.word() as usize);
        cluster.answer(source, ticket, map(size), &[]);
    }

    /// [`verb::RELEASE`].
    fn released(cluster, reader, source) {
        let (at, size, whole) = (reader.word() as usize as *mut c_void, reader.word() as usize, reader.word());
        // SAFETY: the sender has the memory from us, and does not use it any more.
        unsafe {
            if whole != 0 {
                libc::munmap(at, size);
            } else {
                // Whole pages inside.
                let begin = at.map_addr(|a| a.next_multiple_of(PAGE));
                let end = (at.addr() + size) & !(PAGE - 1);
                if end > begin.addr() {
                    libc::madvise(begin, end - begin.addr(), libc::MADV_DONTNEED);
                }
            }
        }
        if whole == 0 {
            one_more_handled(cluster, source); // a write: another rank may write there for the block's next user
        }
    }

    /// [`verb::RUN`].
    fn asked_to_run(cluster, reader, source) {
        let ticket = reader.word();
        take_region(cluster, source, ticket, region::read(cluster, source, &mut reader));
    }

    /// [`verb::AGAIN`].
    fn asked_to_run_again(cluster, reader, source) {
        let ticket = reader.word();
        take_region(cluster, source, ticket, region::read_again(cluster, source, &mut reader));
    }

    /// [`verb::COPY`].
    fn asked_to_copy(_cluster, reader, source) {
        let ticket = reader.word();
        let job = ServeJob::Copy { to: reader.word() as usize, from: reader.word() as usize, size: reader.word() as usize };
        leave(ServeRequest { job, source, ticket });
    }

    /// [`verb::FETCH`].
    fn asked_to_fetch(_cluster, reader, source) {
        let (ticket, to, rank) = (reader.word(), reader.word() as usize, reader.word() as u32);
        let job = ServeJob::Fetch { to, rank, from: reader.word() as usize, size: reader.word() as usize };
        leave(ServeRequest { job, source, ticket });
    }

    /// [`verb::LOAD`].
    fn asked_to_load(_cluster, reader, source) {
        let ticket = reader.word();
        leave(ServeRequest { job: ServeJob::Load { identity: reader.word() }, source, ticket });
    }

    /// [`verb::UNLOAD`].
    fn let_go(cluster, reader, source) {
        cluster.served.images.let_go(reader.word(), source);
        SERVER.leave(Box::new(|| cluster.served.images.close_idle(cluster)));
    }

    /// [`verb::FIND`].
    fn asked_to_find(_cluster, reader, source) {
        let (ticket, object) = (reader.word(), reader.word());
        let name = CString::new(reader.0).unwrap_or_default();
        leave(ServeRequest { job: ServeJob::Find { object, name }, source, ticket });
    }

    /// [`verb::BASE`].
    fn asked_for_base(_cluster, reader, source) {
        let ticket = reader.word();
        leave(ServeRequest { job: ServeJob::Base { identity: reader.word() }, source, ticket });
    }
}

/// Fresh memory, which costs nothing until it is touched.
fn map(size: usize) -> PendingOutcome {
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: no thread uses a fresh mapping yet.
    let at = unsafe { libc::mmap(ptr::null_mut(), size, access, kind, -1, 0) };
    match at {
        libc::MAP_FAILED => Err(DeviceFailure(format!("out of memory for {size} bytes").into())),
        at => Ok(at.addr() as u64),
    }
}

// ---- jobs -------------------------------------------------------------------

/// A region has come: counts it, and leaves it for the team.
fn take_region(
    cluster: &'static Cluster,
    source: u32,
    ticket: u64,
    came: Result<ReceivedRegion, DeviceFailure>,
) {
    match came {
        Ok(ReceivedRegion { region, stolen, waiting }) => {
            steal::region_came(cluster, source, stolen, waiting);
            // ORDERING: Relaxed, both; this is in a handler, and the bridge orders those.
            let came = cluster.served.came.load(Ordering::Relaxed);
            // ORDERING: as above.
            cluster.served.came.store(came + 1, Ordering::Relaxed);
            leave(ServeRequest { job: ServeJob::Run(region), source, ticket });
        }
        Err(why) => cluster.answer(source, ticket, Err(why), &[]),
    }
}

/// Has an order carried out by the team.
fn leave(order: ServeRequest) {
    SERVER.leave(Box::new(move || {
        if let Some(cluster) = CLUSTER.get() {
            order.carry_out(cluster);
        }
    }));
}

impl ServeRequest {
    /// Does what was asked for, and answers. The rank counts as busy until it returns.
    fn carry_out(self, cluster: &Cluster) {
        let mut bytes = Vec::new();
        let is_region = matches!(self.job, ServeJob::Run(_));
        let outcome = match self.job {
            ServeJob::Run(region) => {
                let ran = tools::device::serves(self.source.into(), || region.run(cluster));
                ran.and_then(|()| fence(cluster)).map(|()| region.bring_along(&mut bytes))
            }
            ServeJob::Copy { to, from, size } => {
                // SAFETY: the sender has both from us.
                unsafe { ptr::copy(from as *const u8, to as *mut u8, size) };
                Ok(0)
            }
            // SAFETY: the sender has the memory here from us and the other from that rank, and does
            // without both until we have answered.
            ServeJob::Fetch { to, rank, from, size } => unsafe { cluster.fetch(rank, to, from, size) },
            ServeJob::Load { identity } => cluster.served.images.load(identity, self.source),
            ServeJob::Find { object, name } => Ok(cluster.served.images.find(object, &name) as u64),
            ServeJob::Base { identity } => {
                modules::base(identity).map(|base| base as u64).ok_or_else(|| not_here(cluster))
            }
        };
        cluster.answer(self.source, self.ticket, outcome, &bytes);
        if is_region {
            // ORDERING: Release, pairs with the Acquire in `is_idle`: nothing of the region's code
            // is used any more.
            cluster.served.over.fetch_add(1, Ordering::Release);
            cluster.served.images.close_idle(cluster);
            steal::region_ended(cluster);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_has_one_handler() {
        let mut numbers = HANDLERS.map(|(number, _)| number);
        numbers.sort_unstable();
        assert_eq!(numbers, core::array::from_fn(|at| at as u32 + 1));
    }

    #[test]
    fn memory_is_zero_and_there_is_an_end_to_it() {
        let at = map(1 << 20).expect("memory");
        // SAFETY: mapped above.
        unsafe {
            assert_eq!(*(at as *const u64), 0);
            libc::munmap(at as *mut c_void, 1 << 20);
        }
        assert!(map(usize::MAX & !4095).is_err());
    }
}
