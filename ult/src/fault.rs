//! Turns the overflow of one of our stacks into a message; every other fault goes to the action
//! that was installed before ours.
//!
//! The handler acts only when the faulting address lies in a guard area of ours (`stack::guards`).
//! It writes one line with `write`, restores the default action and returns: the access faults
//! again and the process dies by the signal, with a core file that shows the overflow. Everything
//! else is passed on as the kernel would have delivered it: same arguments, same signal mask,
//! `SA_RESETHAND` and `SA_NODEFER` honoured, `SIG_IGN` and `SIG_DFL` with their effect. One
//! difference remains: a handler that did not ask for an alternate stack may run on ours (256 KiB).
//!
//! A program that installs its own handler after us replaces ours, and loses the message: that is
//! its right.
//!
//! Each kernel thread that runs our stacks needs an alternate signal stack, because the overflowed
//! one has no room left. A thread that already has one keeps it.
//!
//! What may not live here: the words of any layer above. The hint that names an environment
//! variable is supplied by [`set_overflow_hint`].
//!
//! Tried and rejected:
//! * Asking which stack the interrupted stack pointer is in: an overflowing function may fault with
//!   the stack pointer already far below the guard.
//! * Blocking nothing but restoring the previous handler and returning: a handler that repairs the
//!   fault and continues would leave us uninstalled.
use crate::stack::guards;
use core::cell::UnsafeCell;
use core::mem::{self, MaybeUninit};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use libc::{c_int, c_void, siginfo_t, ucontext_t};

/// Bytes of an alternate signal stack of ours: room for a handler of the program that was meant for
/// a normal stack.
const ALTERNATE: usize = 256 << 10;
/// Bytes in front of the alternate stack that mark it as ours.
const HEADER: usize = 64;
const MARK: usize = 0x676e_7761_7961_6c74;
/// Below the alternate stack; larger than any page.
const ALTERNATE_GUARD: usize = 64 << 10;
/// Bytes of address space that an alternate stack takes.
pub(crate) const ALTERNATE_SPACE: usize = ALTERNATE_GUARD + HEADER + ALTERNATE;

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// What handled a signal before us. Written once by [`install`] before our handler can run,
/// read-only afterwards.
struct Previous {
    action: UnsafeCell<MaybeUninit<libc::sigaction>>,
    /// `SA_RESETHAND` has had its effect: the default action is in force.
    spent: AtomicBool,
}

// SAFETY: `action` is written by the one thread that wins `INSTALLED`, before sigaction() makes our
// handler, its only reader, reachable.
unsafe impl Sync for Previous {}

static PREVIOUS: [Previous; 2] =
    [const { Previous { action: UnsafeCell::new(MaybeUninit::zeroed()), spent: AtomicBool::new(false) } }; 2];
static INSTALLED: AtomicBool = AtomicBool::new(false);
static HINT: AtomicPtr<&'static str> = AtomicPtr::new(ptr::null_mut());

/// Installs the handler for SIGSEGV and SIGBUS, once per process; later calls do nothing. Any
/// thread.
#[cold]
pub fn install() {
    // ORDERING: only the winner goes on; it publishes nothing through this flag (the kernel orders
    // sigaction).
    if INSTALLED.swap(true, Relaxed) {
        return;
    }
    for (signal, previous) in SIGNALS.into_iter().zip(&PREVIOUS) {
        // SAFETY: `previous.action` is ours to write (see `Previous`); the new action is fully
        // initialised.
        unsafe {
            let old = previous.action.get().cast::<libc::sigaction>();
            libc::sigaction(signal, ptr::null(), old);
            let mut ours: libc::sigaction = mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            // The mask that the previous handler would have had is set when it is called.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | ((*old).sa_flags & libc::SA_RESTART);
            libc::sigemptyset(&raw mut ours.sa_mask);
            libc::sigaction(signal, &raw const ours, ptr::null_mut());
        }
    }
}

