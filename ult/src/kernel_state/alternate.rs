//! The alternate signal stack of each thread.
//!
//! The kernel keeps one alternate stack per kernel thread, and writes every signal frame there. The
//! monitor's frame is one of them, and needs more room than many programs give. So a kernel thread
//! has the stack of the thread that runs only if that is large. Otherwise it has one of ours, and
//! handlers that ask for the alternate stack are moved to the thread's ([`crate::signals`]). A
//! program that asks for its alternate stack always gets that of its thread. Handlers of faults,
//! which the kernel calls itself, run on ours then.
//!
//! Rejected: the program's stack whatever its size. Rust gives its threads 8 KiB; the kernel writes
//! three of them, and the monitor's handler did not fit into the rest when it was built without
//! optimisation.
//!
//! Source: `sigaltstack(2)`; Linux, `do_sigaltstack`.
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use libc::{SS_DISABLE, SS_ONSTACK, stack_t};

use crate::fault;
use crate::sched;
use crate::signals::actions;
use crate::tls_block::TlsBlock;
use crate::worker::Worker;

/// Bytes of a stack on which the monitor's signal may come as well.
const ENOUGH: usize = 64 << 10;
/// The kernel refuses less.
const LEAST: usize = 2048;
/// `SS_AUTODISARM`.
const AUTODISARM: i32 = 1 << 31;

/// Some thread has an alternate stack of its own.
static ANY: AtomicBool = AtomicBool::new(false);

/// An alternate stack; of no bytes: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alternate {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
    flags: i32,
}

impl Alternate {
    pub(super) const NONE: Alternate = Alternate { start: 0, bytes: 0, flags: SS_DISABLE };

    fn of(stack: &stack_t) -> Self {
        let flags = stack.ss_flags & AUTODISARM;
        if stack.ss_flags & SS_DISABLE != 0 {
            Self::NONE
        } else {
            Self { start: stack.ss_sp as usize, bytes: stack.ss_size, flags }
        }
    }

    fn to_c(self) -> stack_t {
        stack_t { ss_sp: self.start as *mut _, ss_flags: self.flags, ss_size: self.bytes }
    }

    pub(crate) fn contains(&self, sp: usize) -> bool {
        sp.wrapping_sub(self.start) < self.bytes
    }
}

/// The alternate stack of a thread, kept with its TLS block.
pub(super) struct KeptStack {
    start: AtomicUsize,
    bytes: AtomicUsize,
    flags: AtomicUsize,
}

impl KeptStack {
    pub(super) const fn new() -> Self {
        Self { start: AtomicUsize::new(0), bytes: AtomicUsize::new(0), flags: AtomicUsize::new(0) }
    }

    /// Written by the thread itself, which reads it, its handlers included.
    pub(super) fn store(&self, stack: Alternate) {
        // ORDERING: Relaxed, all three; handed on with the thread.
        self.bytes.store(0, Relaxed);
        self.start.store(stack.start, Relaxed);
        // ORDERING: as above.
        self.flags.store(stack.flags as u32 as usize, Relaxed);
        self.bytes.store(stack.bytes, Relaxed);
    }

    pub(super) fn load(&self) -> Alternate {
        // ORDERING: as above.
        let (start, bytes) = (self.start.load(Relaxed), self.bytes.load(Relaxed));
        // ORDERING: as above.
        if bytes == 0 {
            Alternate::NONE
        } else {
            Alternate { start, bytes, flags: self.flags.load(Relaxed) as u32 as i32 }
        }
    }
}

/// What a kernel thread has.
pub(super) struct AlternateStackHost {
    /// One of ours, made when it is needed; none: not yet, or no memory.
    ours: Option<Alternate>,
    /// What the kernel has; none: not known.
    has: Option<Alternate>,
}

impl AlternateStackHost {
    pub(super) const NEW: AlternateStackHost = AlternateStackHost { ours: None, has: None };

    fn learn(&mut self) -> Alternate {
        *self.has.get_or_insert_with(|| Alternate::of(&fault::current_alternate()))
    }

