//! The memory of one kernel thread: a list of chunks of events, written by that thread alone.
//!
//! A lane belongs to a worker's record and stays with it when another kernel thread gets that; so
//! there are as many as there were workers at one time. Kernel threads without a worker (the stall
//! monitor) share a lane behind a lock.
//!
//! What lives here: where an event is put, what there is no room for. The first events are kept and
//! the last ones lost: what follows a gap in the middle could not be understood. Memory is mapped,
//! not allocated: an event may come in a signal handler.

use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use ult::worker::{self, Worker};

use super::clock;
use super::kind::{TraceEvent, TraceKind};
use super::run_delay::RunDelay;
use super::thin::EventBudget;

/// Bytes of a chunk, and what it is aligned to: a large page, where the system has them. Of 4 KiB
/// each the first use of pages costs as much as all else that is done for an event (in virtual
/// machines, which pay most for it: 50 ns per event, against 3).
const CHUNK: usize = 2 << 20;
/// Events in it.
const ROOM: usize = (CHUNK - 64) / size_of::<TraceEvent>();

/// Bytes per lane that are not exceeded.
static LIMIT: AtomicUsize = AtomicUsize::new(128 << 20);
/// All lanes, the newest first.
static LANES: AtomicPtr<Lane> = AtomicPtr::new(ptr::null_mut());
/// That of kernel threads without a worker, and its lock.
static SHARED: (AtomicPtr<Lane>, AtomicBool) = (AtomicPtr::new(ptr::null_mut()), AtomicBool::new(false));

/// Events one after the other.
#[repr(C, align(64))]
struct Chunk {
    /// The next one; set once.
    next: AtomicPtr<Chunk>,
    /// How many are in it.
    used: AtomicUsize,
    events: [UnsafeCell<MaybeUninit<TraceEvent>>; ROOM],
}

/// See the module. Invariant **single writer**: the worker's kernel thread writes the owner's part
/// (`last`, `bytes`, `budget`, `run_delay`) and the chunks, or another thread does under the lock
/// of the shared lane. Events below a chunk's `used` do not change any more, except in the child of
/// a fork, which has one thread.
pub struct Lane {
    first: AtomicPtr<Chunk>,
    last: Cell<*mut Chunk>,
    bytes: Cell<usize>,
    lost: AtomicU64,
    budget: EventBudget,
    run_delay: RunDelay,
    worker: Option<&'static Worker>,
    thread: i32,
    next: *mut Lane,
}

// SAFETY: single writer (see the type); what others read is atomic, or written before the lane is
// published.
unsafe impl Sync for Lane {}

/// Sets how many bytes each lane may take; at least a chunk.
pub fn set_limit(bytes: usize) {
    // ORDERING: Relaxed; a setting.
    LIMIT.store(bytes.max(CHUNK), Ordering::Relaxed);
}

/// See [`super::record`].
#[inline]
pub fn record(kind: TraceKind, small: u32, a: u64, b: u64) {
    record_at(clock::now(), kind, small, a, b);
}

/// [`record`] for what happens at `ticks`, which has just been read.
#[inline]
pub fn record_at(ticks: u64, kind: TraceKind, small: u32, a: u64, b: u64) {
    let event = TraceEvent { ticks, a, b, small, kind };
    match worker::current() {
        Some(worker) => {
            let lane = of(worker);
            if lane.run_delay.is_due(ticks) {
                lane.put_run_delay(ticks);
            }
            lane.put(event);
        }
        None => put_shared(event),
    }
}