/// What to tell the user after "gangway: stack overflow of a user-level thread; ". One line,
/// without a full stop.
///
/// Any thread; the last call counts. Each call keeps 16 bytes for good, so that the handler never
/// reads a freed text.
pub fn set_overflow_hint(hint: &'static str) {
    // ORDERING: Release pairs with the Acquire load in `report`.
    HINT.store(Box::leak(Box::new(hint)), Release);
}

/// Gives this kernel thread an alternate signal stack if it has none; otherwise returns the one
/// that it has. Cheap when it has one (one system call).
///
/// Without memory for it the thread goes on without: an overflow then ends without the message.
#[cold]
pub fn enter_kernel_thread() -> Option<libc::stack_t> {
    let current = current_alternate();
    if current.ss_flags & libc::SS_DISABLE == 0 {
        return Some(current);
    }
    if let Some(stack) = new_alternate() {
        set_alternate(&stack);
    }
    None
}

/// A new alternate stack, which stays until `leave_kernel_thread` of the thread that has it; `None`
/// without memory.
pub(crate) fn new_alternate() -> Option<libc::stack_t> {
    map_alternate().map(|base| libc::stack_t { ss_sp: base.cast(), ss_flags: 0, ss_size: ALTERNATE })
}

/// `sigaltstack(2)` past the C library, whose function answers for the OpenMP thread. An error
/// number, or zero. Async-signal-safe.
///
/// # Safety
/// As the system call.
pub(crate) unsafe fn ask_alternate(new: *const libc::stack_t, old: *mut libc::stack_t) -> i32 {
    // SAFETY: passed on.
    -unsafe {
        crate::sys::arch::system_call(libc::SYS_sigaltstack as usize, [new as usize, old as usize, 0, 0])
    } as i32
}

/// Sets the kernel thread's alternate stack, which is mapped as long as it has it. An error number,
/// or zero.
pub(crate) fn set_alternate(stack: &libc::stack_t) -> i32 {
    // SAFETY: a valid description.
    unsafe { ask_alternate(stack, ptr::null_mut()) }
}

/// Did [`new_alternate`] make it?
pub(crate) fn is_ours(stack: &libc::stack_t) -> bool {
    let base = stack.ss_sp.cast::<u8>();
    // Ours starts HEADER bytes into a page. If a foreign stack has the same size and starts there
    // too, the header is in the same page as its first byte, so that reading it is safe.
    // SAFETY: same page as the first byte of the stack.
    stack.ss_size == ALTERNATE
        && base as usize % 4096 == HEADER
        && unsafe { base.wrapping_sub(HEADER).cast::<usize>().read() == MARK }
}

/// Frees this kernel thread's alternate signal stack if [`enter_kernel_thread`] made it. Not from a
/// signal handler.
pub fn leave_kernel_thread() {
    let current = current_alternate();
    let base = current.ss_sp.cast::<u8>();
    if current.ss_flags & (libc::SS_DISABLE | libc::SS_ONSTACK) != 0 || !is_ours(&current) {
        return;
    }
    let header = base.wrapping_sub(HEADER);
    // SAFETY: `map_alternate` made it, and nothing runs on it.
    unsafe {
        let off = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        set_alternate(&off);
        libc::munmap(header.sub(ALTERNATE_GUARD).cast(), ALTERNATE_SPACE);
    }
}

pub(crate) fn current_alternate() -> libc::stack_t {
    let mut current = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    // SAFETY: only asks.
    unsafe { ask_alternate(ptr::null(), &raw mut current) };
    current
}

/// Maps guard, header and alternate stack; returns the stack's lowest byte.
fn map_alternate() -> Option<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
    // SAFETY: a new mapping at an address that the kernel chooses, changed before anybody knows it.
    unsafe {
        let base =
            libc::mmap(ptr::null_mut(), ALTERNATE_SPACE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if base == libc::MAP_FAILED {
            return None;
        }
        crate::stack::make_inaccessible(base, ALTERNATE_GUARD);
        let header = base.cast::<u8>().add(ALTERNATE_GUARD);
        header.cast::<usize>().write(MARK);
        Some(header.add(HEADER))
    }
}