    /// What the kernel is to have while a thread runs that has `wanted`.
    fn chosen(&mut self, wanted: Alternate) -> Alternate {
        if wanted.bytes >= ENOUGH {
            return wanted;
        }
        let has = self.learn();
        let is_ours = |stack: Alternate| fault::is_ours(&stack.to_c());
        let ours = self.ours.or_else(|| {
            if is_ours(has) { Some(has) } else { fault::new_alternate().map(|stack| Alternate::of(&stack)) }
        });
        self.ours = ours;
        ours.unwrap_or(wanted)
    }

    /// Gives the kernel what a thread needs that has `wanted`. An error number, or zero.
    fn change(&mut self, wanted: Alternate) -> i32 {
        let chosen = self.chosen(wanted);
        if self.learn() == chosen {
            return 0;
        }
        // Refused while a handler stands on the present one.
        let error = fault::set_alternate(&chosen.to_c());
        if error == 0 {
            self.has = Some(chosen);
        }
        error
    }
}

/// Another thread runs here now. In the scheduler, on the kernel thread.
pub(super) fn change(host: &mut AlternateStackHost, tls_block: &'static TlsBlock) {
    // ORDERING: Relaxed; who has set one sees its own store, others at a later switch.
    if ANY.load(Relaxed) && !crate::mutant!(alternate_stack_stays_with_worker) {
        host.change(of(tls_block));
    }
}

/// What the thread with `tls_block` has set.
pub(crate) fn of(tls_block: &'static TlsBlock) -> Alternate {
    tls_block.state.kept().map_or(Alternate::NONE, super::settings::KeptSettings::alternate)
}

fn note(tls_block: &'static TlsBlock, stack: Alternate) {
    tls_block.state.keep().note_alternate(stack);
    if stack.bytes != 0 && stack.bytes < ENOUGH {
        // Handlers that want it are moved there by ours.
        actions::take_over();
    }
    // ORDERING: Relaxed; see `change`.
    ANY.store(true, Relaxed);
    sched::threads_differ();
}

/// The kernel thread that becomes `worker` has an alternate stack of the program's: it is that of
/// the thread that it runs now.
pub(crate) fn found(worker: &'static Worker, stack: &stack_t) {
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    if let Some(tls_block) = own.native_tls_block {
        note(tls_block, Alternate::of(stack));
        own.kernel.alternate.change(of(tls_block));
    }
}

/// `sigaltstack(2)` for the calling thread, which stands at `sp`. An error number, or zero. Any
/// thread, in a signal handler, too.
///
/// # Safety
/// Null or valid pointers.
pub unsafe fn set_alternate_stack(new: *const stack_t, old: *mut stack_t, sp: usize) -> i32 {
    let Some((worker, tls_block)) = super::here() else {
        // SAFETY: passed on.
        let error = unsafe { fault::ask_alternate(new, old) };
        // The stack for the message about overflows is the runtime's.
        // SAFETY: as the caller says; the kernel has written it.
        let reported = unsafe { old.as_mut() };
        if let Some(reported) = reported.filter(|stack| error == 0 && fault::is_ours(stack)) {
            *reported = Alternate::NONE.to_c();
        }
        return error;
    };
    let has = of(tls_block);
    let stands_there = has.contains(sp);
    // SAFETY: as the caller says; `new` is read before `old` is written, which may be the same.
    let wanted = unsafe { new.as_ref().copied() };
    if let Some(wanted) = wanted {
        let mode = wanted.ss_flags & !AUTODISARM;
        if stands_there && has.flags & AUTODISARM == 0 {
            return libc::EPERM;
        }
        if !matches!(mode, 0 | SS_DISABLE | SS_ONSTACK) {
            return libc::EINVAL;
        }
        if mode != SS_DISABLE && wanted.ss_size < LEAST {
            return libc::ENOMEM;
        }
    }
    if !old.is_null() {
        let mut before = has.to_c();
        if stands_there {
            before.ss_flags |= SS_ONSTACK;
        }
        // SAFETY: as the caller says.
        unsafe { old.write(before) };
    }
    if let Some(wanted) = wanted {
        note(tls_block, Alternate::of(&wanted));
        // SAFETY: own kernel thread; program code runs.
        unsafe { (*worker.own()).kernel.alternate.change(of(tls_block)) };
    }
    0
}
