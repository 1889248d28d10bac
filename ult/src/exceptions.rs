//! The C++ exception state that belongs to a suspended stack.
//!
//! A C++ runtime keeps per kernel thread the stack of exceptions being handled and the count of
//! those in flight: 16 bytes behind `__cxa_get_globals()`. A user-level thread that switches inside
//! a `catch` leaves its exceptions there for the stack that runs next, which would rethrow the
//! wrong one. So the 16 bytes are taken along when a stack is suspended and put back when it is
//! resumed: [`save_and_clear`], [`restore`].
//!
//! *Every loaded copy counts*: libstdc++ and libc++abi, and copies that were loaded privately
//! (`RTLD_LOCAL`, the rule under Python), which no global look-up finds. [`refresh`] therefore
//! walks the loaded objects and their dynamic symbol tables. Between scans it costs one call of
//! `dl_iterate_phdr` that stops at the first object, because the dynamic linker counts loads and
//! unloads.
//!
//! Up to [`COPIES`] copies. A copy's number is never used again once its object is unloaded, so a
//! pointer that a thread cached for it is never mistaken for another's. Words 4 to 7 of the
//! thread's block hold these pointers; zero is "not asked yet". A pointer is valid only on the
//! thread that asked for it.
//!
//! Not seen: a runtime linked statically with hidden symbols. Such code must not switch inside a
//! `catch`.
//!
//! Tried and rejected:
//! * `dlsym(RTLD_DEFAULT, ..)`: it finds nothing under Python.
//! * Keeping found objects loaded with `dlopen(RTLD_NOLOAD | RTLD_NODELETE)`: it takes the loader's
//!   lock. Another thread may hold that lock for as long as a constructor runs, and the constructor
//!   may be waiting for this very region.
use crate::sys::arch::thread_block;
use crate::sys::objects::{self, SymbolName};
use core::cell::Cell;
use core::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};

/// Copies of the C++ runtime whose state is kept.
pub const COPIES: usize = 4;
/// The first word of the thread's block that is ours.
const FIRST_WORD: usize = 4;
/// A copy whose object is gone; no function has this address.
const GONE: usize = 1;
const NAME: SymbolName = SymbolName::new(c"__cxa_get_globals");

type GetGlobals = unsafe extern "C" fn() -> *mut [usize; 2];

/// `__cxa_get_globals` of each copy: zero (none yet), its address, or [`GONE`].
static FUNCTIONS: [AtomicUsize; COPIES] = [const { AtomicUsize::new(0) }; COPIES];
/// One bit per copy that is loaded.
static LIVE: AtomicUsize = AtomicUsize::new(0);
/// The loader's counts of loads and unloads at the last scan.
static SCANNED: AtomicU64 = AtomicU64::new(u64::MAX);
static TOO_MANY_REPORTED: AtomicBool = AtomicBool::new(false);

/// The exception state of one suspended stack, for every copy of the C++ runtime.
#[derive(Default)]
pub struct Saved {
    /// The copies that were live when it was saved.
    copies: usize,
    state: [[usize; 2]; COPIES],
}

/// Takes this kernel thread's exception state into `saved` and leaves the state of a thread that
/// handles none.
///
/// One load when no C++ runtime is loaded; else two loads and two stores per copy. The first call
/// on a kernel thread asks each copy for the thread's pointer, which may allocate: see [`warm`].
///
/// # Safety
/// On the kernel thread whose stack is being suspended, with no switch between this and leaving the
/// stack.
#[inline]
pub unsafe fn save_and_clear(saved: &mut Saved) {
    let live = copies_to_save();
    saved.copies = live;
    if live != 0 {
        // SAFETY: passed on.
        unsafe { save_live(saved, live) };
    }
}

crate::seam! {
    /// The copies whose state is saved with a stack, one bit each: those that are loaded.
    fn copies_to_save() -> usize {
        // ORDERING: Acquire pairs with the Release in `add`: a live bit comes with its function.
        LIVE.load(Acquire)
    } or exceptions_not_saved {
        0
    }
}

/// Puts the state that [`save_and_clear`] took back, on the kernel thread that continues the stack.
///
/// # Safety
/// On the kernel thread that resumes the stack, before any of the stack's own code runs.
#[inline]
pub unsafe fn restore(saved: &Saved) {
    if saved.copies != 0 {
        // SAFETY: passed on.
        unsafe { restore_live(saved) };
    }
}

/// Asks every known copy for this kernel thread's pointer, so that later switches on it neither
/// call nor allocate.
///
/// For kernel threads that may switch where allocating is not allowed (in a signal handler).
pub fn warm() {
    // ORDERING: as in `copies_to_save`.
    let live = LIVE.load(Acquire);
    for copy in (0..COPIES).filter(|copy| live & 1 << copy != 0) {
        globals(copy);
    }
}

