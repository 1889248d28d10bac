//! The program's actions, one for each signal, and the kernel's, which call [`super::handler`] from
//! [`take_over`] on.
//!
//! The kernel's table says what happens; ours keeps the program's handler where the kernel's names
//! ours. So whatever sets an action past the functions that are taken over has its effect: the
//! kernel's table is asked first.
//!
//! Not taken over: the signals of faults, which are handled where they are raised
//! ([`crate::fault`]), the two that the C library keeps for itself. The monitor's stays the
//! kernel's action for its number; it calls our handler for signals that it has not sent.
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence,
};

use super::mask;
use crate::sys::arch;

const SIGNALS: usize = 64;
/// Left alone: faults, what cannot be handled, and the C library's own.
const OURS_NEVER: [i32; 10] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    32,
    33,
];
const SA_RESTORER: usize = 0x0400_0000;

/// What the kernel knows of a signal: `struct kernel_sigaction` of x86-64 and aarch64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SignalAction {
    /// The handler, `SIG_DFL` or `SIG_IGN`.
    pub handler: usize,
    /// `SA_*`.
    pub flags: usize,
    /// What the C library has the kernel return to.
    pub restorer: usize,
    /// Bit `n - 1` for signal `n`.
    pub mask: u64,
}

/// An action of the program. Read by handlers while a thread changes it.
struct Kept {
    /// Odd while it is being changed.
    version: AtomicU64,
    handler: AtomicUsize,
    flags: AtomicUsize,
    mask: AtomicU64,
}

#[unsafe(link_section = ".sbss.large")]
static KEPT: [Kept; SIGNALS] = [const {
    Kept {
        version: AtomicU64::new(0),
        handler: AtomicUsize::new(0),
        flags: AtomicUsize::new(0),
        mask: AtomicU64::new(0),
    }
}; SIGNALS];
/// The kernel's table names our handler for those of the program.
static TAKEN_OVER: AtomicBool = AtomicBool::new(false);
/// The set of signals for which the kernel calls our handler even while the program's action is the
/// default one.
static INTERCEPTED: AtomicU64 = AtomicU64::new(0);
/// A thread is changing an action.
static CHANGING: AtomicBool = AtomicBool::new(false);

impl SignalAction {
    const NONE: Self = Self { handler: libc::SIG_DFL, flags: 0, restorer: 0, mask: 0 };

    fn is_handler(&self) -> bool {
        self.handler != libc::SIG_DFL && self.handler != libc::SIG_IGN
    }

    fn is_ours(&self) -> bool {
        self.handler == super::handler::on_signal as *const () as usize || self.is_the_monitor_s()
    }

    /// The monitor's handler calls ours for signals of its number that it has not sent.
    fn is_the_monitor_s(&self) -> bool {
        self.handler == crate::stall::signal::handler_address()
    }

    /// The action that calls our handler instead.
    fn through_ours(self) -> Self {
        let flags = self.flags & !(libc::SA_RESETHAND | libc::SA_NODEFER) as usize
            | (libc::SA_SIGINFO | libc::SA_ONSTACK) as usize;
        // All signals wait until the program's handler is entered, with its own mask.
        Self {
            handler: super::handler::on_signal as *const () as usize,
            flags,
            mask: !mask::faults(),
            ..self
        }
    }

    pub(super) fn has(&self, flag: i32) -> bool {
        self.flags & flag as usize != 0
    }
}

fn is_taken_over(signal: i32) -> bool {
    (1..=SIGNALS as i32).contains(&signal) && !OURS_NEVER.contains(&signal)
}

/// The kernel's action, and the new one. Async-signal-safe; touches no thread-local storage. The
/// negative of an error.
fn ask_kernel(signal: i32, new: Option<&SignalAction>) -> Result<SignalAction, i32> {
    let mut old = SignalAction::NONE;
    let arguments = [
        signal as usize,
        new.map_or(ptr::null(), ptr::from_ref) as usize,
        (&raw mut old) as usize,
        mask::SIZE,
    ];
    // SAFETY: valid pointers to the kernel's structure, or null.
    match unsafe { arch::system_call(libc::SYS_rt_sigaction as usize, arguments) } {
        0 => Ok(old),
        error => Err(-error as i32),
    }
}

