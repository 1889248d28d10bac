//! x86_64, System V ABI.
//!
//! A suspended stack, from its stack pointer upwards (low addresses at the top of the picture):
//!
//! ```text
//!   sp +0   r15
//!      +8   r14
//!      +16  r13
//!      +24  r12
//!      +32  rbx
//!      +40  rbp
//!      +48  where to continue
//!      +56  the frame of the caller of `switch`
//! ```
//!
//! MXCSR and the x87 control word belong to the OpenMP thread and not to a stack: [`FpWords`].
//! Everything else is caller-saved in this ABI, vector registers included. The direction flag is
//! clear at every call.
use super::ThreadBlock;
use core::arch::{asm, global_asm, naked_asm};

/// Bytes of the frame drawn above.
const FRAME: usize = 56;

/// The sticky exception flags of MXCSR; all other bits control rounding, masks, FTZ and DAZ.
const MXCSR_FLAGS: u32 = 0x3f;

/// Leaves the current stack, with its resumption point in `*save`, and continues at `to`.
///
/// Returns when a later call switches to the value that was stored in `*save`, with the `arg` of
/// that call; possibly on another kernel thread. Callee-saved registers are those of before the
/// call; MXCSR and the x87 control word stay as they are at the switch.
///
/// # Safety
/// `to` is a resumption point that [`prepare`] returned or `switch` stored, its stack is mapped,
/// and no other call has continued or will continue at it. `save` is writable and outlives the
/// store. The caller is prepared to run on another kernel thread afterwards if the scheduler moves
/// stacks.
#[unsafe(naked)]
pub unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8, arg: usize) -> usize {
    naked_asm!(
        ".cfi_startproc",
        // Leave: build the frame of the picture. The unwind rules follow every push, so that a
        // profiler's or debugger's sample in here sees the caller.
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbp, 0",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbx, 0",
        "push r12",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r12, 0",
        "push r13",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r13, 0",
        "push r14",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r14, 0",
        "push r15",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset r15, 0",
        "mov [rdi], rsp",
        // The other stack has the same picture, so the same unwind rules hold on it from here on.
        "mov rsp, rsi",
        "mov rax, rdx",
        "pop r15",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r15",
        "pop r14",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r14",
        "pop r13",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r13",
        "pop r12",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore r12",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore rbx",
        "pop rbp",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_restore rbp",
        // Not `ret`: the return predictor expects our own caller and would be wrong every time.
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        ".cfi_register rip, rcx",
        "jmp rcx",
        ".cfi_endproc",
    )
}

/// Where a fresh stack continues first: `rbx` holds the entry function, `rax` the argument of the
/// switch.
///
/// The undefined return address tells gdb, perf and the C++ unwinder that the chain of frames ends
/// here; an uncaught exception therefore ends in `std::terminate` with the stack intact.
/// The `nop` before the label keeps look-ups of "return address minus one" inside this function.
#[unsafe(naked)]
unsafe extern "C" fn base() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "nop",
        "mov rdi, rax",
        "xor ebp, ebp",
        "call rbx",
        "ud2",
        ".cfi_endproc",
    )
}

/// Lays the first frame on a fresh stack, so that the first [`switch`] to the result calls
/// `entry(arg)`.
///
/// The entry starts with the alignment that the ABI promises. Backtraces and unwinding end below
/// it.
///
/// # Safety
/// The 128 bytes below `top` are writable and no other thread uses them; `entry` never returns.
pub unsafe fn prepare(top: *mut u8, entry: unsafe extern "C" fn(usize) -> !) -> *mut u8 {
    let aligned = top.map_addr(|a| a & !15);
    // SAFETY: the caller gives 128 bytes; at most 15 go to alignment and 72 to the frame and the
    // zero words above it. The frame's words are 8-byte aligned because `aligned` is.
    unsafe {
        // Two zero words above the frame: where a frame-pointer walker would look for the caller of
        // the base.
        let end = aligned.sub(16);
        end.cast::<[usize; 2]>().write([0, 0]);
        let frame = end.sub(FRAME).cast::<usize>();
        for register in 0..4 {
            frame.add(register).write(0); // r15, r14, r13, r12
        }
        frame.add(4).write(entry as usize); // rbx
        frame.add(5).write(0); // rbp
        frame.add(6).write(base as *const () as usize + 1); // behind the nop
        frame.cast()
    }
}

