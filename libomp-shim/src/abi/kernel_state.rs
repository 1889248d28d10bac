//! The C library's functions about other state that the kernel keeps per thread: nice value, I/O
//! priority, timer slack, personality, file system user, memory policy ([`ult::kernel_state`]), and
//! what cannot be kept. Scheduling is in [`super::scheduling`].
//!
//! Before an irreversible call the thread gets a dedicated kernel thread
//! ([`ult::sched::dedicate_kernel_thread`]). After it, threads of new regions share no kernel
//! threads ([`storage::keep_apart`]).
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_void};

use ult::kernel_state::{self, KernelSetting};

use super::next::library_next;
use super::thread::{direct, failed, gettid};
use super::{affinity, scheduling, thread_clock, thread_name};
use omp::storage;

/// Threads of new regions share no kernel threads: the caller, an OpenMP thread, has done something
/// to its own that is not kept.
pub(super) fn not_kept() {
    if kernel_state::is_of_openmp() {
        storage::keep_apart();
    }
}

/// Does the number mean the calling thread?
pub(super) fn is_me(who: usize) -> bool {
    who as i32 == 0 || who as i32 == gettid()
}

/// Makes `call`, which sets `settings` of thread `who`. If `who` is a donor, its OpenMP thread gets
/// them, too.
pub(super) fn of_other(who: usize, settings: &[KernelSetting], call: impl FnOnce() -> c_long) -> c_long {
    let result = call();
    if result >= 0
        && let Some(tls_block) = ult::tls_block::of_tls_donor(who as i32)
    {
        settings.iter().for_each(|&setting| kernel_state::take_from_tls_donor(tls_block, setting));
    }
    result
}

/// Sets `setting` of the thread with the number `who`, the calling one or, by `call`, another one.
fn of_thread(setting: KernelSetting, who: usize, value: i64, call: impl FnOnce() -> c_long) -> c_long {
    if is_me(who) {
        -c_long::from(kernel_state::set(setting, value))
    } else {
        of_other(who, &[setting], call)
    }
}

/// Values of `prctl`'s first argument that change the calling thread for good.
const FOR_GOOD: [c_int; 8] = [
    libc::PR_SET_NO_NEW_PRIVS,
    libc::PR_SET_SECCOMP,
    libc::PR_CAPBSET_DROP,
    libc::PR_SET_SECUREBITS,
    libc::PR_CAP_AMBIENT,
    libc::PR_SET_SPECULATION_CTRL,
    libc::PR_SET_TSC,
    libc::PR_MCE_KILL,
];

/// System calls that come here from `syscall`: a byte for each number.
pub(super) static TAKEN_OVER: [u8; LENGTH] = {
    let mut table = [0; LENGTH];
    let mut index = 0;
    while index < CALLS.len() {
        table[CALLS[index] as usize] = 1;
        index += 1;
    }
    table
};

/// Numbers in the table; those behind it are passed on.
pub(super) const LENGTH: usize = 512;

const CALLS: [c_long; 31] = [
    libc::SYS_gettid,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_getaffinity,
    libc::SYS_prctl,
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_personality,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_clock_gettime,
    libc::SYS_getrusage,
    libc::SYS_capset,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_seccomp,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_set_mempolicy,
    libc::SYS_perf_event_open,
    ARCH_PRCTL,
    libc::SYS_get_robust_list,
    libc::SYS_pkey_alloc,
    libc::SYS_getpriority,
    libc::SYS_ioprio_get,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getattr,
];

