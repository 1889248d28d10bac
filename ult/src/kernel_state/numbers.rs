//! The settings that are one number each: how the kernel is asked for them, and how they are set.
//!
//! All system calls are made past the C library, whose functions are taken over and come here.
use core::ptr;

use crate::sys::arch;

/// A number that the kernel keeps per thread, and that can be set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum KernelSetting {
    /// `setpriority(PRIO_PROCESS)`: -20 to 19.
    Nice,
    /// `ioprio_set`: class and data.
    IoPriority,
    /// `prctl(PR_SET_TIMERSLACK)`, nanoseconds.
    TimerSlack,
    /// `personality`.
    Personality,
    /// `setfsuid`.
    FsUser,
    /// `setfsgid`.
    FsGroup,
    /// `sched_setscheduler`: the policy with its flag in the lower half, the priority in the upper
    /// one.
    Scheduling,
    /// `set_mempolicy`: the mode with its flags in the lower 16 bits, nodes 0 to 47 in the others.
    MemoryPolicy,
    /// `arch_prctl(ARCH_SET_GS)`: an address.
    GsBase,
}

pub(super) const SETTINGS: usize = 9;

/// `IOPRIO_WHO_PROCESS`.
const IOPRIO_WHO_PROCESS: usize = 1;
/// `SCHED_DEADLINE`, which has more parameters than one.
const SCHED_DEADLINE: i64 = 6;
/// `SCHED_RESET_ON_FORK`.
const RESET_ON_FORK: i64 = 0x4000_0000;
/// Words of a mask of memory nodes: 1,024 bits, the most that a kernel can be built for
/// (`NODES_SHIFT` 10).
const NODE_WORDS: usize = 16;
/// Bits of [`KernelSetting::MemoryPolicy`] that are the mode.
const MODE_BITS: u32 = 16;

impl KernelSetting {
    /// All of them.
    pub const ALL: [KernelSetting; SETTINGS] = [
        KernelSetting::Nice,
        KernelSetting::IoPriority,
        KernelSetting::TimerSlack,
        KernelSetting::Personality,
        KernelSetting::FsUser,
        KernelSetting::FsGroup,
        KernelSetting::Scheduling,
        KernelSetting::MemoryPolicy,
        KernelSetting::GsBase,
    ];

    /// Not a value: the kernel's value does not fit one `i64`.
    pub const UNREPRESENTABLE: i64 = i64::MIN;

    /// As the calling kernel thread has it, or [`KernelSetting::UNREPRESENTABLE`].
    pub fn get(self) -> i64 {
        const ASK: usize = u32::MAX as usize;
        // SAFETY: these calls only read settings. `memory_policy` passes pointers to its own
        // variables.
        unsafe {
            match self {
                KernelSetting::Nice | KernelSetting::IoPriority | KernelSetting::Scheduling => self.get_of(0),
                KernelSetting::TimerSlack => {
                    call(libc::SYS_prctl, [libc::PR_GET_TIMERSLACK as usize, 0, 0, 0])
                }
                KernelSetting::Personality => call(libc::SYS_personality, [ASK, 0, 0, 0]),
                KernelSetting::FsUser => call(libc::SYS_setfsuid, [ASK, 0, 0, 0]),
                KernelSetting::FsGroup => call(libc::SYS_setfsgid, [ASK, 0, 0, 0]),
                KernelSetting::MemoryPolicy => memory_policy(),
                KernelSetting::GsBase => arch::gs_base().map_or(Self::UNREPRESENTABLE, |base| base as i64),
            }
        }
    }

    /// Does the kernel show the setting to other threads, so that a donor has to have it, too?
    pub(super) fn is_visible_to_others(self) -> bool {
        matches!(self, KernelSetting::Nice | KernelSetting::IoPriority | KernelSetting::Scheduling)
    }

    /// The value of the kernel thread with this number; zero means the caller. Only for settings
    /// that the kernel shows to other threads.
    pub(super) fn get_of(self, tid: i32) -> i64 {
        let tid = tid as usize;
        // SAFETY: these calls only read settings. `scheduling` passes a pointer to its own
        // variable.
        unsafe {
            match self {
                // The kernel returns 20 - nice.
                KernelSetting::Nice => {
                    20 - call(libc::SYS_getpriority, [libc::PRIO_PROCESS as usize, tid, 0, 0])
                }
                KernelSetting::IoPriority => call(libc::SYS_ioprio_get, [IOPRIO_WHO_PROCESS, tid, 0, 0]),
                KernelSetting::Scheduling => scheduling(tid),
                _ => Self::UNREPRESENTABLE,
            }
        }
    }