/// The control words of the floating-point units: rounding, exception masks, FTZ and DAZ; no sticky
/// flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FpState {
    mxcsr: u32,
    x87: u16,
}

/// Reads this thread's floating-point control words. A few nanoseconds.
pub fn fp_state() -> FpState {
    let (mut mxcsr, mut x87) = (0_u32, 0_u16);
    // SAFETY: both instructions only store to the named locals.
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
        asm!("fnstcw [{}]", in(reg) &raw mut x87, options(nostack, preserves_flags));
    }
    FpState { mxcsr: mxcsr & !MXCSR_FLAGS, x87 }
}

/// Sets this thread's floating-point control words; the sticky flags stay as they are. Loads only
/// what differs.
///
/// # Safety
/// Compiled Rust code assumes the default words: between this call and the return to code that
/// expects `state` no Rust floating-point arithmetic takes place.
pub unsafe fn set_fp_state(state: FpState) {
    let mut mxcsr = 0_u32;
    // SAFETY: stores to a local.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags)) };
    let now = fp_state();
    if now.mxcsr != state.mxcsr {
        mxcsr = state.mxcsr | mxcsr & MXCSR_FLAGS;
        // SAFETY: `state` was read by `stmxcsr`, so it has no reserved bit set; the caller answers
        // for what it means.
        unsafe {
            asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack, preserves_flags, readonly))
        };
    }
    if now.x87 != state.x87 {
        // SAFETY: as above, for the x87 control word.
        unsafe {
            asm!("fldcw [{}]", in(reg) &raw const state.x87, options(nostack, preserves_flags, readonly))
        };
    }
}

/// The floating-point words of a thread while other threads run: MXCSR, its sticky flags too, and
/// the x87 control word.
///
/// The sticky flags of the x87 unit are in its status word, which stays with the kernel thread.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FpWords {
    mxcsr: u32,
    x87: u16,
}

impl FpWords {
    /// What a processor starts with.
    pub const INITIAL: Self = Self { mxcsr: 0x1f80, x87: 0x37f };
}

/// Stores this kernel thread's floating-point words. Two instructions.
///
/// # Safety
/// `words` is writable and no other thread uses it meanwhile.
#[inline(always)]
pub unsafe fn store_fp_words(words: *mut FpWords) {
    // SAFETY: as the caller says; the offsets are those of a `repr(C)` structure.
    unsafe { asm!("stmxcsr [{0}]", "fnstcw [{0} + 4]", in(reg) words, options(nostack, preserves_flags)) };
}

/// Loads this kernel thread's floating-point words. Two instructions.
///
/// # Safety
/// `words` is readable, and its words come from [`store_fp_words`] or are the initial ones. What
/// [`set_fp_state`] asks for.
#[inline(always)]
pub unsafe fn load_fp_words(words: *const FpWords) {
    // SAFETY: as the caller says, so no reserved bit is set.
    unsafe {
        asm!("ldmxcsr [{0}]", "fldcw [{0} + 4]", in(reg) words, options(nostack, preserves_flags, readonly))
    };
}

// Initial-exec thread storage, without nightly features and without a call: the offset from the
// thread pointer is one load from the global offset table (a constant in an executable).
global_asm!(
    ".pushsection .tbss.ult_thread_block,\"awT\",@nobits",
    ".balign 64",
    ".globl ult_thread_block",
    ".hidden ult_thread_block",
    ".type ult_thread_block,@object",
    ".size ult_thread_block,72",
    "ult_thread_block:",
    ".zero 72",
    ".popsection",
);

/// This kernel thread's own block. Two instructions.
///
/// Ask again after everything that may switch: the block belongs to the kernel thread, not to the
/// stack. The compiler cannot merge two calls, because the assembly is volatile.
#[inline(always)]
pub fn thread_block() -> *const ThreadBlock {
    let block: *const ThreadBlock;
    // SAFETY: reads the thread pointer and one entry of the global offset table. Not `pure`, so
    // that it is evaluated anew at each call.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + ult_thread_block@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) block,
            options(nostack, readonly),
        );
    }
    block
}

/// The thread pointer in force: the address of the thread block that the C library made (`fs:0`
/// holds its own address).
#[inline(always)]
pub fn thread_pointer() -> usize {
    let fs: usize;
    // SAFETY: the ABI puts the block's own address in its first word. Not `pure`: the pointer may
    // change between calls.
    unsafe { asm!("mov {}, qword ptr fs:[0]", out(reg) fs, options(nostack, preserves_flags, readonly)) };
    fs
}

