//! The shapes of the entry points: how operands and results travel. All take a source location and
//! a thread number, unused here, and the address of the location.
//!
//! | shape | operand | captured result |
//! |---|---|---|
//! | `value` | by value | by value (128-bit complex: both in memory, which Rust's `extern "C"` does) |
//! | `pointer` | by value | through a pointer before the flag: `float complex` |
//! | `x87` | on the stack | in `st(0)`: `long double` |
//! | `x87_quad` | by value | in `st(0)`: `long double` with a `__float128` operand |
//! | `x87_complex` | on the stack | in `st(0)` and `st(1)`: `long double complex` |
//!
//! Rust knows neither x87 operands nor results. The x87 shapes are a naked function that hands the
//! addresses of operand and result to an ordinary one, as the variadic entry points of the fronts
//! do.

/// `#[unsafe(export_name)]` for a function of the table.
macro_rules! exported {
    ($name:expr, $function:item) => {
        #[unsafe(export_name = $name)]
        $function
    };
}

/// A naked function for the x87 shapes: `$before` prepares the arguments of `$body`, which stores
/// its result at `rsp`; `$after` loads it.
macro_rules! x87_entry {
    ($name:expr, $body:ident, $bytes:literal, [$($before:literal),*], [$($after:literal),*]) => {
        #[unsafe(naked)]
        #[unsafe(export_name = $name)]
        unsafe extern "C-unwind" fn entry() {
            naked_asm!(
                ".cfi_startproc",
                $($before,)*
                concat!("sub rsp, ", $bytes),
                concat!(".cfi_adjust_cfa_offset ", $bytes),
                "mov r9, rsp",
                "call {}",
                $($after,)*
                concat!("add rsp, ", $bytes),
                concat!(".cfi_adjust_cfa_offset -", $bytes),
                "ret",
                ".cfi_endproc",
                sym $body
            )
        }
    };
}

/// An update: the two functions that make it without and with capture. `$type` names the type in
/// the symbol, `$operation` the operation, `$tail` what follows `_cpt`; `$next` computes the new
/// value from the old one and the operand.
macro_rules! update {
    (value, $type:literal, $operation:literal, $tail:literal, $t:ty, $operand:ty, $next:expr) => {
        update!(plain, $type, $operation, $tail, $t, $operand, $next);
        const _: () = {
            exported! { concat!("__kmpc_atomic_", $type, "_", $operation, "_cpt", $tail),
            unsafe extern "C-unwind" fn capture(_: *const c_void, _: c_int, at: *mut $t, by: $operand, flag: c_int) -> $t {
                // SAFETY: the compiler passes the location of an `atomic`.
                captured(unsafe { cell::update(at, |old| $next(old, by)) }, flag)
            } }
        };
    };
    (pointer, $type:literal, $operation:literal, $tail:literal, $t:ty, $operand:ty, $next:expr) => {
        update!(plain, $type, $operation, $tail, $t, $operand, $next);
        const _: () = {
            exported! { concat!("__kmpc_atomic_", $type, "_", $operation, "_cpt", $tail),
            unsafe extern "C-unwind" fn capture(
                _: *const c_void, _: c_int, at: *mut $t, by: $operand, out: *mut $t, flag: c_int,
            ) {
                // SAFETY: the compiler passes the location of an `atomic`, and one for the result.
                unsafe { out.write_unaligned(captured(cell::update(at, |old| $next(old, by)), flag)) };
            } }
        };
    };
    (x87, $type:literal, $operation:literal, $tail:literal, $t:ty, $operand:ty, $next:expr) => {
        update!(stacked, $type, $operation, $tail, $t, ["fld tbyte ptr [rsp]"], "24", $next);
    };
    (x87_complex, $type:literal, $operation:literal, $tail:literal, $t:ty, $operand:ty, $next:expr) => {
        update!(stacked, $type, $operation, $tail, $t, ["fld tbyte ptr [rsp + 16]", "fld tbyte ptr [rsp]"], "40", $next);
    };
    (x87_quad, $type:literal, $operation:literal, $tail:literal, $t:ty, $operand:ty, $next:expr) => {
        update!(plain, $type, $operation, $tail, $t, $operand, $next);
        const _: () = {
            unsafe extern "C-unwind" fn body(
                _: *const c_void, _: c_int, at: *mut $t, flag: c_int, _: usize, out: *mut $t, by: $operand,
            ) {
                // SAFETY: the compiler passes the location of an `atomic`; `out` is in the entry's
                // frame.
                unsafe { *out = captured(cell::update(at, |old| $next(old, by)), flag) };
            }
            x87_entry!(concat!("__kmpc_atomic_", $type, "_", $operation, "_cpt", $tail), body, "24", [], ["fld tbyte ptr [rsp]"]);
        };
    };
    // The function without capture, of an operand that travels by value.
    (plain, $type:literal, $operation:literal, $tail:literal, $t:ty, $operand:ty, $next:expr) => {
        const _: () = {
            exported! { concat!("__kmpc_atomic_", $type, "_", $operation, $tail),
            unsafe extern "C-unwind" fn update(_: *const c_void, _: c_int, at: *mut $t, by: $operand) {
                // SAFETY: the compiler passes the location of an `atomic`.
                unsafe { cell::update(at, |old| $next(old, by)) };
            } }
        };
    };
    // Both functions of an operand on the stack.
    (stacked, $type:literal, $operation:literal, $tail:literal, $t:ty, $load:tt, $bytes:literal, $next:expr) => {
        const _: () = {
            unsafe extern "C-unwind" fn body(_: *const c_void, _: c_int, at: *mut $t, by: *const $t) {
                // SAFETY: the compiler passes the location of an `atomic`; the operand is in its
                // frame.
                unsafe { cell::update(at, |old| $next(old, *by)) };
            }
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("__kmpc_atomic_", $type, "_", $operation, $tail))]
            unsafe extern "C-unwind" fn entry() {
                naked_asm!("lea rcx, [rsp + 8]", "jmp {}", sym body)
            }
        };
        const _: () = {
            unsafe extern "C-unwind" fn body(
                _: *const c_void, _: c_int, at: *mut $t, flag: c_int, by: *const $t, out: *mut $t,
            ) {
                // SAFETY: as above; `out` is in the entry's frame.
                unsafe { *out = captured(cell::update(at, |old| $next(old, *by)), flag) };
            }
            x87_entry!(concat!("__kmpc_atomic_", $type, "_", $operation, "_cpt", $tail), body, $bytes, ["lea r8, [rsp + 8]"], $load);
        };
    };
}

