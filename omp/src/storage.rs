//! Whether OpenMP threads may share kernel threads, and with which thread-local storage: the
//! decision, and in words for users.
//!
//! | decision | when | what follows |
//! |---|---|---|
//! | [`Storage::Borrowed`] | by default, where TLS blocks can be borrowed | threads share workers, each with storage of its own (`docs/protocols/tls-block.md`) |
//! | [`Storage::Kernel`] | otherwise, or asked for, or for the [`Reason`]s that a program gives | a kernel thread for each thread of a region ([`super::assemble`]) |
//! | [`Storage::Shared`] | asked for | threads share workers and the workers' storage |
//!
//! What may not live here: which thread runs with which TLS block (`assemble`, `tls_blocks`), and
//! how it switches to the block ([`ult::tls_block`]).

use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ult::sys::objects::{SymbolName, function_of_others};
use ult::tls_block::{Support, support};
use ult::worker;

use super::env::{self, Settings, Tls};
use super::report;

/// What a program may do that only a kernel thread for each of its threads can serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Reason {
    /// It has mutexes whose owner the kernel knows by its kernel thread.
    Mutexes = 1,
    /// It uses a garbage collector that stops all registered threads by signals and scans the
    /// stacks that they have registered.
    Collector = 2,
    /// It contains a Java virtual machine, which knows the threads that attach to it by the bounds
    /// of their stacks.
    JavaMachine = 3,
}

impl Reason {
    const ALL: [Reason; 3] = [Reason::Mutexes, Reason::Collector, Reason::JavaMachine];

    fn text(self) -> &'static str {
        match self {
            Reason::Mutexes => "the program has mutexes that pass priorities on",
            Reason::Collector => "the program uses a garbage collector that stops threads by signals",
            Reason::JavaMachine => {
                "the program contains a Java virtual machine, which knows threads by their stacks"
            }
        }
    }

    /// True if a thread must run all of its code, tasks included, on one stack, whose bounds the
    /// machine or collector knows.
    fn is_about_stacks(self) -> bool {
        matches!(self, Reason::Collector | Reason::JavaMachine)
    }
}

/// The first [`Reason`] that the program has given; zero: none.
static SHARES_NO_MORE: AtomicU32 = AtomicU32::new(0);

/// From the next fork on each thread of a region has a kernel thread of its own.
pub fn share_no_more(reason: Reason) {
    if reason.is_about_stacks() {
        ult::sched::run_jobs_on_own_stacks();
    }
    // ORDERING: Relaxed, both; a setting: regions that others fork at this moment do not use what
    // the caller is about to make.
    let _ = SHARES_NO_MORE.compare_exchange(0, reason as u32, Ordering::Relaxed, Ordering::Relaxed);
}

/// A thread has changed something that the kernel keeps per thread, and that is not kept for each
/// OpenMP thread.
static APART: AtomicBool = AtomicBool::new(false);

/// From the next fork on each thread of a region has a kernel thread of its own, with the storage
/// that it has had until then. Because the calling thread has done something to its kernel thread
/// that is not kept.
pub fn keep_apart() {
    // ORDERING: Relaxed; a setting, as above.
    APART.store(true, Ordering::Relaxed);
}

/// Has a thread called [`keep_apart`]?
pub fn are_kept_apart() -> bool {
    // ORDERING: Relaxed; as above.
    APART.load(Ordering::Relaxed)
}

/// Threads share no more if the process has a Java virtual machine.
///
/// HotSpot notes the bounds of a thread's stack when the thread attaches, protects pages at its
/// lower end until it detaches, and reports an overflow for calls from an address below those
/// bounds. A thread that is attached for several regions, or makes calls from tasks, has to run on
/// one stack. So threads of new regions get kernel threads of their own, and run their
/// tasks on their own stacks.
pub fn look_for_a_java_machine() {
    const OF_A_MACHINE: SymbolName = SymbolName::new(c"JNI_CreateJavaVM");
    const OF_A_RUNTIME: SymbolName = SymbolName::new(c"GOMP_parallel");
    if function_of_others(OF_A_MACHINE, OF_A_RUNTIME).is_some() {
        share_no_more(Reason::JavaMachine);
    }
}

