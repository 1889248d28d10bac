//! The real types that Rust lacks: the x87 extended format and the 128-bit format. Values are their
//! bytes; the x87 unit computes with the first, libgcc's functions with the second, which travels
//! in SSE registers.

use core::arch::x86_64::__m128i;
use core::arch::{asm, naked_asm};

use super::number::{AtomicNumber, AtomicOrder, Convert};

/// `long double`: 80 bits in 16 bytes; the other 48 mean nothing.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Extended {
    significand: u64,
    exponent: u64,
}

impl Extended {
    /// Zero, and a place for results.
    pub const ZERO: Self = Self { significand: 0, exponent: 0 };
}

/// An operation of the x87 unit: loads both, computes, stores.
macro_rules! x87 {
    ($name:ident, $instruction:literal) => {
        fn $name(self, other: Self) -> Self {
            let mut result = Self::ZERO;
            // SAFETY: reads two numbers and writes the first ten bytes of the third.
            unsafe {
                asm!("fld tbyte ptr [{0}]", "fld tbyte ptr [{1}]", $instruction, "fstp tbyte ptr [{2}]",
                     in(reg) &raw const self, in(reg) &raw const other, in(reg) &raw mut result,
                     out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _, out("st(4)") _, out("st(5)") _, out("st(6)") _,
                     out("st(7)") _, options(nostack));
            }
            result
        }
    };
}

impl AtomicNumber for Extended {
    x87!(add, "faddp st(1), st");
    x87!(sub, "fsubp st(1), st");
    x87!(mul, "fmulp st(1), st");
    x87!(div, "fdivp st(1), st");
}

impl AtomicOrder for Extended {
    fn less(self, other: Self) -> bool {
        let above: u8;
        // SAFETY: reads two numbers.
        unsafe {
            asm!("fld tbyte ptr [{0}]", "fld tbyte ptr [{1}]", "fcomip st, st(1)", "fstp st(0)", "seta {2}",
                 in(reg) &raw const self, in(reg) &raw const other, out(reg_byte) above,
                 out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _, out("st(4)") _, out("st(5)") _, out("st(6)") _,
                 out("st(7)") _, options(nostack));
        }
        above != 0
    }
}

/// `__float128`.
pub type Quad = __m128i;

// Declared without arguments: only their addresses are used, by functions that pass the registers
// on.
unsafe extern "C" {
    fn __addtf3();
    fn __subtf3();
    fn __multf3();
    fn __divtf3();
    fn __lttf2();
    fn __extendsftf2();
    fn __trunctfsf2();
    fn __extenddftf2();
    fn __trunctfdf2();
    fn __extendxftf2();
    fn __trunctfxf2();
    fn __floatsitf();
    fn __fixtfsi();
    fn __floatunsitf();
    fn __fixunstfsi();
    fn __floatditf();
    fn __fixtfdi();
    fn __floatunditf();
    fn __fixunstfdi();
}

/// Functions of libgcc with the signatures they have: the foreign declarations may not name a
/// vector type.
macro_rules! libgcc {
    ($($name:ident($($argument:ty),*) -> $result:ty = $symbol:ident;)*) => { $(
        #[unsafe(naked)]
        extern "C" fn $name($(_: $argument),*) -> $result {
            naked_asm!("jmp {}", sym $symbol)
        }
    )* };
}

libgcc! {
    quad_add(Quad, Quad) -> Quad = __addtf3;
    quad_sub(Quad, Quad) -> Quad = __subtf3;
    quad_mul(Quad, Quad) -> Quad = __multf3;
    quad_div(Quad, Quad) -> Quad = __divtf3;
    quad_less(Quad, Quad) -> i32 = __lttf2;
    from_f32(f32) -> Quad = __extendsftf2;
    to_f32(Quad) -> f32 = __trunctfsf2;
    from_f64(f64) -> Quad = __extenddftf2;
    to_f64(Quad) -> f64 = __trunctfdf2;
    from_i32(i32) -> Quad = __floatsitf;
    to_i32(Quad) -> i32 = __fixtfsi;
    from_u32(u32) -> Quad = __floatunsitf;
    to_u32(Quad) -> u32 = __fixunstfsi;
    from_i64(i64) -> Quad = __floatditf;
    to_i64(Quad) -> i64 = __fixtfdi;
    from_u64(u64) -> Quad = __floatunditf;
    to_u64(Quad) -> u64 = __fixunstfdi;
}

/// `__extendxftf2` takes its argument on the stack.
#[unsafe(naked)]
extern "C" fn from_extended(_: *const Extended) -> Quad {
    naked_asm!(
        "sub rsp, 24",
        "movups xmm0, [rdi]",
        "movups [rsp], xmm0",
        "call {}",
        "add rsp, 24",
        "ret",
        sym __extendxftf2
    )
}

/// `__trunctfxf2` returns its result in an x87 register.
#[unsafe(naked)]
extern "C" fn to_extended(_: Quad, _: *mut Extended) {
    naked_asm!("push rdi", "call {}", "pop rdi", "fstp tbyte ptr [rdi]", "ret", sym __trunctfxf2)
}

impl AtomicNumber for Quad {
    fn add(self, other: Self) -> Self {
        quad_add(self, other)
    }
    fn sub(self, other: Self) -> Self {
        quad_sub(self, other)
    }
    fn mul(self, other: Self) -> Self {
        quad_mul(self, other)
    }
    fn div(self, other: Self) -> Self {
        quad_div(self, other)
    }
}

impl AtomicOrder for Quad {
    fn less(self, other: Self) -> bool {
        quad_less(self, other) < 0
    }
}

macro_rules! through {
    ($($type:ty as $wide:ty, $from:ident, $to:ident;)*) => { $(
        impl Convert<Quad> for $type {
            fn widen(self) -> Quad {
                $from(<$wide>::from(self))
            }
            fn narrow(wide: Quad) -> Self {
                $to(wide) as Self
            }
        }
    )* };
}

through! {
    i8 as i32, from_i32, to_i32;
    u8 as i32, from_i32, to_i32;
    i16 as i32, from_i32, to_i32;
    u16 as i32, from_i32, to_i32;
    i32 as i32, from_i32, to_i32;
    u32 as u32, from_u32, to_u32;
    i64 as i64, from_i64, to_i64;
    u64 as u64, from_u64, to_u64;
    f32 as f32, from_f32, to_f32;
    f64 as f64, from_f64, to_f64;
}

impl Convert<Quad> for Extended {
    fn widen(self) -> Quad {
        from_extended(&self)
    }
    fn narrow(wide: Quad) -> Self {
        let mut result = Self::ZERO;
        to_extended(wide, &mut result);
        result
    }
}
