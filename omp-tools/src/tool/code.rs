//! Where in the program a call comes from.
//!
//! The entry points pass no return addresses down: a consumer's question is answered by unwinding
//! the stack up to the first frame that is not the library's. That costs about a microsecond while
//! a consumer is attached, and nothing otherwise.
//!
//! Rejected: frame pointers in the whole library (each function pays); entry points that are
//! written in assembly and note the address (each call pays, and two hundred functions would have a
//! second body).

use core::cell::Cell;
use core::ffi::{c_int, c_void};

/// What [`caller`] finds; zeros if there is no frame of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodeCaller {
    /// To where the call into the library returns.
    pub address: usize,
    /// Where the caller's stack ends: the address above that of the return address.
    pub stack: usize,
    /// Its frame pointer register.
    pub base: usize,
}

#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn _Unwind_Backtrace(
        step: unsafe extern "C" fn(*mut Context, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
    fn _Unwind_GetCFA(context: *mut Context) -> usize;
    fn _Unwind_GetGR(context: *mut Context, register: c_int) -> usize;
    // Made by the linker: where the library begins, and where its code ends.
    static __ehdr_start: u8;
    static etext: u8;
}

/// The number of the frame pointer among the unwinder's registers.
const FRAME_POINTER: c_int = if cfg!(target_arch = "x86_64") { 6 } else { 29 };
const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// Is that address in this library?
pub fn is_ours(address: usize) -> bool {
    let (begin, end) = (&raw const __ehdr_start as usize, &raw const etext as usize);
    (begin..end).contains(&address)
}

/// # Safety
/// Called by the unwinder, with what `caller` passes.
unsafe extern "C" fn step(context: *mut Context, found: *mut c_void) -> c_int {
    // SAFETY: the unwinder's context, and the cell of `caller`.
    unsafe {
        let address = _Unwind_GetIP(context);
        if is_ours(address) {
            return GO_ON;
        }
        let found = &*found.cast::<Cell<CodeCaller>>();
        found.set(CodeCaller {
            address,
            stack: _Unwind_GetCFA(context),
            base: _Unwind_GetGR(context, FRAME_POINTER),
        });
    }
    STOP
}

/// The innermost frame of the running code that is not the library's.
#[cold]
#[inline(never)]
pub fn caller() -> CodeCaller {
    let found = Cell::new(CodeCaller::default());
    // SAFETY: the function above, and a cell that outlives the call.
    unsafe { _Unwind_Backtrace(step, (&raw const found).cast_mut().cast()) };
    found.get()
}
