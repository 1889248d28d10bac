//! Tells valgrind that a range is a stack; without it every switch looks like a jump of the stack
//! pointer and makes hundreds of false reports. The requests are an instruction sequence that does
//! nothing on a real processor.

#[cfg(target_arch = "x86_64")]
fn request(code: usize, first: usize, second: usize) -> usize {
    let arguments = [code, first, second, 0, 0, 0];
    let mut result = 0;
    // SAFETY: four rotations of rdi by 128 bits in all and an exchange of a register with itself:
    // no effect outside valgrind, which reads `arguments` and sets rdx.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            inout("rdx") result, in("rax") arguments.as_ptr(), options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
fn request(code: usize, first: usize, second: usize) -> usize {
    let arguments = [code, first, second, 0, 0, 0];
    let mut result = 0;
    // SAFETY: four rotations of x12 by 128 bits in all and a move of a register to itself: no
    // effect outside valgrind, which reads `arguments` through x4 and sets x3.
    unsafe {
        core::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            inout("x3") result, in("x4") arguments.as_ptr(), options(nostack),
        );
    }
    result
}

const RUNNING_ON_VALGRIND: usize = 0x1001;
const STACK_REGISTER: usize = 0x1501;
const STACK_DEREGISTER: usize = 0x1502;

/// True in a process that valgrind runs.
pub(crate) fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, 0, 0) != 0
}

/// Registers `lowest..=highest`; returns a non-zero handle, or zero when not under valgrind.
pub(super) fn register_stack(lowest: usize, highest: usize) -> usize {
    if is_running() { request(STACK_REGISTER, lowest, highest) + 1 } else { 0 }
}

/// Undoes [`register_stack`]; zero is nothing to undo.
pub(super) fn deregister_stack(handle: usize) {
    if handle != 0 {
        request(STACK_DEREGISTER, handle - 1, 0);
    }
}
