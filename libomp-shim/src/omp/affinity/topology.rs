//! Stand-in for `ult::topology` with the same names, until that is there.

use std::io;
use std::sync::OnceLock;

/// One usable processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The operating system's number.
    pub os: usize,
    /// The core it is a hardware thread of.
    pub core: usize,
    /// The socket.
    pub socket: usize,
    /// The NUMA node.
    pub numa: usize,
}

/// The processors this process may use.
pub fn usable() -> &'static [Cpu] {
    static CPUS: OnceLock<Vec<Cpu>> = OnceLock::new();
    CPUS.get_or_init(|| {
        (0..available())
            .map(|os| Cpu {
                os,
                core: os,
                socket: 0,
                numa: 0,
            })
            .collect()
    })
}

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// The cgroup's CPU quota in processors, if there is one.
pub fn quota() -> Option<f64> {
    None
}

/// How many workers to run.
pub fn worker_target() -> usize {
    available()
}

/// Binds the calling kernel thread.
pub fn bind_current_thread(_os: &[usize]) -> io::Result<()> {
    Ok(())
}
