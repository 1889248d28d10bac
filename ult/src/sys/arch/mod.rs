//! What depends on the processor: the context switch, the floating-point control words, the kernel
//! thread's own block and the thread pointer it is found by.
//!
//! One file per processor, all with the same items: [`switch`], [`prepare`], [`FpState`],
//! [`fp_state`], [`set_fp_state`], [`FpWords`], [`store_fp_words`], [`load_fp_words`],
//! [`thread_block`], [`thread_pointer`], [`set_thread_pointer`],
//! [`set_thread_pointer_by_system_call`], [`gs_base`], [`set_gs_base`], [`key_rights`],
//! [`set_key_rights`], [`system_call`], [`system_call_of_five`], [`ticks`], [`pause`], and
//! [`fetch_to_write`]. Beside these files only the stall monitor names registers
//! (`stall/{spin,unwind,restart,frame}.rs`), where it samples interrupted code. A new processor is
//! a new file here, and those of the monitor.
//!
//! What may not live here: any notion of a scheduler, a stack pool, C++ or signals. [`switch`]
//! moves between two stacks and says nothing about who owns them; `docs/protocols/switch.md` says
//! who may call it when.
//!
//! Tried and rejected:
//! * the `context` and `corosensei` crates (measured side by side in `docs/dependencies.md`). The
//!   first needs a C assembler, has no unwind information and is not maintained. The second has no
//!   direct switch between two coroutines and leaves MXCSR and the x87 control word to the code
//!   that runs next;
//! * entering the new context with `ret`: the return predictor is always wrong there and costs
//!   about 10 ns per switch;
//! * `std::thread_local!` for [`thread_block`]: its accessor is a call in a shared library, and the
//!   compiler keeps the address across a switch to another kernel thread.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub use aarch64::{
    FpState, FpWords, fetch_to_write, fp_state, gs_base, key_rights, load_fp_words, pause, prepare,
    set_fp_state, set_gs_base, set_key_rights, set_thread_pointer, set_thread_pointer_by_system_call,
    store_fp_words, switch, system_call, system_call_of_five, thread_block, thread_pointer, ticks,
};

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub use x86_64::{
    FpState, FpWords, fetch_to_write, fp_state, gs_base, key_rights, load_fp_words, pause, prepare,
    set_fp_state, set_gs_base, set_key_rights, set_thread_pointer, set_thread_pointer_by_system_call,
    store_fp_words, switch, system_call, system_call_of_five, thread_block, thread_pointer, ticks,
};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("ult: no context switch for this processor yet; add a file beside ult/src/sys/arch/x86_64.rs");

use core::cell::Cell;

/// The 72 bytes that belong to one kernel thread; zero when the thread starts. They begin a cache
/// line.
///
/// Words 0 to 3 and 8 belong to the scheduler, words 4 to 7 to [`crate::exceptions`]. The block is
/// found through the thread pointer: code that runs with another thread's pointer (a borrowed TLS
/// block) sees that thread's block. So the code that changes the thread pointer carries words 0 to
/// 2 over.
///
/// So few bytes on purpose: a library that is loaded late must fit into the little static thread
/// storage that the dynamic linker keeps spare.
#[repr(C)]
pub struct ThreadBlock {
    /// Words without a type of their own; see the table of owners above.
    pub words: [Cell<usize>; 9],
}

const _: () = assert!(core::mem::size_of::<ThreadBlock>() == 72);