/// One of them, but those that name a thread for a signal. Negative error number, or the result.
///
/// # Safety
/// As the system call.
pub(super) unsafe fn call(number: c_long, arguments: [usize; 5]) -> c_long {
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: passed on, here and below.
    let pass_on = || unsafe { direct(number, first, second, third, fourth, fifth) };
    // SAFETY: as above.
    unsafe {
        match number {
            libc::SYS_sched_setaffinity => affinity::set(first as _, second, third as *const u8) as c_long,
            libc::SYS_sched_getaffinity => affinity::get(first as _, second, third as *mut u8) as c_long,
            libc::SYS_getrusage => thread_clock::usage(first as _, second as *mut libc::rusage) as c_long,
            libc::SYS_clock_gettime => match thread_clock::nanoseconds(first as _) {
                Some(ns) if second != 0 => {
                    (second as *mut libc::timespec).write(libc::timespec {
                        tv_sec: (ns / 1_000_000_000) as _,
                        tv_nsec: (ns % 1_000_000_000) as _,
                    });
                    0
                }
                _ => pass_on(),
            },
            libc::SYS_prctl => control(first as c_int, [second, third, fourth, fifth]),
            libc::SYS_setpriority if first as c_int == libc::PRIO_PROCESS as c_int => {
                of_thread(KernelSetting::Nice, second, third as i32 as i64, pass_on)
            }
            libc::SYS_ioprio_set if first == 1 => {
                of_thread(KernelSetting::IoPriority, second, third as i64, pass_on)
            }
            libc::SYS_personality if first as u32 != u32::MAX => {
                exchange(KernelSetting::Personality, first as u32 as i64)
            }
            libc::SYS_setfsuid => exchange(KernelSetting::FsUser, first as u32 as i64),
            libc::SYS_setfsgid => exchange(KernelSetting::FsGroup, first as u32 as i64),
            libc::SYS_sched_setscheduler | libc::SYS_sched_setparam | libc::SYS_sched_setattr => {
                scheduling::call(number, [first, second, third])
            }
            libc::SYS_set_mempolicy => change_kept(&[KernelSetting::MemoryPolicy], pass_on),
            libc::SYS_perf_event_open if second as i32 != 0 => pass_on(),
            libc::SYS_getpriority
            | libc::SYS_ioprio_get
            | libc::SYS_sched_getscheduler
            | libc::SYS_sched_getparam
            | libc::SYS_sched_getattr => {
                kernel_state::catch_up();
                pass_on()
            }
            libc::SYS_pkey_alloc => with_key(pass_on()),
            ARCH_PRCTL if first == SET_GS => change_kept(&[KernelSetting::GsBase], pass_on),
            ARCH_PRCTL if !ARCH_FOR_GOOD.contains(&first) => pass_on(),
            libc::SYS_setpriority
            | libc::SYS_ioprio_set
            | libc::SYS_personality
            | libc::SYS_get_robust_list => pass_on(),
            _ => for_good(pass_on),
        }
    }
}

/// `SYS_arch_prctl`; elsewhere a number that no call has.
#[cfg(target_arch = "x86_64")]
const ARCH_PRCTL: c_long = libc::SYS_arch_prctl;
#[cfg(not(target_arch = "x86_64"))]
const ARCH_PRCTL: c_long = LENGTH as c_long - 1;
/// `ARCH_SET_GS`.
const SET_GS: usize = 0x1001;
/// `ARCH_SET_FS`, `ARCH_SET_CPUID`, and those of shadow stacks. The others ask, or are about the
/// process, as the permission for AMX.
const ARCH_FOR_GOOD: [usize; 6] = [0x1002, 0x1012, 0x5001, 0x5002, 0x5003, 0x5004];

/// Makes `call`, which changes `settings` of this kernel thread and can be repeated. The settings
/// are kept for the calling thread; if they are unrepresentable, it gets a dedicated kernel thread
/// for them.
pub(super) fn change_kept(settings: &[KernelSetting], call: impl Fn() -> c_long) -> c_long {
    let result = kernel_state::changing(settings, || call() as isize) as c_long;
    let lost = settings
        .iter()
        .copied()
        .find(|setting| result >= 0 && setting.get() == KernelSetting::UNREPRESENTABLE);
    let Some(setting) = lost else { return result };
    kernel_state::give_up(setting);
    for_good(call)
}

/// Makes `call`, which changes this kernel thread irreversibly. Before it, the calling OpenMP
/// thread gets a dedicated kernel thread.
fn for_good(call: impl FnOnce() -> c_long) -> c_long {
    let can_share_again = ult::sched::dedicate_kernel_thread();
    let result = call();
    if result >= 0 {
        not_kept();
    } else if can_share_again {
        ult::sched::share_kernel_thread_again();
    }
    result
}

/// Sets it and returns what was before. Minus one asks only.
fn exchange(setting: KernelSetting, value: i64) -> c_long {
    let before = setting.get();
    if value == i64::from(u32::MAX) {
        return before as c_long;
    }
    match kernel_state::set(setting, value) {
        0 => before as c_long,
        error => -c_long::from(error),
    }
}

/// `prctl(2)`: negative error number, or the result.
///
/// # Safety
/// As the system call.
unsafe fn control(option: c_int, [second, third, fourth, fifth]: [usize; 4]) -> c_long {
    // SAFETY: passed on.
    unsafe {
        match option {
            libc::PR_SET_NAME => -c_long::from(thread_name::set(second as *const _)),
            libc::PR_GET_NAME => thread_name::get(second as *mut u8) as c_long,
            libc::PR_SET_TIMERSLACK => {
                -c_long::from(kernel_state::set(KernelSetting::TimerSlack, second as i64))
            }
            _ => {
                let pass_on = || direct(libc::SYS_prctl, option as usize, second, third, fourth, fifth);
                if FOR_GOOD.contains(&option) { for_good(pass_on) } else { pass_on() }
            }
        }
    }
}

