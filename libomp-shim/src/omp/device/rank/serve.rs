//! What a rank does for others: handlers of requests, and the team that runs regions.
//!
//! Handlers run in the middle of the bridge and must be short: they write, count, answer, or leave a [`Job`]. A serving rank is a
//! parallel region each of whose threads takes jobs, makes them explicit tasks, and runs tasks. So a region is a task of the rank's own
//! pool, may fork, make tasks, launch elsewhere, and is suspended while it waits.
//!
//! Tasks run on stacks of their own, so a thread's loop stays on its worker's bench while a task of it waits for another rank: new jobs are
//! taken as long as one worker is not computing. Rejected: one thread that takes them all (it runs tasks, too, and while it
//! computed nobody else would get any).

use core::ffi::{CStr, c_void};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::{HashMap, VecDeque};
use std::ffi::CString;
use std::sync::Mutex;

use mpi_bridge::table::{HandlerFn, Message};
use ult::worker::Worker;

use super::link::opened;
use super::pending::Outcome;
use super::remote::{convention_of, fence, lock};
use super::wire::{code, verb};
use super::{CLUSTER, Cluster, modules};
use crate::omp::device::host::run_here;
use crate::omp::device::image::{self, Object};
use crate::omp::device::interface::{Code, Convention, Failure, Launch, Module};
use crate::omp::device::program;
use crate::omp::parallel::{self, Request};
use crate::omp::task::{self, Flags, Task};
use crate::omp::team::Body;
use crate::omp::thread::{Here, Thread};
use crate::omp::{env, lock as omp_lock};

/// What is to be done outside of the handlers.
enum Job {
    Run(Region),
    Copy { to: usize, from: usize, size: usize },
    Load { identity: u64 },
    Find { object: u64, name: CString },
    Base { identity: u64 },
}

/// A region as its message describes it.
struct Region {
    device: i32,
    convention: Convention,
    thread_limit: u32,
    kind: u64,
    code: [u64; 2],
    arguments: Vec<usize>,
    /// What goes along with the answer, and where it belongs.
    wanted: Vec<(usize, usize)>,
    into: u64,
}

/// A job, who asked for it, and the ticket there.
struct Order {
    job: Job,
    source: u32,
    ticket: u64,
}

/// What a rank does for others.
#[derive(Default)]
pub struct Served {
    queue: Mutex<VecDeque<Order>>,
    /// Jobs that are not over.
    open: AtomicU64,
    /// Those who host the threads that take jobs.
    servers: Mutex<Vec<&'static Worker>>,
    /// Who waits for writes: source, how many, who asks, ticket.
    awaited: Mutex<Vec<(u32, u64, u32, u64)>>,
    /// Guards `objects`, while an image is loaded.
    loading: omp_lock::Lock,
    /// Images that were loaded, by identity; the numbers are places in the list.
    objects: Mutex<(HashMap<u64, u64>, Vec<Object>)>,
}

impl Served {
    /// Is there nothing to do?
    pub fn is_idle(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `carry_out`.
        self.open.load(Ordering::Acquire) == 0
    }

    fn leave(&self, order: Order) {
        // ORDERING: Relaxed; taken off by who has taken the order from the queue.
        self.open.fetch_add(1, Ordering::Relaxed);
        lock(&self.queue).push_back(order);
        self.wake_one();
    }

    /// Wakes one of those who take jobs, if none is awake who would find it by himself.
    fn wake_one(&self) {
        let servers = lock(&self.servers);
        let _ = servers.iter().any(|server| server.wake());
    }

    /// Wakes them all.
    pub fn wake_all(&self) {
        for server in lock(&self.servers).iter() {
            server.wake();
        }
    }
}

// ---- handlers -----------------------------------------------------------------------------------------------------------

/// All handlers, by number.
pub const HANDLERS: [(u32, HandlerFn); 11] = [
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
];

