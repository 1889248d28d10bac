//! The table: types × operations. A row is a class of types; its classes' operations stand once,
//! above the rows.
//!
//! Names are libomp's. Those with a `__float128` operand (`_fp`) and 128-bit complex numbers exist
//! in Intel's library only.

use core::arch::naked_asm;
use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;

use super::cell::{self, AtomicWord, captured};
use super::complex::Complex;
use super::number::{AtomicNumber, AtomicOrder, Convert, Integer};
use super::shape::{exported, transfer, update, x87_entry};
use super::wide::{Extended, Quad};

/// The operand order of `x = expr - x`.
fn reversed<T, U>(operation: impl Fn(U, U) -> T) -> impl Fn(U, U) -> T {
    move |a, b| operation(b, a)
}

/// An operation on `T` and `W` that is made in `W`.
fn mixed<T: Convert<W>, W>(operation: impl Fn(W, W) -> W) -> impl Fn(T, W) -> T {
    move |a, b| T::narrow(operation(a.widen(), b))
}

fn min<T: AtomicOrder>(a: T, b: T) -> T {
    if b.less(a) { b } else { a }
}

fn max<T: AtomicOrder>(a: T, b: T) -> T {
    if a.less(b) { b } else { a }
}

/// Operations of every type, in its shape.
macro_rules! arithmetic {
    ($shape:ident, $name:literal, $t:ty) => {
        update!($shape, $name, "add", "", $t, $t, AtomicNumber::add);
        update!($shape, $name, "sub", "", $t, $t, AtomicNumber::sub);
        update!($shape, $name, "sub", "_rev", $t, $t, reversed(AtomicNumber::sub));
        update!($shape, $name, "mul", "", $t, $t, AtomicNumber::mul);
        divisions!($shape, $name, $t);
        transfer!($shape, $name, $t);
    };
}

/// Division, the one arithmetic operation that differs between signed and unsigned integers.
macro_rules! divisions {
    ($shape:ident, $name:literal, $t:ty) => {
        update!($shape, $name, "div", "", $t, $t, AtomicNumber::div);
        update!($shape, $name, "div", "_rev", $t, $t, reversed(AtomicNumber::div));
    };
}

/// Smallest and largest.
macro_rules! extremes {
    ($shape:ident, $name:literal, $t:ty) => {
        update!($shape, $name, "min", "", $t, $t, min);
        update!($shape, $name, "max", "", $t, $t, max);
    };
}

/// Right shifts, which differ between signed and unsigned integers.
macro_rules! right_shifts {
    ($name:literal, $t:ty) => {
        update!(value, $name, "shr", "", $t, $t, Integer::shr);
        update!(value, $name, "shr", "_rev", $t, $t, reversed(Integer::shr));
    };
}

/// Operations with a `__float128` operand.
macro_rules! with_quad {
    ($shape:ident, $name:literal, $t:ty) => {
        update!($shape, $name, "add", "_fp", $t, Quad, mixed(Quad::add));
        update!($shape, $name, "sub", "_fp", $t, Quad, mixed(Quad::sub));
        update!($shape, $name, "sub", "_rev_fp", $t, Quad, mixed(reversed(Quad::sub)));
        update!($shape, $name, "mul", "_fp", $t, Quad, mixed(Quad::mul));
        update!($shape, $name, "div", "_fp", $t, Quad, mixed(Quad::div));
        update!($shape, $name, "div", "_rev_fp", $t, Quad, mixed(reversed(Quad::div)));
    };
}

/// A class of types: its operations.
macro_rules! row {
    (signed $name:literal $t:ty) => {
        arithmetic!(value, $name, $t);
        extremes!(value, $name, $t);
        update!(value, $name, "andb", "", $t, $t, |a, b| a & b);
        update!(value, $name, "orb", "", $t, $t, |a, b| a | b);
        update!(value, $name, "xor", "", $t, $t, |a, b| a ^ b);
        update!(value, $name, "neqv", "", $t, $t, |a, b| a ^ b);
        update!(value, $name, "eqv", "", $t, $t, |a: $t, b: $t| !(a ^ b));
        update!(value, $name, "andl", "", $t, $t, Integer::both);
        update!(value, $name, "orl", "", $t, $t, Integer::either);
        update!(value, $name, "shl", "", $t, $t, Integer::shl);
        update!(value, $name, "shl", "_rev", $t, $t, reversed(Integer::shl));
        right_shifts!($name, $t);
        update!(plain, $name, "mul", "_float8", $t, f64, mixed(f64::mul));
        update!(plain, $name, "div", "_float8", $t, f64, mixed(f64::div));
        with_quad!(value, $name, $t);
    };
    (unsigned $name:literal $t:ty) => {
        divisions!(value, $name, $t);
        right_shifts!($name, $t);
        with_quad!(value, $name, $t);
    };
    (real $shape:ident $name:literal $t:ty) => {
        arithmetic!($shape, $name, $t);
        extremes!($shape, $name, $t);
    };
    (complex $shape:ident $name:literal $t:ty) => {
        arithmetic!($shape, $name, $t);
    };
    (with_double $name:literal $t:ty, $tail:literal $w:ty) => {
        update!(plain, $name, "add", $tail, $t, $w, mixed(<$w>::add));
        update!(plain, $name, "sub", $tail, $t, $w, mixed(<$w>::sub));
        update!(plain, $name, "mul", $tail, $t, $w, mixed(<$w>::mul));
        update!(plain, $name, "div", $tail, $t, $w, mixed(<$w>::div));
    };
    (with_quad $shape:ident $name:literal $t:ty) => {
        with_quad!($shape, $name, $t);
    };
    (compare $bytes:literal $w:ty) => {
        compare!($bytes, $w);
    };
    (call $bytes:literal) => {
        call!($bytes);
    };
}