/// Sets the thread pointer, by one instruction. About 13 ns.
///
/// # Safety
/// The kernel allows the instruction (bit 1 of `AT_HWCAP2`; an illegal instruction otherwise). `fs`
/// is the thread pointer of a thread whose block stays mapped and is used by no other kernel thread
/// at the same time; the caller keeps no address of thread-local storage across the call.
#[inline(always)]
pub unsafe fn set_thread_pointer(fs: usize) {
    // SAFETY: as the caller says. The compiler keeps no memory across it, because the assembly may
    // write memory.
    unsafe { asm!("wrfsbase {}", in(reg) fs, options(nostack, preserves_flags)) };
}

/// Sets the thread pointer by the system call; false when the kernel refuses.
///
/// # Safety
/// As [`set_thread_pointer`], without the condition on the kernel.
pub unsafe fn set_thread_pointer_by_system_call(fs: usize) -> bool {
    const ARCH_SET_FS: usize = 0x1002;
    // SAFETY: as the caller says.
    unsafe { system_call(libc::SYS_arch_prctl as usize, [ARCH_SET_FS, fs, 0, 0]) == 0 }
}

/// A system call past the C library: no thread-local storage is read or written, `errno` included.
/// Returns what the kernel returned, an error as a negative number.
///
/// # Safety
/// As for the system call.
pub unsafe fn system_call(number: usize, arguments: [usize; 4]) -> isize {
    let result: isize;
    let [first, second, third, fourth] = arguments;
    // SAFETY: the kernel's convention: it overwrites rax, rcx and r11, and keeps off the red zone.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// As [`system_call`], for calls that take a fifth argument.
///
/// # Safety
/// As [`system_call`].
pub unsafe fn system_call_of_five(number: usize, arguments: [usize; 5]) -> isize {
    let result: isize;
    let [first, second, third, fourth, fifth] = arguments;
    // SAFETY: as there.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// The base of the GS segment, which belongs to the program; `None` where the kernel does not say.
/// Any thread.
pub fn gs_base() -> Option<usize> {
    const GET_GS: usize = 0x1004;
    let mut base = 0_usize;
    // SAFETY: the kernel writes one word.
    let asked =
        unsafe { system_call(libc::SYS_arch_prctl as usize, [GET_GS, (&raw mut base) as usize, 0, 0]) };
    (asked == 0).then_some(base)
}

/// Sets the base of the GS segment of the calling kernel thread: zero or a negative error number.
///
/// # Safety
/// The code that runs next wants it there.
pub unsafe fn set_gs_base(base: usize) -> isize {
    const SET_GS: usize = 0x1001;
    // SAFETY: no memory is passed; the rest is the caller's word.
    unsafe { system_call(libc::SYS_arch_prctl as usize, [SET_GS, base, 0, 0]) }
}

/// The calling kernel thread's rights of protection keys. Only where there are keys: the processor
/// has the instruction then.
pub fn key_rights() -> u32 {
    let rights: u32;
    // SAFETY: rdpkru: no memory, flags kept.
    unsafe {
        asm!(".byte 0x0f, 0x01, 0xee", in("ecx") 0, out("eax") rights, out("edx") _, options(nomem, nostack, preserves_flags))
    };
    rights
}

/// Gives the calling kernel thread rights of protection keys. As above; memory under a key that
/// they close must not be touched by what follows.
pub fn set_key_rights(rights: u32) {
    // SAFETY: wrpkru: flags kept. The compiler moves no memory access across it.
    unsafe {
        asm!(".byte 0x0f, 0x01, 0xef", in("ecx") 0, in("edx") 0, in("eax") rights, options(nostack, preserves_flags))
    };
}

/// A clock that runs at a steady rate, in ticks of a quarter of a nanosecond to a nanosecond. For
/// differences on one processor.
#[inline(always)]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Tells the processor that this is a spin loop. About 26 ns on current AMD server processors.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}

/// The line at `address` is about to be written: the processor fetches it, from any cache or from
/// memory, while it does something else. Any address.
#[inline(always)]
pub fn fetch_to_write(address: *const ()) {
    // SAFETY: changes nothing but what is in the cache; a processor that does not know the
    // instruction takes it for none.
    unsafe { asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags)) };
}
