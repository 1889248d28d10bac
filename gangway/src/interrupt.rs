//! SIGINT, SIGTERM, SIGHUP and SIGQUIT while a program runs for this tool: the program gets them, and the tool goes on until the program has ended, to remove its files.
//!
//! A signal of the terminal reaches the program anyhow; one that another process has sent to this tool alone is passed on. A signal that was ignored when
//! the tool was started stays so (nohup(1)).

use core::sync::atomic::{AtomicI32, Ordering};
use std::io;
use std::process::{Command, ExitStatus};
use std::ptr;

const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// The program's process; 0 before and after.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
/// The last signal that came; 0: none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);
/// The last one that is to be passed on; 0: none.
static TO_PASS: AtomicI32 = AtomicI32::new(0);

extern "C" fn catch(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO its data.
    let is_sent = unsafe { (*info).si_code } <= 0;
    // ORDERING: Relaxed; read by the thread that this handler interrupts.
    CAUGHT.store(signal, Ordering::Relaxed);
    if is_sent {
        TO_PASS.store(signal, Ordering::SeqCst);
        pass();
    }
}

/// Passes a signal on, if there are one and a program.
fn pass() {
    // ORDERING: SeqCst; by `catch` and by `run`, each after its own store: one of the two sees both. The signal is taken once.
    let program = PROGRAM.load(Ordering::SeqCst);
    if program != 0 {
        let signal = TO_PASS.swap(0, Ordering::SeqCst);
        if signal != 0 {
            // SAFETY: only sends a signal, to a child of ours that has not been waited for (or has just ended: then nothing happens).
            unsafe { libc::kill(program, signal) };
        }
    }
}

/// Handlers in force until this goes.
struct Handlers([Option<libc::sigaction>; SIGNALS.len()]);

impl Handlers {
    fn install() -> Self {
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
            // SAFETY: the handler stores to atomics and calls kill(2), which signal-safety(7) allows.
            unsafe { libc::sigaction(signal, &raw const new, ptr::null_mut()) };
            Some(old)
        }))
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

/// Runs the program to its end. The second value is a signal that this tool got meanwhile.
///
/// # Errors
/// The program cannot be started, or waited for.
pub fn run(command: &mut Command) -> io::Result<(ExitStatus, Option<libc::c_int>)> {
    let _handlers = Handlers::install();
    let mut child = command.spawn()?;
    PROGRAM.store(libc::pid_t::try_from(child.id()).expect("the kernel's own number"), Ordering::SeqCst);
    pass();
    let status = child.wait();
    PROGRAM.store(0, Ordering::SeqCst);
    // ORDERING: Relaxed; stored by a handler of this process whose work is done, or is not waited for.
    let caught = CAUGHT.swap(0, Ordering::Relaxed);
    Ok((status?, (caught != 0).then_some(caught)))
}

/// Ends this process as the signal does where there is no handler; as process 1, which signals without a handler do not end, with the status of a shell.
pub fn end_by(signal: libc::c_int) -> ! {
    // SAFETY: the default action, which ends the process.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    std::process::exit(128 + signal)
}
