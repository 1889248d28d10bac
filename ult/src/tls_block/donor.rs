//! Making a donor: an ordinary pthread that gives its thread block away until it is notified to
//! end.
//!
//! A donor runs two library calls under its own TLS block, publishes its thread pointer, and from
//! then on touches no thread-local storage: somebody else may be running with it. That is why it
//! parks by a raw system call (the library's wrapper would write `errno`). It ends when it is
//! notified to, while it is not borrowed ([`end`]): then it is an ordinary thread once more, and
//! its thread-local destructors run.
//!
//! What lives here: its creation, its only function. What may not: the pool ([`super`]).
//!
//! Its stack takes about 104 KiB of address space and 8 KiB of touched memory, more when the loaded
//! objects have large thread-local storage.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicIsize, AtomicU32, AtomicUsize, Ordering};

use super::TlsBlock;
use crate::arch;
use crate::signals;
use crate::stack::kernel;
use crate::worker;

/// Shown by debuggers and `/proc`; at most 15 characters.
const NAME: &CStr = c"gangway-donor";

/// Between a donor and its maker. Lives in the maker's frame: the donor's last access is the store
/// to `ready`.
struct Birth {
    /// Filled in by the donor.
    tls_block: &'static TlsBlock,
    /// The signal mask of the maker.
    mask: u64,
    /// The set of the monitor's signal, by which a donor is kicked.
    monitor_signal: u64,
    ready: AtomicU32,
}

/// Makes a donor, and fills in its number and thread pointer. False when the system refuses a
/// thread or the memory for it.
///
/// The donor has the maker's signal mask: it stands for a thread of the maker's team where the
/// kernel is concerned.
pub(super) fn make(tls_block: &'static TlsBlock) -> bool {
    let birth = Birth {
        tls_block,
        mask: signals::current_mask(),
        monitor_signal: crate::stall::signal_as_set(),
        ready: AtomicU32::new(0),
    };
    if start(&birth).is_none() {
        return false;
    }
    // ORDERING: Acquire, pairs with the Release in `main`: the record is complete, and the donor
    // has left its storage.
    while birth.ready.load(Ordering::Acquire) == 0 {
        let wait = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
        // SAFETY: the word lives in this frame; no time limit.
        unsafe { arch::system_call(libc::SYS_futex as usize, [birth.ready.as_ptr() as usize, wait, 0, 0]) };
    }
    true
}

fn start(birth: &Birth) -> Option<()> {
    // SAFETY: plain POSIX calls on a local, initialised object.
    let least = unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let least = stack_size(&attributes);
        libc::pthread_attr_destroy(&mut attributes);
        least
    };
    // `birth` outlives the thread's last access to it, because `make` waits for `ready`.
    kernel::start_thread(least, main, ptr::from_ref(birth).cast_mut().cast(), |_| ()).ok()
}

/// Bytes for handlers of the program, which a donor runs while its thread is between two regions.
const FOR_HANDLERS: usize = 64 << 10;

/// Bytes of a donor's stack; its static thread-local storage lies in them.
pub(super) fn stack_size(attributes: &libc::pthread_attr_t) -> usize {
    FOR_HANDLERS + libc::PTHREAD_STACK_MIN + crate::pool::minimal_stack(attributes)
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, old: *mut c_int) -> c_int;
}

/// The life of a donor.
extern "C" fn main(argument: *mut c_void) -> *mut c_void {
    const PTHREAD_CANCEL_DISABLE: c_int = 1;
    kernel::set_name(NAME);
    // SAFETY: a plain call on the calling thread. A request to cancel the wearer must not end the
    // donor: its destructors would run in storage that somebody runs with.
    unsafe {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, ptr::null_mut());
    }
    leave_restartable_sequences();
    // SAFETY: `make` waits in the frame that holds it until `ready` is set.
    let birth = unsafe { &*argument.cast::<Birth>() };
    let tls_block = birth.tls_block;
    let (word, mask) = (birth.ready.as_ptr() as usize, birth.mask & !birth.monitor_signal);
    tls_block.set_mask(birth.mask);
    tls_block.set_tls_donor_mask(mask);
    worker::note_tls_block(tls_block);
    let tid = worker::kernel_thread();
    // ORDERING: Relaxed, all three; ordered by `ready`.
    tls_block.tls_donor.store(tid, Ordering::Relaxed);
    // ORDERING: as above.
    // SAFETY: only asks.
    tls_block.tls_donor_thread.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
    // ORDERING: as above.
    tls_block.fs.store(arch::thread_pointer(), Ordering::Relaxed);
    // ORDERING: Release, pairs with the Acquire in `make`. From here on the storage is somebody
    // else's.
    birth.ready.store(1, Ordering::Release);
    let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: waking uses the address as a key only; at worst, when the frame is gone already, it
    // wakes somebody for nothing, which every futex user expects.
    unsafe { arch::system_call(libc::SYS_futex as usize, [word, wake, 1, 0]) };
    signals::set_mask(mask);
    sleep_until_end_requested(tls_block);
    // The storage is this thread's again. Its words name the worker that has used it last.
    worker::clear_runtime_words();
    kernel::set_name(c"gangway-end");
    ptr::null_mut()
}

