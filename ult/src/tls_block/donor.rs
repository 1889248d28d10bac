//! Making a TLS donor: an ordinary pthread that gives its thread block away until it is notified to
//! end.
//!
//! What lives here: the creation of a donor, and its only function. What does not: the pool of
//! donors ([`super`]).
//!
//! A donor makes its few library calls before it publishes its thread pointer. From then on it
//! touches no thread-local storage while a borrower may run with the block. Only between two
//! regions it may run signal handlers. It parks by a raw system call; the library's wrapper would
//! write `errno`. It ends when it is notified to end, while it is not borrowed ([`end`]). Then it
//! is an ordinary thread once more, and its thread-local destructors run.
//!
//! A donor's stack takes about 104 KiB of address space and 8 KiB of touched memory. It takes more
//! when the loaded objects have large thread-local storage.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::signals::mask;
use crate::stack::kernel;
use crate::sys::{arch, futex, thread};
use crate::tls_block::record::TlsBlock;
use crate::tls_block::restartable;
use crate::worker::words;

/// The name that debuggers and `/proc` show; at most 15 characters.
const NAME: &CStr = c"gangway-donor";

/// What the maker of donors tells all of them. It stays until none is expected: a donor's last access
/// is the subtraction from `expected`.
struct Births {
    /// The signal mask of the maker.
    mask: u64,
    /// The stall monitor's signal, as a set: a donor is kicked by this signal.
    monitor_signal: u64,
    /// Number of donors that still use their storage.
    expected: AtomicU32,
}

/// A new donor.
struct Birth {
    /// The record; the donor completes it.
    tls_block: &'static TlsBlock,
    births: *const Births,
}

/// Donors that were started, and may not have published their thread pointers yet. They use its
/// memory until then, so its end waits for them.
pub(super) struct StartedDonors {
    /// On the heap, as `all`: the donors have the addresses.
    births: Box<Births>,
    all: Vec<Birth>,
    started: usize,
}

/// Starts a donor for each record. The donor fills in its number and thread pointer. The system may
/// refuse a thread or the memory for it; [`StartedDonors::wait`] says how many there are.
///
/// The donors have the maker's signal mask: for the kernel, they stand for threads of the maker's
/// team.
pub(super) fn start_all(tls_blocks: &[&'static TlsBlock]) -> StartedDonors {
    let births = Box::new(Births {
        mask: mask::current_mask(),
        monitor_signal: crate::stall::signal::signal_as_set(),
        expected: AtomicU32::new(tls_blocks.len() as u32),
    });
    let births_at = ptr::from_ref(&*births);
    let all: Vec<Birth> = tls_blocks.iter().map(|tls_block| Birth { tls_block, births: births_at }).collect();
    let started = all.iter().take_while(|birth| start(birth)).count();
    // ORDERING: Relaxed; those that were not started have published nothing.
    births.expected.fetch_sub((all.len() - started) as u32, Ordering::Relaxed);
    StartedDonors { births, all, started }
}

fn start(birth: &Birth) -> bool {
    // `birth` outlives the thread's last access to it, because the end of `StartedDonors` waits.
    kernel::start_thread(stack_size(), main, ptr::from_ref(birth).cast_mut().cast(), |_| ()).is_ok()
}

impl StartedDonors {
    /// Waits until all of them have published their thread pointers. Returns how many there are,
    /// those of the first records.
    pub(super) fn wait(self) -> usize {
        self.started
    }
}

impl Drop for StartedDonors {
    fn drop(&mut self) {
        loop {
            // ORDERING: Acquire, pairs with the Release in `main`: the records are complete, and the
            // donors no longer use their storage. Each subtraction continues the release sequences
            // of those before it.
            match self.births.expected.load(Ordering::Acquire) {
                0 => break,
                expected => futex::wait(&self.births.expected, expected, None),
            };
        }
        debug_assert!(self.started <= self.all.len());
    }
}

/// Bytes of address space that a donor takes: its stack, with the page that guards it.
pub(super) fn address_space() -> usize {
    kernel::address_space(stack_size())
}

/// Bytes for the program's handlers. A donor runs them while its thread is between two regions.
const FOR_HANDLERS: usize = 64 << 10;

/// Bytes of a donor's stack, which contains its static thread-local storage.
pub(super) fn stack_size() -> usize {
    FOR_HANDLERS + libc::PTHREAD_STACK_MIN + kernel::minimal_stack()
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// The only function of a donor.
extern "C" fn main(argument: *mut c_void) -> *mut c_void {
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    thread::set_name(NAME);
    // SAFETY: a plain call on the calling thread. A request to cancel the thread that runs with
    // this storage must not end the donor: its destructors would run in storage that is in use.
    unsafe {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, ptr::null_mut());
    }
    restartable::unregister();
    // SAFETY: `StartedDonors` holds both until the donor is no longer expected.
    let (tls_block, births) = unsafe {
        let birth = &*argument.cast::<Birth>();
        (birth.tls_block, &*birth.births)
    };
    let (word, mask) = (&raw const births.expected, births.mask & !births.monitor_signal);
    tls_block.set_mask(births.mask);
    tls_block.set_tls_donor_mask(mask);
    words::note_tls_block(tls_block);
    tls_block.note_number();
    // ORDERING: Relaxed, both; ordered by `expected`.
    // SAFETY: only asks.
    tls_block.tls_donor_thread.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
    // ORDERING: as above.
    tls_block.fs.store(arch::thread_pointer(), Ordering::Relaxed);
    // ORDERING: Release, pairs with the Acquire in `StartedDonors::drop`. From here on the storage
    // belongs to the borrower.
    if births.expected.fetch_sub(1, Ordering::Release) == 1 {
        // The memory that holds the word may be gone already.
        futex::wake(word, 1);
    }
    mask::set_mask(mask);
    sleep_until_end_requested(tls_block);
    // The storage belongs to this thread again. Its words name the worker that used it last.
    words::clear_runtime_words();
    thread::set_name(c"gangway-end");
    ptr::null_mut()
}

/// Sleeps until [`end`] notifies the donor to end. Signals that the donor passes on interrupt the
/// sleep, and so does the C library's broadcast for `setuid`.
fn sleep_until_end_requested(tls_block: &'static TlsBlock) {
    // ORDERING: Acquire, pairs with the Release in `end`: the storage is as its last user has left
    // it.
    while tls_block.end_requested.load(Ordering::Acquire) == 0 {
        futex::wait(&tls_block.end_requested, 0, None);
    }
}

/// Notifies a donor that is not borrowed to end. Its record is not used again.
pub(super) fn end(tls_block: &'static TlsBlock) {
    // ORDERING: Relaxed; a handler that still reads the old number queues a signal that is dropped.
    tls_block.number.store(0, Ordering::Relaxed);
    // ORDERING: Release, pairs with the Acquire in `sleep_until_end_requested`.
    tls_block.end_requested.store(1, Ordering::Release);
    futex::wake(&raw const tls_block.end_requested, 1);
}

/// Waits until a donor that was notified to [`end`] has run its thread-local destructors. Then it
/// drops the signals in the donor's queue, because their thread has ended.
pub(super) fn join(tls_block: &'static TlsBlock) {
    // ORDERING: Relaxed; written before any other thread had the record.
    kernel::join(tls_block.tls_donor_thread.load(Ordering::Relaxed) as libc::pthread_t);
    tls_block.signals.clear();
}
