//! Complex numbers. Sums are made here; products and quotients, with what Annex G of C asks for
//! infinities and for the range of quotients, are libgcc's.

use core::arch::naked_asm;

use super::number::{AtomicNumber, Convert};
use super::wide::{Extended, Quad};

/// C's `_Complex` of a real type, and Fortran's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Complex<T> {
    re: T,
    im: T,
}

impl Complex<Extended> {
    /// Zero, and a place for results.
    pub const ZERO: Self = Self { re: Extended::ZERO, im: Extended::ZERO };
}

unsafe extern "C" {
    safe fn __mulsc3(a: f32, b: f32, c: f32, d: f32) -> Complex<f32>;
    safe fn __divsc3(a: f32, b: f32, c: f32, d: f32) -> Complex<f32>;
    safe fn __muldc3(a: f64, b: f64, c: f64, d: f64) -> Complex<f64>;
    safe fn __divdc3(a: f64, b: f64, c: f64, d: f64) -> Complex<f64>;
    // Only their addresses are used.
    fn __multc3();
    fn __divtc3();
    fn __mulxc3();
    fn __divxc3();
}

#[unsafe(naked)]
extern "C" fn quad_product(_: Quad, _: Quad, _: Quad, _: Quad) -> Complex<Quad> {
    naked_asm!("jmp {}", sym __multc3)
}

#[unsafe(naked)]
extern "C" fn quad_quotient(_: Quad, _: Quad, _: Quad, _: Quad) -> Complex<Quad> {
    naked_asm!("jmp {}", sym __divtc3)
}

/// Calls a function of four `long double` on the stack that returns its result in two x87
/// registers.
macro_rules! extended {
    ($name:ident, $function:ident) => {
        #[unsafe(naked)]
        extern "C" fn $name(_: *const Complex<Extended>, _: *const Complex<Extended>, _: *mut Complex<Extended>) {
            naked_asm!(
                "push rbx",
                "mov rbx, rdx",
                "sub rsp, 64",
                "movups xmm0, [rdi]",
                "movups [rsp], xmm0",
                "movups xmm0, [rdi + 16]",
                "movups [rsp + 16], xmm0",
                "movups xmm0, [rsi]",
                "movups [rsp + 32], xmm0",
                "movups xmm0, [rsi + 16]",
                "movups [rsp + 48], xmm0",
                "call {}",
                "fstp tbyte ptr [rbx]",
                "fstp tbyte ptr [rbx + 16]",
                "add rsp, 64",
                "pop rbx",
                "ret",
                sym $function
            )
        }
    };
}

extended!(extended_product, __mulxc3);
extended!(extended_quotient, __divxc3);

/// Implements [`AtomicNumber`] by two functions of the four parts.
macro_rules! complex {
    ($($type:ty: $product:ident $quotient:ident;)*) => { $(
        impl AtomicNumber for Complex<$type> {
            fn add(self, other: Self) -> Self {
                Self { re: self.re.add(other.re), im: self.im.add(other.im) }
            }
            fn sub(self, other: Self) -> Self {
                Self { re: self.re.sub(other.re), im: self.im.sub(other.im) }
            }
            fn mul(self, other: Self) -> Self {
                $product(self.re, self.im, other.re, other.im)
            }
            fn div(self, other: Self) -> Self {
                $quotient(self.re, self.im, other.re, other.im)
            }
        }
    )* };
}

complex! {
    f32: __mulsc3 __divsc3;
    f64: __muldc3 __divdc3;
    Quad: quad_product quad_quotient;
    Extended: product quotient;
}

fn product(a: Extended, b: Extended, c: Extended, d: Extended) -> Complex<Extended> {
    let mut result = Complex::ZERO;
    extended_product(&Complex { re: a, im: b }, &Complex { re: c, im: d }, &mut result);
    result
}

fn quotient(a: Extended, b: Extended, c: Extended, d: Extended) -> Complex<Extended> {
    let mut result = Complex::ZERO;
    extended_quotient(&Complex { re: a, im: b }, &Complex { re: c, im: d }, &mut result);
    result
}

impl Convert<Complex<f64>> for Complex<f32> {
    fn widen(self) -> Complex<f64> {
        Complex { re: self.re.into(), im: self.im.into() }
    }
    fn narrow(wide: Complex<f64>) -> Self {
        Self { re: wide.re as f32, im: wide.im as f32 }
    }
}