/// The lane of the calling kernel thread's `worker`.
#[inline(always)]
fn of(worker: &'static Worker) -> &'static Lane {
    // ORDERING: Relaxed; the worker's own kernel thread has written it, or who had the record
    // before, under the registry's lock.
    let lane = worker.observers_word().load(Ordering::Relaxed).cast::<Lane>();
    // SAFETY: null, or a lane, and lanes are never freed.
    unsafe { lane.as_ref() }.unwrap_or_else(|| open(worker))
}

/// Asks the calling kernel thread's own lane; of a thread without one the answer is the least.
pub fn own<R: Default>(ask: impl FnOnce(&Lane) -> R) -> R {
    worker::current().map_or_else(R::default, |worker| ask(of(worker)))
}

#[cold]
#[inline(never)]
fn open(worker: &'static Worker) -> &'static Lane {
    let lane = Lane::publish(Some(worker));
    // ORDERING: Relaxed; see `record`.
    worker.observers_word().store(ptr::from_ref(lane).cast_mut().cast(), Ordering::Relaxed);
    lane
}

#[cold]
fn put_shared(event: TraceEvent) {
    let (place, lock) = &SHARED;
    // ORDERING: Acquire, pairs with the Release below.
    while lock.swap(true, Ordering::Acquire) {
        ult::sys::arch::pause();
    }
    // ORDERING: Relaxed; under the lock.
    let mut lane = place.load(Ordering::Relaxed);
    if lane.is_null() {
        lane = ptr::from_ref(Lane::publish(None)).cast_mut();
        // ORDERING: Relaxed; under the lock.
        place.store(lane, Ordering::Relaxed);
    }
    // SAFETY: lanes are never freed.
    unsafe { (*lane).put(event) };
    // ORDERING: Release, pairs with the Acquire above.
    lock.store(false, Ordering::Release);
}

/// Zeroed memory from the kernel; null where there is none. Lanes and chunks are never given back.
fn map(bytes: usize) -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let memory =
        unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if memory == libc::MAP_FAILED { ptr::null_mut() } else { memory.cast() }
}

/// A chunk, empty; null where there is no memory.
fn map_chunk() -> *mut Chunk {
    let memory = map(2 * CHUNK);
    if memory.is_null() {
        return ptr::null_mut();
    }
    let before = memory.align_offset(CHUNK);
    // SAFETY: what is unmapped are the parts of the new mapping before and behind the aligned one.
    // The advice changes nothing but costs.
    unsafe {
        let chunk = memory.add(before);
        if before != 0 {
            libc::munmap(memory.cast(), before);
        }
        libc::munmap(chunk.add(CHUNK).cast(), CHUNK - before);
        libc::madvise(chunk.cast(), CHUNK, libc::MADV_HUGEPAGE);
        chunk.cast()
    }
}

impl Lane {
    fn publish(worker: Option<&'static Worker>) -> &'static Self {
        let memory = map(size_of::<Self>()).cast::<Self>();
        if memory.is_null() {
            super::report::fatal("GANGWAY_TRACE: no memory is left for a thread's events");
        }
        let thread = ult::sys::thread::number();
        let (first, last, lost) =
            (AtomicPtr::new(ptr::null_mut()), Cell::new(ptr::null_mut()), AtomicU64::new(0));
        let lane = Self {
            first,
            last,
            bytes: Cell::new(0),
            lost,
            budget: EventBudget::default(),
            run_delay: RunDelay::default(),
            worker,
            thread,
            next: ptr::null_mut(),
        };
        // SAFETY: the memory is large enough, aligned to a page, and no other thread knows it yet.
        unsafe { memory.write(lane) };
        // ORDERING: Relaxed; compared only.
        let mut head = LANES.load(Ordering::Relaxed);
        loop {
            // SAFETY: not published yet.
            unsafe { (*memory).next = head };
            // ORDERING: Release, pairs with the Acquire in `all`.
            match LANES.compare_exchange_weak(head, memory, Ordering::Release, Ordering::Relaxed) {
                // SAFETY: never freed.
                Ok(_) => return unsafe { &*memory },
                Err(now) => head = now,
            }
        }
    }

    /// Puts a [`TraceKind::NoProcessor`] if the kernel thread was runnable without a processor for
    /// long enough. By the single writer.
    #[cold]
    #[inline(never)]
    fn put_run_delay(&self, ticks: u64) {
        if let Some(nanos) = self.run_delay.read(ticks) {
            self.put(TraceEvent { ticks, a: nanos, b: 0, small: 0, kind: TraceKind::NoProcessor });
        }
    }

    /// By the single writer.
    #[inline(always)]
    fn put(&self, event: TraceEvent) {
        let chunk = self.last.get();
        // SAFETY: null or a chunk of this lane, and chunks are never freed.
        if let Some(chunk) = unsafe { chunk.as_ref() } {
            // ORDERING: Relaxed; the writer's own.
            let used = chunk.used.load(Ordering::Relaxed);
            if used < ROOM {
                // SAFETY: single writer, and no thread reads it before `used` says so.
                unsafe { (*chunk.events[used].get()).write(event) };
                // ORDERING: Release, pairs with the Acquire in `Events::next`.
                chunk.used.store(used + 1, Ordering::Release);
                return;
            }
        }
        self.put_in_new_chunk(event);
    }

    #[cold]
    #[inline(never)]
    fn put_in_new_chunk(&self, event: TraceEvent) {
        // SAFETY: as in `put`.
        let last = unsafe { self.last.get().as_ref() };
        // ORDERING: Relaxed; the writer's own, all below. A chunk is there already in the child of
        // a fork.
        let after = last.map_or(&self.first, |chunk| &chunk.next);
        // ORDERING: as above.
        let mut chunk = after.load(Ordering::Relaxed);
        if chunk.is_null() {
            // ORDERING: Relaxed; a setting.
            let full = self.bytes.get() + CHUNK > LIMIT.load(Ordering::Relaxed);
            chunk = if full { ptr::null_mut() } else { map_chunk() };
            if chunk.is_null() {
                // ORDERING: Relaxed; a statistic with one writer.
                self.lost.store(self.lost.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                return;
            }
            self.bytes.set(self.bytes.get() + CHUNK);
            // ORDERING: Release, pairs with the Acquire in `Events::next`: an empty chunk is all
            // zeros.
            after.store(chunk, Ordering::Release);
        }
        self.last.set(chunk);
        self.put(event);
    }

    /// What it has for events. By the single writer.
    pub fn budget(&self) -> &EventBudget {
        &self.budget
    }

    /// Events that it has got. By the single writer.
    pub fn count(&self) -> u64 {
        // SAFETY: as in `put`.
        let last = unsafe { self.last.get().as_ref() };
        // ORDERING: Relaxed; the writer's own.
        let used = last.map_or(0, |chunk| chunk.used.load(Ordering::Relaxed));
        ((self.bytes.get() / CHUNK).saturating_sub(1) * ROOM + used) as u64 + self.lost()
    }

    /// Events that there was no room for.
    pub fn lost(&self) -> u64 {
        // ORDERING: Relaxed; a statistic.
        self.lost.load(Ordering::Relaxed)
    }

    /// Whose it is; `None`: several kernel threads'.
    pub fn worker(&self) -> Option<&'static Worker> {
        self.worker
    }

    /// The kernel's number of the first thread that it was used by.
    pub fn thread(&self) -> i32 {
        self.thread
    }

    /// What has been recorded, oldest first. More may come while one reads.
    pub fn events(&self) -> Events {
        // ORDERING: Acquire, pairs with the Release in `put_in_new_chunk`.
        Events { chunk: self.first.load(Ordering::Acquire), at: 0 }
    }

    /// In the child of a fork: empty, with the memory that it has.
    fn empty(&self) {
        let mut chunk = self.first.load(Ordering::Relaxed);
        // SAFETY: chunks are never freed.
        while let Some(this) = unsafe { chunk.as_ref() } {
            // ORDERING: Relaxed, here and above; there is one thread.
            this.used.store(0, Ordering::Relaxed);
            chunk = this.next.load(Ordering::Relaxed);
        }
        self.last.set(ptr::null_mut());
        self.lost.store(0, Ordering::Relaxed);
    }
}

/// All lanes.
pub fn all() -> impl Iterator<Item = &'static Lane> {
    // ORDERING: Acquire, pairs with the Release in `publish`.
    let mut next = LANES.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: null or a lane, and lanes are never freed.
        let lane = unsafe { next.as_ref() }?;
        next = lane.next;
        Some(lane)
    })
}