impl Kept {
    fn store(&self, action: &SignalAction) {
        // ORDERING: Relaxed, then the fence: pairs with the one in `load`. One thread at a time
        // changes actions (`CHANGING`).
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        fence(Release);
        // ORDERING: Relaxed; between the two versions.
        self.handler.store(action.handler, Relaxed);
        // ORDERING: as above.
        self.flags.store(action.flags, Relaxed);
        // ORDERING: as above.
        self.mask.store(action.mask, Relaxed);
        // ORDERING: Release, pairs with the first Acquire in `load`.
        self.version.store(version + 2, Release);
    }

    fn load(&self) -> SignalAction {
        loop {
            // ORDERING: Acquire, pairs with the Release at the end of `store`.
            let before = self.version.load(Acquire);
            let (handler, flags) = (self.handler.load(Relaxed), self.flags.load(Relaxed));
            // ORDERING: Relaxed, all three; between the two versions.
            let mask = self.mask.load(Relaxed);
            fence(Acquire);
            // ORDERING: Relaxed, behind the fence, which pairs with the one in `store`.
            if before.is_multiple_of(2) && self.version.load(Relaxed) == before {
                return SignalAction { handler, flags, restorer: 0, mask };
            }
            arch::pause();
        }
    }
}

/// The program's handler for a signal that ours was called for; `None` if it has taken it back
/// meanwhile.
pub(super) fn of_program(signal: i32) -> Option<SignalAction> {
    Some(KEPT[signal as usize - 1].load()).filter(SignalAction::is_handler)
}

/// A handler with `SA_RESETHAND` is about to be called.
pub(super) fn reset(signal: i32) {
    let _ = ask_kernel(signal, Some(&SignalAction::NONE));
}

/// Runs `change` while no other thread changes an action, with all signals blocked: a handler may
/// change actions, too.
fn alone<T>(change: impl FnOnce() -> T) -> T {
    let before = mask::set_mask(!mask::faults());
    // ORDERING: Acquire, pairs with the Release below.
    while CHANGING.swap(true, Acquire) {
        crate::sys::thread::give_core();
    }
    let result = change();
    // ORDERING: Release, pairs with the Acquire above.
    CHANGING.store(false, Release);
    mask::set_mask(before);
    result
}

/// Are the program's handlers called by ours? In a signal handler, too.
pub fn are_taken_over() -> bool {
    // ORDERING: Acquire, pairs with the Release in `take_over`.
    TAKEN_OVER.load(Acquire)
}

/// Are the program's handlers for `signal` called by ours? [`set_action`] is the way to set its
/// action then. For the monitor's signal from its first use on.
pub fn covers(signal: i32) -> bool {
    is_taken_over(signal) && (are_taken_over() || crate::stall::signal::is_its_signal(signal))
}

/// From now on every handler of the program is called by ours, those that are set already and those
/// to come. Once; any thread, not in a signal handler.
pub fn take_over() {
    // ORDERING: Release, pairs with `covers`: who sets an action past this looks again (`adopt`).
    // A fork calls this each time, so it writes only the first time.
    if are_taken_over() || TAKEN_OVER.swap(true, Release) {
        return;
    }
    adopt_all();
}

fn adopt_all() {
    alone(|| (1..=SIGNALS as i32).filter(|&signal| covers(signal)).for_each(put_ours_in_front));
}

/// The program may have set an action for `signal` past us: puts our handler in front of it. Any
/// thread, async-signal-safe.
pub fn adopt(signal: i32) {
    if covers(signal) {
        alone(|| put_ours_in_front(signal));
    }
}

/// [`adopt`] for a thread that is changing actions.
fn put_ours_in_front(signal: i32) {
    if let Ok(action) = ask_kernel(signal, None)
        && action.is_handler()
        && !action.is_ours()
    {
        KEPT[signal as usize - 1].store(&action);
        let _ = ask_kernel(signal, Some(&action.through_ours()));
    }
}

fn is_intercepted(signal: i32) -> bool {
    // ORDERING: Relaxed; asked while actions are changed, one thread at a time.
    INTERCEPTED.load(Relaxed) & mask::bit(signal) != 0
}

/// From now on the kernel calls our handler for `signal` even while its action is the default one.
/// The kernel would take the default action on a kernel thread whose OpenMP thread may block the
/// signal. Any thread, async-signal-safe; no effect before [`take_over`].
pub(super) fn intercept_default(signal: i32) {
    if !covers(signal) {
        return;
    }
    alone(|| {
        // ORDERING: Relaxed; see `is_intercepted`.
        INTERCEPTED.fetch_or(mask::bit(signal), Relaxed);
        if ask_kernel(signal, None).is_ok_and(|action| action.handler == libc::SIG_DFL) {
            KEPT[signal as usize - 1].store(&SignalAction::NONE);
            let _ = set_in_kernel(signal, &SignalAction::NONE);
        }
    });
}

