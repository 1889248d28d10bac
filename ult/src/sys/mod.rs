//! The processor, the kernel, the C library and the loader: what everything else here stands on.
//!
//! | file | what lives there |
//! |---|---|
//! | [`arch`] | the context switch and other instructions, one file per processor; the kernel thread's own block of storage |
//! | [`sync`] | the one place where loom replaces the atomics |
//! | [`futex`] | words that kernel threads sleep on |
//! | [`fork`] | a lock that the child of a fork may forget; the count of forks |
//! | [`clock`] | the kernel's clocks |
//! | [`thread`] | kernel threads: number, name, processor, processor time, state |
//! | [`memory`] | pages of memory |
//! | [`random`], [`hash`] | numbers that look random; numbers for names and data |
//! | [`proc_file`] | small files below `/proc` |
//! | [`loader`] | what the loader says of an address and of all loaded objects, and not during a fork |
//! | [`objects`] | the loaded objects: functions, symbols referred to, where the code is |
//! | `cgroup` | processor quotas of control groups, version 1 and 2 |
//! | [`cpulist`] | the kernel's `0-3,8` notation for sets of processors |
//!
//! There is one of each: code of this crate and of the crates above calls these functions, and has
//! no copies of its own. A file here may use other files of this module, and nothing else of the
//! crate.
//!
//! What may not live here: workers, stacks, ULTs, and state of any of them.

pub mod arch;
pub(crate) mod cgroup;
pub mod clock;
pub mod cpulist;
pub mod fork;
pub mod futex;
pub mod hash;
pub mod loader;
pub mod memory;
pub mod objects;
pub mod proc_file;
pub mod random;
pub mod sync;
pub mod thread;

/// Stops the process with one line on stderr: something the crate cannot go on without is missing.
pub(crate) fn fatal(what: &str) -> ! {
    let line = format!("gangway: {what}\n");
    // SAFETY: a valid buffer; the result does not matter, the process ends.
    unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
    std::process::abort()
}

/// Keeps a symbol that is for the linker alone out of what the library exports. There it could be
/// taken for that of another copy of the library in the process. A reference that is hidden hides
/// the definition; the section of the reference is not loaded.
#[macro_export]
macro_rules! hidden {
    ($name:literal) => {
        core::arch::global_asm!(
            concat!(".hidden ", $name),
            ".pushsection .gangway.hidden, \"\", @progbits",
            concat!(".quad ", $name),
            ".popsection",
        );
    };
}