/// In the child of a fork, whose only thread this is: what was recorded is the parent's.
pub fn forget() {
    all().for_each(Lane::empty);
    // ORDERING: Relaxed; there is one thread.
    SHARED.1.store(false, Ordering::Relaxed);
}

/// The events of a lane.
pub struct Events {
    chunk: *mut Chunk,
    at: usize,
}

impl Iterator for Events {
    type Item = TraceEvent;

    fn next(&mut self) -> Option<TraceEvent> {
        loop {
            // SAFETY: null or a chunk, and chunks are never freed.
            let chunk = unsafe { self.chunk.as_ref() }?;
            // ORDERING: Acquire, pairs with the Release in `put`.
            if self.at < chunk.used.load(Ordering::Acquire) {
                self.at += 1;
                // SAFETY: below `used`: written, and not changed any more.
                return Some(unsafe { (*chunk.events[self.at - 1].get()).assume_init() });
            }
            if self.at < ROOM {
                return None;
            }
            // ORDERING: Acquire, pairs with the Release in `put_in_new_chunk`.
            (self.chunk, self.at) = (chunk.next.load(Ordering::Acquire), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> &'static Lane {
        Lane::publish(None)
    }

    fn event(a: u64) -> TraceEvent {
        TraceEvent { ticks: a, a, b: 0, small: 0, kind: TraceKind::Sleep }
    }

    #[test]
    fn events_come_back_in_order_over_several_chunks() {
        let lane = lane();
        let count = 2 * ROOM as u64 + 5;
        (0..count).for_each(|a| lane.put(event(a)));
        assert!(lane.events().map(|e| e.a).eq(0..count));
        assert_eq!((lane.lost(), lane.count()), (0, count));
        lane.empty();
        assert_eq!(lane.events().count(), 0);
        (0..count).for_each(|a| lane.put(event(a + 1)));
        assert!(lane.events().map(|e| e.a).eq(1..=count));
        assert_eq!(lane.bytes.get(), 3 * CHUNK, "memory is used again");
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let lane = lane();
        // ORDERING: Relaxed; a setting.
        lane.bytes.set(LIMIT.load(Ordering::Relaxed) - 2 * CHUNK);
        (0..3 * ROOM as u64).for_each(|a| lane.put(event(a)));
        assert_eq!((lane.events().count(), lane.lost()), (2 * ROOM, ROOM as u64));
    }

    #[test]
    fn a_reader_sees_whole_events_while_they_are_written() {
        let lane = lane();
        let total = 4 * ROOM as u64;
        std::thread::scope(|scope| {
            scope.spawn(|| (0..total).for_each(|a| lane.put(event(a))));
            while lane.events().count() < total as usize {
                assert!(lane.events().enumerate().all(|(i, e)| e.a == i as u64 && e.ticks == e.a));
            }
        });
    }
}