macro_rules! handlers {
    ($($(#[$doc:meta])* fn $name:ident($cluster:ident, $reader:ident, $source:ident) $body:block)*) => {$(
        $(#[$doc])*
        unsafe extern "C" fn $name(_: *mut c_void, message: *const Message) {
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
        // ORDERING: Release, pairs with the Acquire in `awaited` and in answers: who reads the number finds the bytes.
        let handled = cluster.peer(source).handled.fetch_add(1, Ordering::Release) + 1;
        let mut waiting = lock(&cluster.served.awaited);
        waiting.retain(|&(whose, writes, asker, ticket)| {
            let over = whose == source && writes <= handled;
            if over {
                cluster.answer(asker, ticket, Ok(0), &[]);
            }
            !over
        });
    }

    /// [`verb::AWAIT`].
    fn awaited(cluster, reader, source) {
        let (ticket, whose, writes) = (reader.word(), reader.word() as u32, reader.word());
        // ORDERING: Acquire, pairs with the Release in `written`.
        if cluster.peer(whose).handled.load(Ordering::Acquire) >= writes {
            cluster.answer(source, ticket, Ok(0), &[]);
        } else {
            lock(&cluster.served.awaited).push((whose, writes, source, ticket));
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
    fn released(_cluster, reader, _source) {
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
    }

    /// [`verb::RUN`].
    fn asked_to_run(cluster, reader, source) {
        let ticket = reader.word();
        let (device, convention, limit) = (reader.word() as i32, convention_of(reader.word()), reader.word() as u32);
        let (kind, code, into) = (reader.word(), [reader.word(), reader.word()], reader.word());
        for _ in 0..reader.word() {
            let (from, rank, writes) = (reader.word() as u32, reader.word() as u32, reader.word());
            cluster.debts.owe(from, rank, writes);
        }
        let wanted = (0..reader.word()).map(|_| (reader.word() as usize, reader.word() as usize)).collect();
        let arguments = reader.words().map(|word| word as usize).collect();
        let region = Region { device, convention, thread_limit: limit, kind, code, arguments, wanted, into };
        cluster.served.leave(Order { job: Job::Run(region), source, ticket });
    }

    /// [`verb::COPY`].
    fn asked_to_copy(cluster, reader, source) {
        let ticket = reader.word();
        let job = Job::Copy { to: reader.word() as usize, from: reader.word() as usize, size: reader.word() as usize };
        cluster.served.leave(Order { job, source, ticket });
    }

    /// [`verb::LOAD`].
    fn asked_to_load(cluster, reader, source) {
        let ticket = reader.word();
        cluster.served.leave(Order { job: Job::Load { identity: reader.word() }, source, ticket });
    }

    /// [`verb::FIND`].
    fn asked_to_find(cluster, reader, source) {
        let (ticket, object) = (reader.word(), reader.word());
        let name = CString::new(reader.0).unwrap_or_default();
        cluster.served.leave(Order { job: Job::Find { object, name }, source, ticket });
    }

    /// [`verb::BASE`].
    fn asked_for_base(cluster, reader, source) {
        let ticket = reader.word();
        cluster.served.leave(Order { job: Job::Base { identity: reader.word() }, source, ticket });
    }
}

const PAGE: usize = 4096;

/// Fresh memory, which costs nothing until it is touched.
fn map(size: usize) -> Outcome {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: a fresh mapping concerns nobody.
    let at = unsafe { libc::mmap(ptr::null_mut(), size, access, kind, -1, 0) };
    match at {
        libc::MAP_FAILED => Err(Failure(format!("out of memory for {size} bytes").into())),
        at => Ok(at.addr() as u64),
    }
}

// ---- jobs ---------------------------------------------------------------------------------------------------------------

impl Order {
    /// Does what was asked for, and answers.
    fn carry_out(self, cluster: &Cluster) {
        let mut bytes = Vec::new();
        let outcome = match self.job {
            Job::Run(region) => region.run(cluster).and_then(|()| fence(cluster)).map(|()| region.bring_along(&mut bytes)),
            Job::Copy { to, from, size } => {
                // SAFETY: the sender has both from us.
                unsafe { ptr::copy(from as *const u8, to as *mut u8, size) };
                Ok(0)
            }
            Job::Load { identity } => load(&cluster.served, identity),
            Job::Find { object, name } => Ok(find(&cluster.served, object, &name) as u64),
            Job::Base { identity } => modules::base(identity).map(|base| base as u64).ok_or_else(|| not_here(cluster)),
        };
        cluster.answer(self.source, self.ticket, outcome, &bytes);
        // ORDERING: Release, pairs with the Acquire in `is_idle`: what was answered has been sent.
        cluster.served.open.fetch_sub(1, Ordering::Release);
    }
}

fn not_here(cluster: &Cluster) -> Failure {
    Failure(format!("rank {} has not loaded the module, or another version of it", cluster.rank).into())
}

impl Region {
    /// Puts what is wanted into `bytes`; where it belongs.
    fn bring_along(&self, bytes: &mut Vec<u8>) -> u64 {
        for &(at, size) in &self.wanted {
            // SAFETY: the sender has the memory from us.
            bytes.extend_from_slice(unsafe { core::slice::from_raw_parts(at as *const u8, size) });
        }
        self.into
    }

    fn run(&self, cluster: &Cluster) -> Result<(), Failure> {
        let address = match self.kind {
            code::MODULE => modules::base(self.code[0]).ok_or_else(|| not_here(cluster))? + self.code[1] as usize,
            _ => self.code[1] as usize,
        };
        // ORDERING: Relaxed; a sum.
        cluster.counts.served.fetch_add(1, Ordering::Relaxed);
        let launch = Launch {
            device: self.device,
            code: if self.kind == code::MODULE { Code::HostFunction(address) } else { Code::Loaded(Module(0), c"", address) },
            convention: self.convention,
            arguments: &self.arguments,
            teams: [0; 3],
            thread_limit: [self.thread_limit, 0, 0],
            iterations: 0,
            shared_bytes: 0,
            wanted: &[],
            into: ptr::null_mut(),
        };
        // SAFETY: the sender's promise (`Device::run`): code and arguments belong together. It has counted the arguments.
        unsafe { run_here(&launch) };
        Ok(())
    }
}

/// Loads the image of this identity, once in the process: the number of its object.
fn load(served: &Served, identity: u64) -> Outcome {
    if let Some(&number) = lock(&served.objects).0.get(&identity) {
        return Ok(number);
    }
    served.loading.lock();
    let loaded = load_locked(served, identity);
    served.loading.unlock();
    loaded
}

fn load_locked(served: &Served, identity: u64) -> Outcome {
    if let Some(&number) = lock(&served.objects).0.get(&identity) {
        return Ok(number);
    }
    let Some(bytes) = program::image(|bytes| super::wire::hash(0, bytes) == identity) else {
        return Err(Failure("the other rank has not loaded the module that the image is in, or another version of it".into()));
    };
    let object = image::load(bytes)?;
    let (numbers, objects) = &mut *lock(&served.objects);
    objects.push(object);
    numbers.insert(identity, objects.len() as u64 - 1);
    Ok(objects.len() as u64 - 1)
}

fn find(served: &Served, object: u64, name: &CStr) -> usize {
    let object = lock(&served.objects).1.get(object as usize).copied();
    object.and_then(|object| object.find(name)).unwrap_or(0)
}

// ---- the team -----------------------------------------------------------------------------------------------------------

/// Does what others ask for until all ranks are through. The calling kernel thread becomes an initial thread.
pub fn serve() {
    let body = Body { call: take_part, function: ptr::null(), data: ptr::null_mut(), count: 0 };
    // A second thread, so that there is a team: on one worker it shares it.
    let threads = env::settings().workers.max(2);
    parallel::parallel(Here::get(), body, Request { num_threads: threads, ..Request::default() });
}

/// A thread of the team: takes jobs until all ranks are through, then goes to the end of the region, where it runs the last ones.
unsafe fn take_part(_: &Thread, _: &Body) {
    let Some(cluster) = CLUSTER.get() else { return };
    let worker: *const Worker = ptr::from_ref(Here::get().thread.worker());
    // SAFETY: workers are never freed.
    lock(&cluster.served.servers).push(unsafe { &*worker });
    loop {
        // ORDERING: Acquire, pairs with the Release where it is set: nothing comes any more.
        let over = cluster.over.load(Ordering::Acquire);
        let next = lock(&cluster.served.queue).pop_front();
        match next {
            Some(order) => defer(Here::get(), order),
            None if over => return,
            None => await_order(cluster),
        }
    }
}

fn await_order(cluster: &Cluster) {
    let here = Here::get();
    // ORDERING: Acquire; see `take_part`.
    let here_is_one = || !lock(&cluster.served.queue).is_empty() || cluster.over.load(Ordering::Acquire);
    let ready = || {
        here_is_one() || {
            cluster.progress();
            here_is_one()
        }
    };
    if cluster.dedicated {
        here.team().help_until(here.thread, &ready);
    } else {
        here.team().help_polling(here.thread, &ready);
    }
}

/// Makes the order an explicit task.
fn defer(here: Here, order: Order) {
    const { assert!(align_of::<Order>() <= align_of::<Task>()) };
    let task: NonNull<Task> = Task::allocate(here, size_of::<Order>(), run, Flags::UNTIED);
    // SAFETY: a fresh task with room for an order.
    unsafe { task.as_ref().payload().cast::<Order>().write(order) };
    task::submit(here, task);
}

unsafe fn run(_: &Thread, task: &Task, _: bool) -> bool {
    // SAFETY: `defer` wrote the order, and a task is run once.
    let order = unsafe { task.payload().cast::<Order>().read() };
    if let Some(cluster) = CLUSTER.get() {
        order.carry_out(cluster);
    }
    true
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
