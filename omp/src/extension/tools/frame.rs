//! Calls of the program's code whose frames tools know: the base of the runtime's frame that has
//! called a task's code is the first word of the task's side block.

/// Calls `function(first, second)` from a frame whose base it writes to `exit` before.
///
/// # Safety
/// `function` has the C calling convention and takes at most these two arguments, which are what it
/// requires. `exit` may be written.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub unsafe extern "C-unwind" fn call(
    function: *const (),
    first: usize,
    second: usize,
    exit: *mut usize,
) -> usize {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov [rcx], rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call rax",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// As above, where the frame is not noted.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn call(function: *const (), first: usize, second: usize, _exit: *mut usize) -> usize {
    // SAFETY: as the caller says.
    unsafe {
        core::mem::transmute::<*const (), extern "C-unwind" fn(usize, usize) -> usize>(function)(
            first, second,
        )
    }
}