fn shares_no_more() -> Option<Reason> {
    // ORDERING: Relaxed; as above.
    let given = SHARES_NO_MORE.load(Ordering::Relaxed);
    Reason::ALL.into_iter().find(|&reason| reason as u32 == given)
}

/// May threads share workers at all?
pub fn may_share() -> bool {
    if shares_no_more().is_some() {
        return false;
    }
    match env::settings().scheduling.tls {
        Tls::Kernel => false,
        Tls::Shared => true,
        Tls::Auto | Tls::Donor => worker::uses_tls_blocks(),
    }
}

/// What threads that would share a worker run with, and why: what `OMP_DISPLAY_ENV=verbose` says.
#[derive(Debug, PartialEq, Eq)]
pub enum Storage {
    /// Each has its own; the text says how it is changed.
    Borrowed(&'static str),
    /// They do not share; the text says why.
    Kernel(&'static str),
    /// They see their worker's.
    Shared,
}

impl Storage {
    /// As it is now: a [`Reason`] changes it.
    pub fn of(settings: &Settings) -> Self {
        Self::decide(settings.scheduling.tls, shares_no_more(), support)
    }

    fn decide(asked: Tls, shares_no_more: Option<Reason>, support: impl FnOnce() -> Support) -> Self {
        if let Some(reason) = shares_no_more {
            return Self::Kernel(reason.text());
        }
        match asked {
            Tls::Kernel => Self::Kernel("GANGWAY_TLS says so"),
            Tls::Shared => Self::Shared,
            Tls::Auto | Tls::Donor => match support() {
                Support::Direct => Self::Borrowed("an instruction"),
                Support::Syscall => {
                    Self::Borrowed("a system call, as the kernel does not allow the instruction")
                }
                Support::None(why) => Self::Kernel(why),
            },
        }
    }
}

impl fmt::Display for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Borrowed(how) => {
                write!(f, "each thread has its own, borrowed from a parked kernel thread; changed by {how}")?;
                let apart = if are_kept_apart() {
                    "; a kernel thread for each thread: the program has changed rights, scheduling or namespaces of one"
                } else {
                    ""
                };
                f.write_str(apart)
            }
            Self::Kernel(why) => write!(f, "a kernel thread for each thread: {why}"),
            Self::Shared => write!(f, "threads on one worker share the worker's: GANGWAY_TLS says so"),
        }
    }
}

/// Says in one line that `GANGWAY_TLS=donor` cannot be had, when the settings have just been read.
/// Asks nothing unless it is set.
#[cold]
pub fn at_start(settings: &Settings) {
    if settings.scheduling.tls != Tls::Donor {
        return;
    }
    if let Storage::Kernel(why) = Storage::of(settings) {
        report::warn(format!(
            "GANGWAY_TLS=donor: {why}; each thread of a region gets a kernel thread instead"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(asked: Tls, support: Support) -> String {
        Storage::decide(asked, None, || support).to_string()
    }

    #[test]
    fn what_is_asked_for_is_had_where_it_can_be() {
        for asked in [Tls::Auto, Tls::Donor] {
            assert!(
                of(asked, Support::Direct).contains("borrowed")
                    && of(asked, Support::Direct).contains("an instruction")
            );
            assert!(
                of(asked, Support::Syscall).contains("borrowed")
                    && of(asked, Support::Syscall).contains("system call")
            );
            assert_eq!(of(asked, Support::None("rain")), "a kernel thread for each thread: rain");
        }
        for support in [Support::Direct, Support::Syscall, Support::None("rain")] {
            assert_eq!(of(Tls::Kernel, support), "a kernel thread for each thread: GANGWAY_TLS says so");
            assert!(of(Tls::Shared, support).contains("share the worker's"));
        }
    }

    #[test]
    fn what_the_program_does_outweighs_everything() {
        for (asked, reason) in [Tls::Auto, Tls::Donor, Tls::Kernel, Tls::Shared]
            .into_iter()
            .flat_map(|asked| Reason::ALL.map(|r| (asked, r)))
        {
            let storage = Storage::decide(asked, Some(reason), || unreachable!("asked in vain"));
            assert_eq!(storage, Storage::Kernel(reason.text()));
        }
    }
}
