//! Functions of the C library in which the program's code may be left: they hold no lock that other
//! code could want meanwhile.
//!
//! A loop that waits with a call in it (a clock, a read that would block, `trylock`) is nearly
//! always found in that call. The monitor then looks through the interrupted call to its caller
//! ([`super::unwind`]).
//!
//! The call may be left if the program called one of these functions, and that function did not
//! call the allocator. The scheduler allocates, and would wait for a lock whose holder it has
//! suspended itself.
//!
//! A system call that the interrupted code is about to make is not left, nor one that the kernel
//! has cut short and makes again. Such a call may sleep, and a sleeping worker is handed off.
//!
//! What may not live here: the decision to leave ([`super::signal`]), and what a loop with a call
//! looks like ([`super::spin`]).

use libc::ucontext_t;

use super::restart;
use super::unwind::{self, Described, Point};
use crate::sys::objects::{LoadedObject, SymbolName};

/// The functions, by purpose. The target of an indirect function (`memcpy`) is not found under its
/// name.
const LEAVES: [SymbolName; 105] = SymbolName::all([
    // Clocks and times.
    c"clock_gettime",
    c"clock_getres",
    c"gettimeofday",
    c"time",
    c"clock",
    c"times",
    c"getrusage",
    // Files, and all other objects with a descriptor.
    c"read",
    c"write",
    c"pread",
    c"pread64",
    c"pwrite",
    c"pwrite64",
    c"readv",
    c"writev",
    c"preadv",
    c"pwritev",
    c"lseek",
    c"lseek64",
    c"recv",
    c"recvfrom",
    c"recvmsg",
    c"recvmmsg",
    c"send",
    c"sendto",
    c"sendmsg",
    c"sendmmsg",
    c"accept",
    c"accept4",
    c"connect",
    c"ioctl",
    c"fcntl",
    c"fcntl64",
    c"stat",
    c"stat64",
    c"fstat",
    c"fstat64",
    c"lstat",
    c"lstat64",
    c"fstatat",
    c"fstatat64",
    c"statx",
    c"access",
    c"faccessat",
    c"open",
    c"open64",
    c"openat",
    c"openat64",
    c"close",
    c"fsync",
    c"fdatasync",
    c"getsockopt",
    c"setsockopt",
    // Waits with a time limit, and polls.
    c"poll",
    c"ppoll",
    c"select",
    c"pselect",
    c"epoll_wait",
    c"epoll_pwait",
    c"nanosleep",
    c"clock_nanosleep",
    c"usleep",
    c"sleep",
    c"waitpid",
    c"wait4",
    c"waitid",
    c"sigpending",
    // Locks that are tried, and released.
    c"pthread_mutex_trylock",
    c"pthread_mutex_unlock",
    c"pthread_spin_trylock",
    c"pthread_spin_unlock",
    c"pthread_rwlock_tryrdlock",
    c"pthread_rwlock_trywrlock",
    c"pthread_rwlock_unlock",
    c"sem_trywait",
    c"sem_getvalue",
    c"sem_post",
    c"msgrcv",
    c"msgsnd",
    c"semop",
    // Questions about processes, threads and processors; signals to them.
    c"getpid",
    c"getppid",
    c"gettid",
    c"getuid",
    c"geteuid",
    c"pthread_self",
    c"pthread_getspecific",
    c"sched_getcpu",
    c"sched_getaffinity",
    c"kill",
    c"pthread_kill",
    c"__errno_location",
    c"getenv",
    // Any system call.
    c"syscall",
    // Formatting into the program's memory, and reading from it.
    c"snprintf",
    c"vsnprintf",
    c"sprintf",
    c"vsprintf",
    c"__snprintf_chk",
    c"__vsnprintf_chk",
    c"__sprintf_chk",
    c"__vsprintf_chk",
    c"strtol",
    c"strtoul",
    c"strtod",
]);
/// The functions among them that move bytes and return the number. If the number is above zero, the
/// caller makes progress.
const TRANSFERS: [SymbolName; 18] = SymbolName::all([
    c"read",
    c"write",
    c"pread",
    c"pread64",
    c"pwrite",
    c"pwrite64",
    c"readv",
    c"writev",
    c"preadv",
    c"pwritev",
    c"recv",
    c"recvfrom",
    c"recvmsg",
    c"recvmmsg",
    c"send",
    c"sendto",
    c"sendmsg",
    c"sendmmsg",
]);
/// Functions of the allocator: while one of them runs, no code is left.
const ALLOCATOR: [SymbolName; 11] = SymbolName::all([
    c"malloc",
    c"free",
    c"calloc",
    c"realloc",
    c"memalign",
    c"aligned_alloc",
    c"posix_memalign",
    c"valloc",
    c"pvalloc",
    c"malloc_trim",
    c"mallinfo",
]);
/// Functions that this library defines in the C library's place, and which only make the system
/// call.
const OWN: [SymbolName; 1] = SymbolName::all([c"syscall"]);
/// Number of frames that are looked through. Chosen: more than twice the five frames that
/// formatting a number takes; any value from 8 to 24 will do.
const FRAMES_SEARCHED: usize = 12;