    /// Sets it for the calling kernel thread: zero or an error number.
    pub fn set(self, value: i64) -> i32 {
        if value == Self::UNREPRESENTABLE {
            return libc::EINVAL;
        }
        let number = value as usize;
        // SAFETY: only the scheduling and memory policy calls pass memory: pointers to local
        // variables that live until the call returns.
        let result = unsafe {
            match self {
                KernelSetting::Nice | KernelSetting::IoPriority | KernelSetting::Scheduling => {
                    return self.set_of(0, value);
                }
                KernelSetting::TimerSlack => {
                    call(libc::SYS_prctl, [libc::PR_SET_TIMERSLACK as usize, number, 0, 0])
                }
                // These return what was before.
                KernelSetting::Personality => call(libc::SYS_personality, [number, 0, 0, 0]).min(0),
                KernelSetting::FsUser => call(libc::SYS_setfsuid, [number, 0, 0, 0]).min(0),
                KernelSetting::FsGroup => call(libc::SYS_setfsgid, [number, 0, 0, 0]).min(0),
                KernelSetting::MemoryPolicy => set_memory_policy(value as u64),
                KernelSetting::GsBase => arch::set_gs_base(number) as i64,
            }
        };
        -result as i32
    }

    /// Sets it for the kernel thread of this number, as [`KernelSetting::get_of`]: zero or an error
    /// number.
    pub(super) fn set_of(self, tid: i32, value: i64) -> i32 {
        let (tid, number) = (tid as usize, value as usize);
        // SAFETY: the parameters of the scheduler are read from here; the others pass no memory.
        let result = unsafe {
            match self {
                KernelSetting::Nice => {
                    call(libc::SYS_setpriority, [libc::PRIO_PROCESS as usize, tid, number, 0])
                }
                KernelSetting::IoPriority => call(libc::SYS_ioprio_set, [IOPRIO_WHO_PROCESS, tid, number, 0]),
                KernelSetting::Scheduling => {
                    let priority = (value >> 32) as i32;
                    call(
                        libc::SYS_sched_setscheduler,
                        [tid, value as u32 as usize, (&raw const priority) as usize, 0],
                    )
                }
                _ => i64::from(-libc::EINVAL),
            }
        };
        -result as i32
    }
}

/// [`KernelSetting::Scheduling`] of a kernel thread.
unsafe fn scheduling(tid: usize) -> i64 {
    let mut priority = 0_i32;
    // SAFETY: the kernel writes one number.
    unsafe {
        let policy = call(libc::SYS_sched_getscheduler, [tid, 0, 0, 0]);
        let asked = call(libc::SYS_sched_getparam, [tid, (&raw mut priority) as usize, 0, 0]);
        let fits = policy >= 0 && asked == 0 && policy & !RESET_ON_FORK != SCHED_DEADLINE;
        if fits { policy | i64::from(priority) << 32 } else { KernelSetting::UNREPRESENTABLE }
    }
}

/// [`KernelSetting::MemoryPolicy`] of the calling kernel thread.
fn memory_policy() -> i64 {
    let (mut mode, mut nodes) = (0_i32, [0_u64; NODE_WORDS]);
    let (bits, whole) = (size_of_val(&nodes) * 8, 0);
    // SAFETY: the kernel writes the mode and no more than the mask has.
    let asked = unsafe {
        arch::system_call_of_five(
            libc::SYS_get_mempolicy as usize,
            [(&raw mut mode) as usize, nodes.as_mut_ptr() as usize, bits, 0, whole],
        )
    };
    let [first, rest @ ..] = nodes;
    let fits = asked == 0 && first >> (64 - MODE_BITS) == 0 && rest.iter().all(|&word| word == 0);
    if fits { (first << MODE_BITS | u64::from(mode as u16)) as i64 } else { KernelSetting::UNREPRESENTABLE }
}

/// Sets it: zero or a negative error number.
unsafe fn set_memory_policy(value: u64) -> i64 {
    let (mode, nodes) = (value & u64::from(u16::MAX), value >> MODE_BITS);
    let mask = if nodes == 0 { ptr::null() } else { &raw const nodes };
    // The kernel reads one bit less than the number that it is given.
    let bits = if nodes == 0 { 0 } else { u64::BITS as usize + 1 };
    // SAFETY: the mask's own word; the kernel reads as many words as there are bits, less one.
    unsafe { call(libc::SYS_set_mempolicy, [mode as usize, mask as usize, bits, 0]) }
}

/// # Safety
/// As the system call.
pub(super) unsafe fn call(number: libc::c_long, arguments: [usize; 4]) -> i64 {
    // SAFETY: passed on.
    unsafe { arch::system_call(number as usize, arguments) as i64 }
}