/// Read, write and swap of a type in its shape.
macro_rules! transfer {
    (value, $type:literal, $t:ty) => {
        transfer!(loaded, $type, $t);
        const _: () = {
            exported! { concat!("__kmpc_atomic_", $type, "_swp"),
            unsafe extern "C-unwind" fn swap(_: *const c_void, _: c_int, at: *mut $t, new: $t) -> $t {
                // SAFETY: the compiler passes the location of an `atomic`.
                unsafe { cell::update(at, |_| new) }.old
            } }
        };
    };
    (pointer, $type:literal, $t:ty) => {
        transfer!(loaded, $type, $t);
        const _: () = {
            exported! { concat!("__kmpc_atomic_", $type, "_swp"),
            unsafe extern "C-unwind" fn swap(_: *const c_void, _: c_int, at: *mut $t, new: $t, out: *mut $t) {
                // SAFETY: the compiler passes the location of an `atomic`, and one for the result.
                unsafe { out.write_unaligned(cell::update(at, |_| new).old) };
            } }
        };
    };
    (x87, $type:literal, $t:ty) => {
        transfer!(stacked, $type, $t, "24", ["fld tbyte ptr [rsp]"]);
    };
    (x87_complex, $type:literal, $t:ty) => {
        transfer!(stacked, $type, $t, "40", ["fld tbyte ptr [rsp + 16]", "fld tbyte ptr [rsp]"]);
    };
    // Read and write of what travels by value.
    (loaded, $type:literal, $t:ty) => {
        const _: () = {
            exported! { concat!("__kmpc_atomic_", $type, "_rd"),
            unsafe extern "C-unwind" fn read(_: *const c_void, _: c_int, at: *mut $t) -> $t {
                // SAFETY: the compiler passes the location of an `atomic`.
                unsafe { cell::read(at) }
            } }
            exported! { concat!("__kmpc_atomic_", $type, "_wr"),
            unsafe extern "C-unwind" fn write(_: *const c_void, _: c_int, at: *mut $t, new: $t) {
                // SAFETY: the compiler passes the location of an `atomic`.
                unsafe { cell::update(at, |_| new) };
            } }
        };
    };
    // All three of what travels on the stack and in x87 registers.
    (stacked, $type:literal, $t:ty, $bytes:literal, $load:tt) => {
        const _: () = {
            unsafe extern "C-unwind" fn body(
                _: *const c_void,
                _: c_int,
                at: *mut $t,
                _: usize,
                _: usize,
                out: *mut $t,
            ) {
                // SAFETY: the compiler passes the location of an `atomic`; `out` is in the entry's
                // frame.
                unsafe { *out = cell::read(at) };
            }
            x87_entry!(concat!("__kmpc_atomic_", $type, "_rd"), body, $bytes, [], $load);
        };
        const _: () = {
            unsafe extern "C-unwind" fn body(_: *const c_void, _: c_int, at: *mut $t, new: *const $t) {
                // SAFETY: the compiler passes the location of an `atomic`; the operand is in its
                // frame.
                unsafe { cell::update(at, |_| *new) };
            }
            #[unsafe(naked)]
            #[unsafe(export_name = concat!("__kmpc_atomic_", $type, "_wr"))]
            unsafe extern "C-unwind" fn entry() {
        naked_asm!("lea rcx, [rsp + 8]", "jmp {}", sym body)
            }
        };
        const _: () = {
            unsafe extern "C-unwind" fn body(
                _: *const c_void,
                _: c_int,
                at: *mut $t,
                _: usize,
                new: *const $t,
                out: *mut $t,
            ) {
                // SAFETY: as above; `out` is in the entry's frame.
                unsafe { *out = cell::update(at, |_| *new).old };
            }
            x87_entry!(concat!("__kmpc_atomic_", $type, "_swp"), body, $bytes, ["lea r8, [rsp + 8]"], $load);
        };
    };
}

pub(super) use {exported, transfer, update, x87_entry};
