//! The area for restartable sequences, which glibc 2.35 and later register for each thread.
//!
//! The kernel writes the number of the processor to the area of a kernel thread. `sched_getcpu` reads
//! it, and so do libraries with data for each processor. While a thread runs with the TLS block of
//! another kernel thread, the number in that block is out of date. So the area is unregistered and
//! marked before. Readers then ask the kernel.
//!
//! What does not live here: who runs with which block ([`super`]).

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

use crate::sys::arch;

/// Offset of `cpu_id` in the kernel's `struct rseq`, four bytes.
const CPU_ID: usize = 4;
/// Offset of `rseq_cs` there, eight bytes: the last sequence that was begun. The kernel clears it
/// when it interrupts the thread outside of a sequence.
const LAST_SEQUENCE: usize = 8;
/// The value that the C library writes if the registration failed. Readers then ask the kernel for
/// the processor.
const REGISTRATION_FAILED: i32 = -2;

/// Where glibc keeps the area, relative to the thread pointer, and the size that glibc states. Size
/// zero: there is none.
static AREA_OFFSET: AtomicIsize = AtomicIsize::new(0);
static AREA_SIZE: AtomicUsize = AtomicUsize::new(0);
/// A thread of the program has used restartable sequences.
static ARE_USED: AtomicBool = AtomicBool::new(false);

/// Looks up the area in the C library. A donor must not do this itself, because `dlsym` takes the
/// loader's lock. A constructor may hold that lock for as long as it runs, and may wait for the very
/// region that needs the donor.
pub(super) fn look_up() {
    let offset = constant::<isize>(c"__rseq_offset");
    let size = constant::<u32>(c"__rseq_size");
    if let (Some(offset), Some(size)) = (offset, size) {
        // ORDERING: Relaxed, both; the Release in `support` publishes them.
        AREA_OFFSET.store(offset, Ordering::Relaxed);
        AREA_SIZE.store(size as usize, Ordering::Relaxed);
    }
}

fn constant<T: Copy>(name: &CStr) -> Option<T> {
    // SAFETY: the two symbols, where glibc has them, are a `ptrdiff_t` and an `unsigned int`,
    // constant after start-up.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<T>().as_ref().copied() }
}

/// The area of the calling kernel thread, which runs with its own TLS block.
#[derive(Clone, Copy)]
struct Area {
    start: *mut u8,
    /// The size that glibc states.
    stated: usize,
}

impl Area {
    /// `None` if glibc has registered none.
    fn of_this_thread() -> Option<Self> {
        // ORDERING: Relaxed, both; the caller has asked `support`, or was created by a thread that
        // has.
        let (offset, stated) = (AREA_OFFSET.load(Ordering::Relaxed), AREA_SIZE.load(Ordering::Relaxed));
        (stated != 0)
            .then(|| Self { start: arch::thread_pointer().wrapping_add_signed(offset) as *mut u8, stated })
    }

    fn field<T>(self, offset: usize) -> *mut T {
        self.start.wrapping_add(offset).cast()
    }

    fn is_registered(self) -> bool {
        // SAFETY: as in `unregister`.
        unsafe { self.field::<i32>(CPU_ID).read_volatile() != REGISTRATION_FAILED }
    }

    /// Has the thread begun a sequence since the kernel last interrupted it?
    fn has_recent_sequence(self) -> bool {
        // SAFETY: as in `unregister`; the field is aligned.
        unsafe { self.field::<u64>(LAST_SEQUENCE).read_volatile() != 0 }
    }

    /// Unregisters the area with the size that glibc has used, and marks it. Until glibc 2.39 the
    /// size is 32. Later it is what the kernel offers, at least 32.
    ///
    /// If the kernel refuses all sizes, it may write the processor once more. Then `sched_getcpu` is
    /// wrong under this TLS block, which costs locality and nothing else.
    fn unregister(self) {
        const UNREGISTER: usize = 1;
        const SIGNATURE: usize = 0x5305_3053;
        const AT_RSEQ_FEATURE_SIZE: libc::c_ulong = 27;
        // SAFETY: only asks.
        let offered = unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize;
        let area = self.start as usize;
        // SAFETY: the kernel compares address, size and signature with the values registered for
        // this thread, and refuses (EINVAL, EPERM) if they differ.
        let ends = |&size: &usize| unsafe {
            arch::system_call(libc::SYS_rseq as usize, [area, size, UNREGISTER, SIGNATURE]) == 0
        };
        [32, self.stated, offered.next_multiple_of(32)].iter().any(ends);
        // SAFETY: the area is in this thread's block and has at least 32 bytes. Only this thread
        // and, before the system call, the kernel write it.
        unsafe { self.field::<i32>(CPU_ID).write_volatile(REGISTRATION_FAILED) };
    }
}

/// Unregisters the calling thread's area for good, if it is registered. For a donor, and for a thread
/// that is about to run elsewhere with its TLS block. The caller runs with the kernel thread's own
/// block.
pub(crate) fn unregister() {
    if let Some(area) = Area::of_this_thread().filter(|area| area.is_registered()) {
        area.unregister();
    }
}

/// Does the program use restartable sequences, as far as can be seen? Then a thread must stay on its
/// kernel thread. The caller runs with the kernel thread's own TLS block.
pub(crate) fn are_used() -> bool {
    if Area::of_this_thread().is_some_and(|area| area.is_registered() && area.has_recent_sequence()) {
        // ORDERING: Relaxed; a flag by itself.
        ARE_USED.store(true, Ordering::Relaxed);
    }
    // ORDERING: as above.
    ARE_USED.load(Ordering::Relaxed)
}
