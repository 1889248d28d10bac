//! What reading the environment needs to know of the machine.
//!
//! What does not live here: the machine that `GANGWAY_TOPOLOGY` describes ([`super::described`]), and
//! a made-up one for tests (`made_up`).

use ult::topology::{self, Cpu};

/// What parsing needs to know of the machine; a parameter so that tests have the same machine
/// everywhere.
#[derive(Clone, Debug)]
pub struct EnvMachine {
    /// Usable processors, never empty. A function for the same reason as the next one: only who
    /// binds needs them.
    pub usable: fn() -> &'static [Cpu],
    /// The part of them that `KMP_HW_SUBSET` leaves, never empty.
    pub subset: Option<&'static [Cpu]>,
    /// Finds the last-level caches of these processors: sets of processor numbers, empty = not
    /// known. A function, because the answer costs several files per processor and is
    /// almost never needed.
    pub ll_caches: fn(&[Cpu]) -> Vec<Vec<usize>>,
    /// Processors, the quota considered.
    pub num_procs: u32,
    /// Default number of threads.
    pub worker_target: u32,
    /// Soft limit of the stack in bytes; `None` = unlimited.
    pub stack_limit: Option<usize>,
}

impl EnvMachine {
    /// The machine that this process runs on, as far as it may use it.
    pub fn this() -> EnvMachine {
        let processors = topology::worker_target().max(1) as u32;
        EnvMachine {
            usable: topology::usable,
            subset: None,
            ll_caches: topology::last_level_caches,
            num_procs: processors,
            worker_target: processors,
            stack_limit: stack_limit(),
        }
    }
}

impl EnvMachine {
    /// The processors that places may be made of.
    pub fn cpus(&self) -> &'static [Cpu] {
        self.subset.unwrap_or_else(self.usable)
    }
}

fn stack_limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live rlimit that the call fills in.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } != 0;
    (!failed && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as usize)
}