/// Looks for copies of the C++ runtime among the objects loaded since the last call. Any thread, no
/// lock of ours.
///
/// Cheap when nothing was loaded or unloaded (tens of nanoseconds): the loader is asked for its two
/// counters only.
pub fn refresh() {
    // ORDERING: a stale value only means another scan, which finds the same.
    let before = SCANNED.load(Relaxed);
    let mut found = ScanFinding { addresses: [0; COPIES], count: 0 };
    let now = objects::for_each_since(before, |object| {
        if let Some(address) = object.function(NAME) {
            found.push(address);
        }
    });
    let Some(now) = now else { return };
    bury(&found);
    for &address in &found.addresses[..found.count.min(COPIES)] {
        add(address);
    }
    if found.count > COPIES {
        report_too_many();
    }
    // ORDERING: what was found is published by `add`; this only saves later scans.
    SCANNED.store(now, Relaxed);
    warm();
}

/// What one scan found.
struct ScanFinding {
    addresses: [usize; COPIES],
    count: usize,
}

impl ScanFinding {
    fn push(&mut self, address: usize) {
        if let Some(place) = self.addresses.get_mut(self.count) {
            *place = address;
        }
        self.count += 1;
    }
}

/// Marks copies that are no longer loaded. Their numbers are not used again.
fn bury(found: &ScanFinding) {
    for (copy, function) in FUNCTIONS.iter().enumerate() {
        // ORDERING: only compared; `GONE` is reached by one thread's exchange below.
        let address = function.load(Relaxed);
        let gone = address > GONE && found.count <= COPIES && !found.addresses.contains(&address);
        // ORDERING: publishes nothing: who still has the live bit uses a pointer that was valid
        // when it was read.
        if gone && function.compare_exchange(address, GONE, Relaxed, Relaxed).is_ok() {
            // ORDERING: publishes nothing.
            LIVE.fetch_and(!(1 << copy), Relaxed);
        }
    }
}

/// Gives a copy that is not known yet a number of its own.
fn add(address: usize) {
    for (copy, function) in FUNCTIONS.iter().enumerate() {
        // ORDERING: the number is taken here and published by the live bit below.
        match function.compare_exchange(0, address, Relaxed, Relaxed) {
            Ok(_) => {
                // ORDERING: Release pairs with the Acquire loads of `LIVE`.
                LIVE.fetch_or(1 << copy, Release);
                return;
            }
            Err(known) if known == address => return,
            Err(_) => {}
        }
    }
    report_too_many();
}

#[cold]
fn report_too_many() {
    // ORDERING: only who comes first matters.
    if !TOO_MANY_REPORTED.swap(true, Relaxed) {
        eprintln!(
            "gangway: more than {COPIES} copies of the C++ runtime were loaded; \
             exceptions of the others are not kept apart when a thread waits inside a catch block"
        );
    }
}

/// # Safety
/// As [`save_and_clear`].
unsafe fn save_live(saved: &mut Saved, mut live: usize) {
    while live != 0 {
        let copy = live.trailing_zeros() as usize % COPIES;
        live &= live - 1;
        let globals = globals(copy);
        // SAFETY: this thread's own 16 bytes, as its C++ runtime reported them; no other thread
        // touches them.
        unsafe {
            saved.state[copy] = *globals;
            *globals = [0, 0];
        }
    }
}

/// In descending order: should two objects have bound their tables to the same bytes, the first to
/// save had the value.
///
/// # Safety
/// As [`restore`].
unsafe fn restore_live(saved: &Saved) {
    // ORDERING: as in `copies_to_save`.
    let mut live = LIVE.load(Acquire) & saved.copies;
    while live != 0 {
        let copy = live.ilog2() as usize % COPIES;
        live &= !(1 << copy);
        // SAFETY: this thread's own 16 bytes, as in `save_live`.
        unsafe { *globals(copy) = saved.state[copy] };
    }
}

/// This kernel thread's 16 bytes in one live copy.
#[inline(always)]
fn globals(copy: usize) -> *mut [usize; 2] {
    // SAFETY: the block lives as long as the thread, and no other thread reads or writes it.
    let word = unsafe { &(&(*thread_block()).words)[FIRST_WORD + copy] };
    match word.get() {
        0 => ask(copy, word),
        known => known as *mut [usize; 2],
    }
}

#[cold]
#[inline(never)]
fn ask(copy: usize, word: &Cell<usize>) -> *mut [usize; 2] {
    // ORDERING: ordered behind the live bit, which the caller read with Acquire.
    let address = FUNCTIONS[copy].load(Relaxed);
    // SAFETY: a live copy's `__cxa_get_globals`, which takes nothing, never fails and returns this
    // thread's pointer.
    let pointer = unsafe { core::mem::transmute::<usize, GetGlobals>(address)() };
    word.set(pointer as usize);
    pointer
}
