//! aarch64, AAPCS64 (Linux).
//!
//! A suspended stack, from its stack pointer upwards:
//!
//! ```text
//!   sp +0    x19 x20      +64   x27 x28      +128  d12 d13
//!      +16   x21 x22      +80   x29 x30      +144  d14 d15
//!      +32   x23 x24      +96   d8  d9       +160  the frame of the caller of `switch`
//!      +48   x25 x26      +112  d10 d11
//! ```
//!
//! AAPCS64 makes x19 to x28, x29 (frame pointer), x30 (where to continue), the stack pointer and
//! the *low halves* of v8 to v15 callee-saved; x18 is the platform register and never touched; SVE
//! and SME state is caller-saved or per call (PSTATE.ZA is off at every call). FPCR belongs to the
//! OpenMP thread and not to a stack: [`FpWords`]. FPSR, the sticky flags, is not saved: the ABI
//! gives it no owner.
use super::ThreadBlock;
use core::arch::{asm, global_asm, naked_asm};

/// Bytes of the frame drawn above; a multiple of 16, as the stack pointer must be.
const FRAME: usize = 160;

/// Leaves the current stack, with its resumption point in `*save`, and continues at `to`.
///
/// Returns when a later call switches to the value that was stored in `*save`, with the `arg` of
/// that call; possibly on another kernel thread. Callee-saved registers are those of before the
/// call; FPCR stays as it is at the switch.
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
        "sub sp, sp, #160",
        ".cfi_def_cfa_offset 160",
        "stp x19, x20, [sp, #0]",
        ".cfi_offset x19, -160",
        ".cfi_offset x20, -152",
        "stp x21, x22, [sp, #16]",
        ".cfi_offset x21, -144",
        ".cfi_offset x22, -136",
        "stp x23, x24, [sp, #32]",
        ".cfi_offset x23, -128",
        ".cfi_offset x24, -120",
        "stp x25, x26, [sp, #48]",
        ".cfi_offset x25, -112",
        ".cfi_offset x26, -104",
        "stp x27, x28, [sp, #64]",
        ".cfi_offset x27, -96",
        ".cfi_offset x28, -88",
        "stp x29, x30, [sp, #80]",
        ".cfi_offset x29, -80",
        ".cfi_offset x30, -72",
        "stp d8, d9, [sp, #96]",
        ".cfi_offset v8, -64",
        ".cfi_offset v9, -56",
        "stp d10, d11, [sp, #112]",
        ".cfi_offset v10, -48",
        ".cfi_offset v11, -40",
        "stp d12, d13, [sp, #128]",
        ".cfi_offset v12, -32",
        ".cfi_offset v13, -24",
        "stp d14, d15, [sp, #144]",
        ".cfi_offset v14, -16",
        ".cfi_offset v15, -8",
        "mov x10, sp",
        "str x10, [x0]",
        // The other stack has the same picture, so the same unwind rules hold on it from here on.
        "mov sp, x1",
        "mov x0, x2",
        "ldp x19, x20, [sp, #0]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "ldp x29, x30, [sp, #80]",
        "add sp, sp, #160",
        ".cfi_def_cfa_offset 0",
        ".cfi_restore x19",
        ".cfi_restore x20",
        ".cfi_restore x21",
        ".cfi_restore x22",
        ".cfi_restore x23",
        ".cfi_restore x24",
        ".cfi_restore x25",
        ".cfi_restore x26",
        ".cfi_restore x27",
        ".cfi_restore x28",
        ".cfi_restore x29",
        ".cfi_restore x30",
        ".cfi_restore v8",
        ".cfi_restore v9",
        ".cfi_restore v10",
        ".cfi_restore v11",
        ".cfi_restore v12",
        ".cfi_restore v13",
        ".cfi_restore v14",
        ".cfi_restore v15",
        // Not `ret`, which would take the return predictor's word for our own caller. x17 is the
        // register from which an indirect jump may enter code that is protected by branch target
        // identification.
        "mov x17, x30",
        "br x17",
        ".cfi_endproc",
    )
}

/// Where a fresh stack continues first: x19 holds the entry function, x0 the argument of the
/// switch.
///
/// The undefined return address ends unwinding and backtraces here. The `bti j` is a no-operation
/// on older processors.
#[unsafe(naked)]
unsafe extern "C" fn base() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined x30",
        "hint #36", // bti j; also the instruction that keeps "return address minus one" inside this function
        "mov x29, xzr",
        "mov x30, xzr",
        "blr x19",
        "brk #1",
        ".cfi_endproc",
    )
}

/// Lays the first frame on a fresh stack, so that the first [`switch`] to the result calls
/// `entry(arg)`.
///
/// Backtraces and unwinding end below the entry.
///
/// # Safety
/// The 256 bytes below `top` are writable and no other thread uses them; `entry` never returns.
pub unsafe fn prepare(top: *mut u8, entry: unsafe extern "C" fn(usize) -> !) -> *mut u8 {
    let aligned = top.map_addr(|a| a & !15);
    // SAFETY: the caller gives 256 bytes; at most 15 go to alignment and 160 + 16 to the frame and
    // the zero words above it. All words are 8-byte aligned because `aligned` is.
    unsafe {
        // A frame record of zeros above the frame ends the chain of frame pointers.
        let end = aligned.sub(16);
        end.cast::<[usize; 2]>().write([0, 0]);
        let frame = end.sub(FRAME).cast::<usize>();
        for word in 0..FRAME / 8 {
            frame.add(word).write(0);
        }
        frame.write(entry as usize); // x19
        frame.add(11).write(base as *const () as usize); // x30
        frame.cast()
    }
}