/// Takes the default action of a signal that was caught and that the running thread does not block.
/// In a signal handler.
pub(super) fn take_default(signal: i32) {
    alone(|| {
        let Ok(ours) = ask_kernel(signal, Some(&SignalAction::NONE)) else { return };
        let (process, set) = (crate::sys::thread::process() as usize, mask::bit(signal));
        // SAFETY: no memory; then a local word.
        unsafe {
            arch::system_call(
                libc::SYS_tgkill as usize,
                [process, crate::sys::thread::number() as usize, signal as usize, 0],
            );
            mask::change_mask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
        }
        // The default action has left the process alive: it was ignored, or the process was stopped
        // and continued.
        mask::set_mask(!mask::faults());
        let _ = ask_kernel(signal, Some(&ours));
    });
}

/// Has the kernel call our handler for an action of the program.
fn set_in_kernel(signal: i32, new: &SignalAction) -> Result<SignalAction, i32> {
    let (flag, restorer) =
        if new.flags & SA_RESTORER == 0 { restorer_of_others() } else { (new.flags, new.restorer) };
    // A default action that leaves the program alive must not interrupt its system calls.
    let restarts = if new.is_handler() { 0 } else { libc::SA_RESTART as usize };
    ask_kernel(
        signal,
        Some(&SignalAction { flags: new.flags | flag | restarts, restorer, ..*new }.through_ours()),
    )
}

/// `rt_sigaction` as the program sees it: sets its action for `signal`, if there is a `new` one,
/// and returns the one before. For `new` ones from the C library, whose `restorer` is kept. Any
/// thread, async-signal-safe.
///
/// # Errors
/// The kernel's error number; `EINVAL` for a signal that [`covers`] does not name.
pub fn set_action(signal: i32, new: Option<&SignalAction>) -> Result<SignalAction, i32> {
    if !is_taken_over(signal) {
        return Err(libc::EINVAL);
    }
    alone(|| {
        let kept = &KEPT[signal as usize - 1];
        let as_program_sees = |kernel: SignalAction| {
            if kernel.is_ours() { SignalAction { restorer: kernel.restorer, ..kept.load() } } else { kernel }
        };
        let kernel = ask_kernel(signal, None)?;
        let before = as_program_sees(kernel);
        let Some(new) = new else { return Ok(before) };
        if kernel.is_the_monitor_s() {
            kept.store(new);
        } else if new.is_handler() || new.handler == libc::SIG_DFL && is_intercepted(signal) {
            kept.store(new);
            set_in_kernel(signal, new)?;
        } else {
            ask_kernel(signal, Some(new))?;
        }
        Ok(before)
    })
}

/// Flag and address of the C library's way back from handlers, as it has set them for faults.
fn restorer_of_others() -> (usize, usize) {
    let all = [libc::SIGSEGV, libc::SIGBUS].into_iter().chain(1..=SIGNALS as i32);
    let known =
        all.filter_map(|signal| ask_kernel(signal, None).ok()).find(|action| action.flags & SA_RESTORER != 0);
    known.map_or((0, 0), |action| (SA_RESTORER, action.restorer))
}

/// In the child of a fork. A thread of the parent may have been changing an action: makes the records
/// readable again, and adopts handlers that the kernel still calls directly.
pub(super) fn repair_after_fork() {
    // ORDERING: Relaxed; single-threaded.
    if !CHANGING.swap(false, Relaxed) {
        return;
    }
    for kept in &KEPT {
        // ORDERING: Relaxed, both; single-threaded.
        kept.version.store(kept.version.load(Relaxed).next_multiple_of(2), Relaxed);
    }
    if are_taken_over() {
        adopt_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::stack::promised::tests::in_child;

    #[test]
    fn a_fork_in_the_middle_of_a_change_leaves_readable_actions() {
        in_child(|| {
            let kept = &KEPT[libc::SIGWINCH as usize - 1];
            let before = kept.load();
            kept.version.fetch_add(1, Relaxed);
            CHANGING.store(true, Relaxed);
            repair_after_fork();
            alone(|| kept.load() == before)
        });
    }
}
