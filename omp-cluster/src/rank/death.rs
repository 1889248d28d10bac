//! The last line of a rank that crashes while it serves: which rank, which signal, which address.
//! The launcher then ends the others.
//!
//! An address that was not mapped to the device is valid on the rank that launched the region and
//! nowhere else. So this is the commonest mistake, and the launcher's own message knows nothing of
//! it.

use core::fmt::Write;
use core::mem;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use libc::{c_int, c_void, siginfo_t};

use omp::report;

/// This rank.
static RANK: AtomicU32 = AtomicU32::new(0);

const SIGNALS: [(c_int, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
];

/// From here on such signals leave a line. Before the runtime takes its own precautions, which pass
/// on what is not theirs.
pub fn watch(rank: u32) {
    // ORDERING: Relaxed; the handler runs in this process later.
    RANK.store(rank, Ordering::Relaxed);
    for (signal, _) in SIGNALS {
        // SAFETY: a zeroed action is valid; the handler is async-signal-safe and lives as long as
        // the process.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = crashed as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// A line without allocation.
struct DeathLine {
    text: [u8; 256],
    length: usize,
}

impl Write for DeathLine {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        let room = &mut self.text[self.length..];
        let take = s.len().min(room.len());
        room[..take].copy_from_slice(&s.as_bytes()[..take]);
        self.length += take;
        Ok(())
    }
}

fn line(rank: u32, signal: c_int, address: usize) -> DeathLine {
    let mut line = DeathLine { text: [0; 256], length: 0 };
    let name = SIGNALS.iter().find(|(s, _)| *s == signal).map_or("a signal", |(_, name)| name);
    let _ = write!(line, "gangway: rank {rank}: {name} at {address:#x} in a target region or handler");
    let _ = match signal {
        libc::SIGSEGV | libc::SIGBUS => writeln!(line, " (is what it uses mapped?); all ranks stop"),
        _ => writeln!(line, "; all ranks stop"),
    };
    line
}

unsafe extern "C" fn crashed(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // SAFETY: the kernel's record of a fault.
    let address = unsafe { (*info).si_addr() }.addr();
    // ORDERING: Relaxed; written at the start.
    let line = line(RANK.load(Ordering::Relaxed), signal, address);
    report::put(libc::STDERR_FILENO, &line.text[..line.length]);
    // The action is the default one again: the fault repeats, and ends the process as it would
    // have.
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_rank_signal_and_address() {
        let said = line(2, libc::SIGSEGV, 0x10);
        let text = core::str::from_utf8(&said.text[..said.length]).expect("text");
        assert_eq!(
            text,
            "gangway: rank 2: SIGSEGV at 0x10 in a target region or handler (is what it uses mapped?); all ranks stop\n"
        );
        let said = line(1, libc::SIGFPE, 0x20);
        assert!(
            said.text[..said.length]
                .ends_with(b"SIGFPE at 0x20 in a target region or handler; all ranks stop\n")
        );
    }
}