/// The floating-point control word: rounding, exception traps, flush to zero; no sticky flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FpState {
    fpcr: u64,
}

/// Reads this thread's floating-point control word.
pub fn fp_state() -> FpState {
    let fpcr: u64;
    // SAFETY: reads a register that user code may read.
    unsafe { asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, preserves_flags, readonly)) };
    FpState { fpcr }
}

/// Sets this thread's floating-point control word; the sticky flags (FPSR) stay as they are. Writes
/// only if it differs.
///
/// # Safety
/// Compiled Rust code assumes the default word: between this call and the return to code that
/// expects `state` no Rust floating-point arithmetic takes place.
pub unsafe fn set_fp_state(state: FpState) {
    if fp_state() != state {
        // SAFETY: `state` was read from the same register; the caller answers for what it means.
        unsafe { asm!("msr fpcr, {}", in(reg) state.fpcr, options(nostack, preserves_flags, readonly)) };
    }
}

/// The floating-point word of a thread while other threads run: FPCR.
///
/// The sticky flags (FPSR) stay with the kernel thread.
#[derive(Clone, Copy, Debug)]
pub struct FpWords {
    fpcr: u64,
}

impl FpWords {
    /// What a processor starts with.
    pub const INITIAL: Self = Self { fpcr: 0 };
}

/// Stores this kernel thread's floating-point word.
///
/// # Safety
/// `words` is writable and no other thread uses it meanwhile.
#[inline(always)]
pub unsafe fn store_fp_words(words: *mut FpWords) {
    let FpState { fpcr } = fp_state();
    // SAFETY: as the caller says.
    unsafe { words.write(FpWords { fpcr }) };
}

/// Loads this kernel thread's floating-point word. Writing FPCR may drain the pipeline, so only if
/// it differs.
///
/// # Safety
/// `words` is readable, and its word comes from [`store_fp_words`] or is the initial one. What
/// [`set_fp_state`] asks for.
#[inline(always)]
pub unsafe fn load_fp_words(words: *const FpWords) {
    // SAFETY: as the caller says.
    unsafe { set_fp_state(FpState { fpcr: (*words).fpcr }) };
}

// Initial-exec thread storage, without nightly features and without a call.
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

/// This kernel thread's own block. Four instructions.
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
            "adrp {0}, :gottprel:ult_thread_block",
            "ldr {0}, [{0}, #:gottprel_lo12:ult_thread_block]",
            "mrs {1}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) block,
            out(reg) _,
            options(nostack, preserves_flags, readonly),
        );
    }
    block
}

/// The thread pointer in force.
#[inline(always)]
pub fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register that user code may read. Not `pure`: the pointer may change between
    // calls.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

/// Sets the thread pointer. Not used: borrowed TLS blocks have not been tried on this processor yet
/// (`ult::tls_block`).
///
/// # Safety
/// `pointer` is the thread pointer of a thread whose block stays mapped and is used by no other
/// kernel thread at the same time; the caller keeps no address of thread-local storage across the
/// call.
#[inline(always)]
pub unsafe fn set_thread_pointer(pointer: usize) {
    // SAFETY: as the caller says.
    unsafe { asm!("msr tpidr_el0, {}", in(reg) pointer, options(nostack, preserves_flags)) };
}

/// There is no such system call on this processor: always false, nothing is changed.
///
/// # Safety
/// None needed; `unsafe` as on the other processors.
pub unsafe fn set_thread_pointer_by_system_call(_: usize) -> bool {
    false
}

/// A system call past the C library: no thread-local storage is read or written, `errno` included.
/// Returns what the kernel returned, an error as a negative number.
///
/// # Safety
/// As for the system call.
pub unsafe fn system_call(number: usize, arguments: [usize; 4]) -> isize {
    let result: isize;
    let [first, second, third, fourth] = arguments;
    // SAFETY: the kernel's convention: number in x8, result in x0, all other registers kept.
    unsafe {
        asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second, in("x2") third, in("x3") fourth,
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
            "svc #0",
            in("x8") number,
            inlateout("x0") first => result,
            in("x1") second, in("x2") third, in("x3") fourth, in("x4") fifth,
            options(nostack),
        );
    }
    result
}

/// This machine has no such segment.
pub fn gs_base() -> Option<usize> {
    None
}

/// Always fails: this machine has no such segment.
///
/// # Safety
/// None is needed.
pub unsafe fn set_gs_base(_: usize) -> isize {
    -(libc::ENOSYS as isize)
}

/// Protection keys of this machine are not carried along.
pub fn key_rights() -> u32 {
    0
}

/// As above.
pub fn set_key_rights(_: u32) {}

/// A clock that runs at a steady rate, in nanoseconds; it may move in larger steps. For differences
/// on one processor.
#[inline(always)]
pub fn ticks() -> u64 {
    let (count, frequency): (u64, u64);
    // SAFETY: reads the generic timer, which Linux opens to programs.
    unsafe {
        asm!("mrs {}, cntvct_el0", "mrs {}, cntfrq_el0", out(reg) count, out(reg) frequency, options(nomem, nostack, preserves_flags));
    }
    (u128::from(count) * 1_000_000_000 / u128::from(frequency.max(1))) as u64
}

/// Tells the processor that this is a spin loop.
#[inline(always)]
pub fn pause() {
    core::hint::spin_loop();
}

/// The line at `address` is about to be written: the processor fetches it, from any cache or from
/// memory, while it does something else. Any address.
#[inline(always)]
pub fn fetch_to_write(address: *const ()) {
    // SAFETY: changes nothing but what is in the cache.
    unsafe { asm!("prfm pstl1keep, [{}]", in(reg) address, options(nostack, preserves_flags)) };
}