/// `prctl` (Linux): name and timer slack are the OpenMP thread's.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    // SAFETY: passed on.
    failed(unsafe { control(option, [second as usize, third as usize, fourth as usize, fifth as usize]) })
        as c_int
}

/// `getpriority` (POSIX.1-2017), which can be negative; of a thread, as Linux has it.
#[unsafe(no_mangle)]
pub extern "C" fn getpriority(which: c_uint, who: libc::id_t) -> c_int {
    // SAFETY: no memory is passed. The kernel returns 20 less what is asked for.
    match unsafe { call(libc::SYS_getpriority, [which as usize, who as usize, 0, 0, 0]) } {
        found @ 0.. => 20 - found as c_int,
        error => failed(error) as c_int,
    }
}

/// `setpriority` (POSIX.1-2017); of a thread, as Linux has it.
#[unsafe(no_mangle)]
pub extern "C" fn setpriority(which: c_uint, who: libc::id_t, value: c_int) -> c_int {
    // SAFETY: no memory is passed.
    failed(unsafe { call(libc::SYS_setpriority, [which as usize, who as usize, value as usize, 0, 0]) })
        as c_int
}

/// `nice` (POSIX.1-2017); of the calling thread, as Linux has it.
#[unsafe(no_mangle)]
pub extern "C" fn nice(by: c_int) -> c_int {
    let wanted = (KernelSetting::Nice.get() + i64::from(by)).clamp(-20, 19);
    match kernel_state::set(KernelSetting::Nice, wanted) {
        0 => KernelSetting::Nice.get() as c_int,
        error => failed(-c_long::from(if error == libc::EACCES { libc::EPERM } else { error })) as c_int,
    }
}

/// `setfsuid` (Linux): the user before.
#[unsafe(no_mangle)]
pub extern "C" fn setfsuid(user: libc::uid_t) -> c_int {
    exchange(KernelSetting::FsUser, i64::from(user)) as c_int
}

/// `setfsgid` (Linux): the group before.
#[unsafe(no_mangle)]
pub extern "C" fn setfsgid(group: libc::gid_t) -> c_int {
    exchange(KernelSetting::FsGroup, i64::from(group)) as c_int
}

/// `personality` (Linux): the value before.
#[unsafe(no_mangle)]
pub extern "C" fn personality(value: c_ulong) -> c_int {
    failed(exchange(KernelSetting::Personality, i64::from(value as u32))) as c_int
}

/// Passes on the result of `pkey_alloc`. On success the rights of each thread are kept from here
/// on.
fn with_key(key: c_long) -> c_long {
    if key >= 0 {
        kernel_state::key_was_allocated();
    }
    key
}

/// `pkey_alloc` (Linux): from here on threads that share kernel threads have rights of their own.
#[unsafe(no_mangle)]
pub extern "C" fn pkey_alloc(flags: c_uint, rights: c_uint) -> c_int {
    // SAFETY: no memory is passed.
    failed(unsafe { call(libc::SYS_pkey_alloc, [flags as usize, rights as usize, 0, 0, 0]) }) as c_int
}

macro_rules! for_good {
    ($($(#[$doc:meta])* $name:ident, $c_name:literal, ($($argument:ident: $type:ty),*), $changes:expr;)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            library_next! { NEXT = $c_name; }
            type Function = unsafe extern "C" fn($($type),*) -> c_int;
            // SAFETY: the next definition is the C library's, with this signature.
            let next = unsafe { core::mem::transmute::<*const c_void, Option<Function>>(NEXT.address()) };
            let Some(next) = next else { return failed(-c_long::from(libc::ENOSYS)) as c_int };
            // SAFETY: passed on.
            let pass_on = || c_long::from(unsafe { next($($argument),*) });
            (if $changes { for_good(pass_on) } else { pass_on() }) as c_int
        }
    )* };
}

for_good! {
    /// `capset` (Linux): not kept.
    capset, c"capset", (header: *mut c_void, data: *const c_void), true;
    /// `unshare` (Linux): not kept.
    unshare, c"unshare", (flags: c_int), flags != 0;
    /// `setns` (Linux): not kept.
    setns, c"setns", (descriptor: c_int, kind: c_int), true;
}