/// Sleeps until [`end`] tells the donor to end. Signals that the donor passes on, and the C
/// library's broadcast for `setuid`, interrupt the sleep.
fn sleep_until_end_requested(tls_block: &'static TlsBlock) {
    // ORDERING: Acquire, pairs with the Release in `end`: the storage is as its last user has left
    // it.
    while tls_block.end_requested.load(Ordering::Acquire) == 0 {
        let wait = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
        // SAFETY: records are never freed; no time limit.
        unsafe {
            arch::system_call(
                libc::SYS_futex as usize,
                [tls_block.end_requested.as_ptr() as usize, wait, 0, 0],
            )
        };
    }
}

/// Tells a donor that is not borrowed to end. Its record is not used again.
pub(super) fn end(tls_block: &'static TlsBlock) {
    // ORDERING: Relaxed; a handler that still reads the old number queues a signal that is dropped.
    tls_block.tls_donor.store(0, Ordering::Relaxed);
    // ORDERING: Release, pairs with the Acquire in `sleep_until_end_requested`.
    tls_block.end_requested.store(1, Ordering::Release);
    let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: records are never freed.
    unsafe {
        arch::system_call(libc::SYS_futex as usize, [tls_block.end_requested.as_ptr() as usize, wake, 1, 0])
    };
}

/// Waits until a donor that was asked to [`end`] has run its thread-local destructors. Then drops
/// the signals in its queue: their thread has ended.
pub(super) fn join(tls_block: &'static TlsBlock) {
    // ORDERING: Relaxed; written before anybody has the record.
    kernel::join(tls_block.tls_donor_thread.load(Ordering::Relaxed) as libc::pthread_t);
    tls_block.signals.clear();
}

/// Offset of `cpu_id` in the kernel's `struct rseq`.
const CPU_ID: usize = 4;
/// What the C library writes where registering failed; readers then ask the kernel for the
/// processor.
const REGISTRATION_FAILED: i32 = -2;

/// Makes the area for restartable sequences in this thread's block one that is not registered
/// (glibc 2.35 and later register it). The kernel keeps writing the *wearer's* processor to the
/// wearer's own area, so the number here would be the one on which the donor last ran, and
/// `sched_getcpu` believes it.
fn leave_restartable_sequences() {
    let Some((area, size)) = restartable_area() else { return };
    unregister(area, size);
    // SAFETY: the area is in this thread's block and has at least 32 bytes. Only this thread and,
    // before `unregister`, the kernel write it.
    unsafe { area.wrapping_add(CPU_ID).cast::<i32>().write_volatile(REGISTRATION_FAILED) };
}

/// Where glibc keeps the area, relative to the thread pointer, and the size it states for it; size
/// zero for none.
static AREA_OFFSET: AtomicIsize = AtomicIsize::new(0);
static AREA_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Looks up what making a donor needs of the C library. Not left to the donor: `dlsym` takes the
/// loader's lock, which may be held for as long as a constructor runs, and that may be waiting for
/// the very region that needs the donor.
pub(super) fn look_up() {
    // SAFETY: the symbols, where glibc has them, are a `ptrdiff_t` and an `unsigned int`, constant
    // after start-up; the attributes are written before they are read.
    unsafe {
        let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>().as_ref();
        let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>().as_ref();
        if let (Some(offset), Some(size)) = (offset, size) {
            // ORDERING: Relaxed, both; the Release in `support` publishes them.
            AREA_OFFSET.store(*offset, Ordering::Relaxed);
            AREA_SIZE.store(*size as usize, Ordering::Relaxed);
        }
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        crate::pool::minimal_stack(&attributes);
        libc::pthread_attr_destroy(&mut attributes);
    }
}

/// The calling thread's area and the size glibc states for it, when glibc has registered one.
fn restartable_area() -> Option<(*mut u8, usize)> {
    // ORDERING: Relaxed, both; the donor's maker has asked `support`, and creating a thread orders
    // that before it.
    let (offset, size) = (AREA_OFFSET.load(Ordering::Relaxed), AREA_SIZE.load(Ordering::Relaxed));
    (size != 0).then(|| (arch::thread_pointer().wrapping_add_signed(offset) as *mut u8, size))
}

/// Unregisters with the size that glibc has used: 32 until 2.39, then what the kernel offers, at
/// least 32.
///
/// Should all be refused, the kernel writes the donor's processor once more if it is preempted
/// before it sleeps; then `sched_getcpu` is wrong under this TLS block, which costs locality and
/// nothing else.
fn unregister(area: *mut u8, stated: usize) {
    const UNREGISTER: usize = 1;
    const SIGNATURE: usize = 0x5305_3053;
    const AT_RSEQ_FEATURE_SIZE: libc::c_ulong = 27;
    // SAFETY: only asks.
    let offered = unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize;
    for size in [32, stated, offered.next_multiple_of(32)] {
        // SAFETY: the kernel compares address, size and signature with what is registered for this
        // thread, and refuses (EINVAL, EPERM) unless they are the same.
        if unsafe { arch::system_call(libc::SYS_rseq as usize, [area as usize, size, UNREGISTER, SIGNATURE]) }
            == 0
        {
            return;
        }
    }
}