unsafe extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers to an SA_SIGINFO handler.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    let by_kernel = code > 0;
    if by_kernel && guards::contains(address) {
        report();
        default_action(signal);
        return;
    }
    // SAFETY: the arguments are the kernel's own.
    unsafe { chain(signal, by_kernel, info, context) };
}

/// The one line, by one plain `write`: the heap and every lock may be held by the victim.
fn report() {
    let mut line = [0_u8; 512];
    // ORDERING: Acquire pairs with the Release store in `set_overflow_hint`.
    let hint = HINT.load(Acquire);
    // SAFETY: null or a leaked, never changed text.
    let hint = unsafe { hint.as_ref() }.map_or("the program ends here", |hint| *hint);
    let mut end = 0;
    for &byte in
        b"gangway: stack overflow of a user-level thread; ".iter().chain(hint.as_bytes()).take(line.len() - 1)
    {
        line[end] = byte;
        end += 1;
    }
    line[end] = b'\n';
    // SAFETY: writes a local buffer. One write, so that lines of several threads do not mix.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), end + 1) };
}

/// Puts the default action in force; a fault then kills when the handler returns to it.
fn default_action(signal: c_int) {
    // SAFETY: an all-zero action is SIG_DFL with an empty mask; async-signal-safe.
    unsafe {
        let action: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}

/// Does what the kernel would have done had we not been installed.
///
/// # Safety
/// Called from a signal handler with the kernel's arguments.
unsafe fn chain(signal: c_int, by_kernel: bool, info: *mut siginfo_t, context: *mut c_void) {
    let previous = &PREVIOUS[usize::from(signal == libc::SIGBUS)];
    // SAFETY: written before our handler was reachable, never again (see `Previous`).
    let action = unsafe { (*previous.action.get()).assume_init_ref() };
    let reset = action.sa_flags & libc::SA_RESETHAND != 0;
    // ORDERING: only who swaps first matters, and the kernel has serialised nothing more for the
    // program either.
    let handler =
        if reset && previous.spent.swap(true, Relaxed) { libc::SIG_DFL } else { action.sa_sigaction };
    match handler {
        // A signal sent by `kill` is ignored; a fault cannot be.
        libc::SIG_IGN if !by_kernel => {}
        libc::SIG_IGN => default_action(signal),
        libc::SIG_DFL => {
            default_action(signal);
            if !by_kernel {
                // SAFETY: async-signal-safe. Blocked until our handler returns, then fatal.
                unsafe { libc::raise(signal) };
            }
        }
        // SAFETY: a handler that the program installed for this signal, called with the kernel's
        // arguments and with the mask that the kernel would have set.
        _ => unsafe { call(handler, action, signal, info, context) },
    }
}

/// # Safety
/// `handler` and `action` are the program's; the other arguments the kernel's.
unsafe fn call(
    handler: usize,
    action: &libc::sigaction,
    signal: c_int,
    info: *mut siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the caller passes the program's handler, whose type its own flags tell; the
    // interrupted context is valid for as long as this handler runs. Returning from our handler
    // restores the interrupted mask.
    unsafe {
        let mut mask = handler_mask(&*context.cast::<ucontext_t>(), action, signal);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw mut mask, ptr::null_mut());
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            let handler: unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void) =
                mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: unsafe extern "C-unwind" fn(c_int) = mem::transmute(handler);
            handler(signal);
        }
    }
}

/// The mask in force before the fault, plus the handler's own, plus the signal itself unless
/// `SA_NODEFER`.
fn handler_mask(context: &ucontext_t, action: &libc::sigaction, signal: c_int) -> libc::sigset_t {
    // SAFETY: plain set arithmetic on local copies. The kernel writes 64 bits of the interrupted
    // mask, so the rest of the C library's larger type is not looked at.
    unsafe {
        let mut mask: libc::sigset_t = mem::zeroed();
        for number in 1..=64 {
            let interrupted = libc::sigismember(&raw const context.uc_sigmask, number) == 1;
            if interrupted || libc::sigismember(&raw const action.sa_mask, number) == 1 {
                libc::sigaddset(&raw mut mask, number);
            }
        }
        if action.sa_flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&raw mut mask, signal);
        }
        mask
    }
}