/// `x == e ? d : x` in its four forms.
macro_rules! compare {
    ($bytes:literal, $w:ty) => {
        const _: () = {
            exported! { concat!("__kmpc_atomic_bool_", $bytes, "_cas"),
            unsafe extern "C-unwind" fn stored(_: *const c_void, _: c_int, at: *mut $w, expected: $w, new: $w) -> bool {
                // SAFETY: the compiler passes the location of an `atomic compare`.
                unsafe { AtomicWord::exchange(at, expected, new) == expected }
            } }
            exported! { concat!("__kmpc_atomic_val_", $bytes, "_cas"),
            unsafe extern "C-unwind" fn old(_: *const c_void, _: c_int, at: *mut $w, expected: $w, new: $w) -> $w {
                // SAFETY: as above.
                unsafe { AtomicWord::exchange(at, expected, new) }
            } }
            // Captures the old value where the comparison failed.
            exported! { concat!("__kmpc_atomic_bool_", $bytes, "_cas_cpt"),
            unsafe extern "C-unwind" fn stored_or_captured(
                _: *const c_void, _: c_int, at: *mut $w, expected: $w, new: $w, out: *mut $w,
            ) -> bool {
                // SAFETY: as above, and `out` is the location of the captured value.
                unsafe {
                    let old = AtomicWord::exchange(at, expected, new);
                    if old != expected {
                        out.write_unaligned(old);
                    }
                    old == expected
                }
            } }
            // Captures the value after the operation.
            exported! { concat!("__kmpc_atomic_val_", $bytes, "_cas_cpt"),
            unsafe extern "C-unwind" fn old_and_captured(
                _: *const c_void, _: c_int, at: *mut $w, expected: $w, new: $w, out: *mut $w,
            ) -> $w {
                // SAFETY: as above.
                unsafe {
                    let old = AtomicWord::exchange(at, expected, new);
                    out.write_unaligned(if old == expected { new } else { old });
                    old
                }
            } }
        };
    };
}

/// `function(out, left, right)`: what the compiler makes of an operation that the table does not
/// have.
type Operation = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *const c_void);

/// An update by a function of the compiler's, of a location of so many bytes.
macro_rules! call {
    ($bytes:literal) => {
        const _: () = {
            exported! { concat!("__kmpc_atomic_", $bytes),
            unsafe extern "C-unwind" fn call(_: *const c_void, _: c_int, at: *mut c_void, by: *const c_void, f: Operation) {
                // SAFETY: the compiler passes the location of an `atomic` and a function for values
                // of its size.
                unsafe { by_call::<$bytes>(at.cast(), by, f) };
            } }
        };
    };
}

/// Updates `N` bytes by `f`. Ten bytes are a `long double`: where it is aligned it has sixteen to
/// itself, and is updated as `float10` is.
unsafe fn by_call<const N: usize>(at: *mut [c_char; N], by: *const c_void, f: Operation) {
    if N == 10 && at.addr().is_multiple_of(16) {
        // SAFETY: as the caller says.
        return unsafe { by_call::<16>(at.cast(), by, f) };
    }
    let next = |old: [c_char; N]| {
        let mut new = MaybeUninit::new(old);
        // SAFETY: as the caller says.
        unsafe {
            f(new.as_mut_ptr().cast(), (&raw const old).cast(), by);
            new.assume_init()
        }
    };
    // SAFETY: as the caller says.
    unsafe { cell::update(at, next) };
}

macro_rules! table {
    ($([$($column:tt)*])*) => { $( row!($($column)*); )* };
}

table! {
    [signed "fixed1" i8]
    [signed "fixed2" i16]
    [signed "fixed4" i32]
    [signed "fixed8" i64]
    [unsigned "fixed1u" u8]
    [unsigned "fixed2u" u16]
    [unsigned "fixed4u" u32]
    [unsigned "fixed8u" u64]
    [real value "float4" f32]
    [real value "float8" f64]
    [real x87 "float10" Extended]
    [real value "float16" Quad]
    [complex pointer "cmplx4" Complex<f32>]
    [complex value "cmplx8" Complex<f64>]
    [complex x87_complex "cmplx10" Complex<Extended>]
    [complex value "cmplx16" Complex<Quad>]
    [with_double "float4" f32, "_float8" f64]
    [with_double "cmplx4" Complex<f32>, "_cmplx8" Complex<f64>]
    [with_quad value "float4" f32]
    [with_quad value "float8" f64]
    [with_quad x87_quad "float10" Extended]
    [compare 1 u8]
    [compare 2 u16]
    [compare 4 u32]
    [compare 8 u64]
    [call 1]
    [call 2]
    [call 4]
    [call 8]
    [call 10]
    [call 16]
    [call 20]
    [call 32]
}
