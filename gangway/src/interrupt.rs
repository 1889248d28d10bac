//! SIGINT, SIGTERM, SIGHUP and SIGQUIT while a program runs for this tool: the program gets them,
//! and the tool goes on until the program has ended, to remove its files.
//!
//! The terminal sends an interrupt to the program, too. A signal that another process has sent to
//! this tool alone is passed on, and so is a hangup of the terminal, which the kernel sends to the
//! leader of the session. A signal that was ignored when the tool was started stays so (nohup(1)).

use core::sync::atomic::{AtomicI32, Ordering};
use std::io;
use std::process::{Command, ExitStatus};
use std::ptr;

const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The program's process; 0 before it is started and after it has ended.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// The last signal that came; 0: none.
static LAST_SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The last one that is to be passed on; 0: none.
static PENDING_FORWARD: AtomicI32 = AtomicI32::new(0);

extern "C" fn catch(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the address is this thread's; the interrupted code may be about to read the value.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel gives a handler with SA_SIGINFO its data.
    let is_sent = unsafe { (*info).si_code } <= 0;
    // ORDERING: Relaxed; read by the thread that this handler interrupts.
    LAST_SIGNAL.store(signal, Ordering::Relaxed);
    if is_sent || signal == libc::SIGHUP {
        // ORDERING: SeqCst; see `forward_pending`.
        PENDING_FORWARD.store(signal, Ordering::SeqCst);
        forward_pending();
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Passes a signal on, if there are one and a program.
fn forward_pending() {
    // ORDERING: SeqCst, both. `catch` stores the signal and `run` stores the process number; then
    // each calls this function. At least one call sees both stores, and the swap lets only one of
    // them send the signal.
    let child = CHILD.load(Ordering::SeqCst);
    if child != 0 {
        // ORDERING: as above.
        let signal = PENDING_FORWARD.swap(0, Ordering::SeqCst);
        if signal != 0 {
            // SAFETY: only sends a signal, to a child that keeps its number until `run` has set
            // `CHILD` to 0.
            unsafe { libc::kill(child, signal) };
        }
    }
}

/// Handlers in force until this goes. The caller removes its files before that. One at a time.
pub struct Handlers([Option<libc::sigaction>; SIGNALS.len()]);

impl Handlers {
    pub fn install() -> Self {
        for state in [&CHILD, &LAST_SIGNAL, &PENDING_FORWARD] {
            // ORDERING: Relaxed; there are no handlers yet.
            state.store(0, Ordering::Relaxed);
        }
        Self(SIGNALS.map(|signal| {
            // SAFETY: all zero is a value of this C structure.
            let mut old: libc::sigaction = unsafe { core::mem::zeroed() };
            // SAFETY: asks only.
            let asked = unsafe { libc::sigaction(signal, ptr::null(), &raw mut old) };
            if asked != 0 || old.sa_sigaction == libc::SIG_IGN {
                return None;
            }
            // SAFETY: as above.
            let mut new: libc::sigaction = unsafe { core::mem::zeroed() };
            new.sa_sigaction = catch as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            // SAFETY: the handler stores to atomics and calls kill(2), which signal-safety(7)
            // allows.
            unsafe { libc::sigaction(signal, &raw const new, ptr::null_mut()) };
            Some(old)
        }))
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    /// The program cannot be started, or waited for.
    pub fn run(&self, command: &mut Command) -> io::Result<ExitStatus> {
        let mut child = command.spawn()?;
        // ORDERING: SeqCst; see `forward_pending`.
        CHILD.store(libc::pid_t::try_from(child.id()).expect("the kernel's own number"), Ordering::SeqCst);
        forward_pending();
        await_end(child.id());
        // ORDERING: SeqCst; from here on the number is not used, and the kernel may give it to
        // another process.
        CHILD.store(0, Ordering::SeqCst);
        child.wait()
    }

    /// The handlers of before are in force again. Gives the last signal that came meanwhile.
    pub fn remove(self) -> Option<libc::c_int> {
        drop(self);
        // ORDERING: Relaxed; stored by a handler of this process.
        Some(LAST_SIGNAL.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        for (signal, old) in SIGNALS.into_iter().zip(&self.0) {
            if let Some(old) = old {
                // SAFETY: what was in force before.
                unsafe { libc::sigaction(signal, old, ptr::null_mut()) };
            }
        }
    }
}

/// Waits until a child has ended, and leaves it to be waited for: until then no other process gets
/// its number.
pub fn await_end(pid: u32) {
    loop {
        // SAFETY: all zero is a value of this C structure.
        let mut what: libc::siginfo_t = unsafe { core::mem::zeroed() };
        // SAFETY: room for the answer, and a child of ours.
        let done = unsafe { libc::waitid(libc::P_PID, pid, &raw mut what, libc::WEXITED | libc::WNOWAIT) };
        if done == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
}

/// Ends this process by the signal's default action. The kernel does not do this to process 1,
/// which exits with the status that a shell gives such a program: 128 and the signal.
pub fn end_by(signal: libc::c_int) -> ! {
    // SAFETY: the default action, which ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    std::process::exit(128 + signal)
}