/// The C library and the kernel's object, as far as the monitor looks through calls from the
/// program.
#[derive(Default, PartialEq, Eq)]
pub(super) struct LeafCalls {
    described: Vec<Described>,
    /// The kernel's object, none of whose functions waits or locks.
    kernel: Vec<Described>,
    /// The start addresses of [`LEAVES`], sorted.
    leaves: Vec<usize>,
    transfers: Vec<usize>,
    allocator: Vec<usize>,
}

/// The kind of the called function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CalledFunction {
    /// A function that may be left where it was interrupted.
    Leaf,
    /// A function of the allocator.
    Allocator,
    /// Any other function, or a function that has called the allocator or is about to sleep.
    Other,
}

/// A call from the program's code.
pub(super) struct LeafCall {
    /// Where the program's code continues when the function returns.
    pub(super) caller: Point,
    pub(super) kind: CalledFunction,
    /// The call has moved bytes.
    pub(super) gets_on: bool,
}

impl LeafCalls {
    /// Adds the C library.
    pub(super) fn add_library(&mut self, object: &LoadedObject) {
        self.leaves.extend(LEAVES.into_iter().filter_map(|name| object.function(name)));
        self.leaves.sort_unstable();
        self.transfers = TRANSFERS.into_iter().filter_map(|name| object.function(name)).collect();
        self.allocator = ALLOCATOR.into_iter().filter_map(|name| object.function(name)).collect();
        self.described.extend(Described::parts(object));
    }

    /// Adds the kernel's object.
    pub(super) fn add_kernel(&mut self, object: &LoadedObject) {
        self.kernel.extend(Described::parts(object));
    }

    /// Adds functions of a runtime that replace the C library's.
    pub(super) fn add_runtime(&mut self, object: &LoadedObject) {
        let functions =
            OWN.into_iter().filter_map(|name| Described::function(object, object.function(name)?));
        for (start, part) in functions {
            self.leaves.push(start);
            self.described.push(part);
        }
        self.leaves.sort_unstable();
    }

    fn part(&self, address: usize) -> Option<&Described> {
        self.described.iter().chain(&self.kernel).find(|part| part.contains(address))
    }

    /// The program's call that was interrupted, if `context` lies in the C library, called by the
    /// program. `is_own`: does an address lie in the stack on which the code runs? `is_program`: is
    /// an address in the program's code?
    ///
    /// # Safety
    /// Call it in the handler that interrupted the code with this state.
    pub(super) unsafe fn interrupted(
        &self,
        context: &ucontext_t,
        is_own: impl Fn(usize) -> bool,
        is_program: impl Fn(usize) -> bool,
    ) -> Option<LeafCall> {
        let mut at = Point::of(context);
        let mut part = self.part(at.ip)?;
        let mut allocates = false;
        let sleeps = restart::is_behind_system_call(at.ip + 2);
        for depth in 0..FRAMES_SEARCHED {
            // SAFETY: as the caller says; a called function runs on the same stack as its caller.
            let (caller, function) = unsafe { unwind::step(part, &at, depth == 0, &is_own) }?;
            let in_allocator = self.allocator.contains(&function);
            allocates |= in_allocator;
            if is_program(caller.ip) {
                let never_locks = || {
                    self.kernel.iter().any(|part| part.contains(at.ip))
                        || self.leaves.binary_search(&function).is_ok()
                };
                let kind = match () {
                    () if in_allocator => CalledFunction::Allocator,
                    () if !allocates && !sleeps && never_locks() => CalledFunction::Leaf,
                    () => CalledFunction::Other,
                };
                return Some(LeafCall {
                    caller,
                    kind,
                    gets_on: depth == 0 && self.transfers.contains(&function) && has_succeeded(context),
                });
            }
            part = self.part(caller.ip)?;
            at = caller;
        }
        None
    }
}

/// Was the code interrupted directly behind a system call that returns more than zero?
#[cfg(target_arch = "x86_64")]
fn has_succeeded(context: &ucontext_t) -> bool {
    let register = |number: libc::c_int| context.uc_mcontext.gregs[number as usize];
    restart::is_behind_system_call(register(libc::REG_RIP) as usize) && register(libc::REG_RAX) > 0
}

#[cfg(not(target_arch = "x86_64"))]
fn has_succeeded(_: &ucontext_t) -> bool {
    false
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    fn calls() -> LeafCalls {
        let mut calls = LeafCalls::default();
        crate::sys::objects::for_each_since(u64::MAX, |object| {
            if object.function(SymbolName::new(c"__libc_start_main")).is_some() {
                calls.add_library(object);
            } else if object.function(SymbolName::new(c"__vdso_clock_gettime")).is_some() {
                calls.add_kernel(object);
            }
        });
        calls
    }

    #[test]
    fn the_c_library_and_the_kernels_object_are_described() {
        let calls = calls();
        assert!(
            !calls.kernel.is_empty()
                && !calls.described.is_empty()
                && calls.leaves.len() >= 90
                && calls.allocator.len() >= 9,
            "{} {}",
            calls.described.len(),
            calls.leaves.len()
        );
        let own = the_c_library_and_the_kernels_object_are_described as *const () as usize;
        assert!(calls.part(own).is_none());
    }
}
