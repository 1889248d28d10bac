//! Arithmetic as C does it: integers wrap around, small ones are promoted to `int`, division faults
//! as the processor's does.

use core::arch::asm;

/// The four operations that every type of the table has.
pub trait AtomicNumber: Copy {
    /// `self + other`
    fn add(self, other: Self) -> Self;
    /// `self - other`
    fn sub(self, other: Self) -> Self;
    /// `self * other`
    fn mul(self, other: Self) -> Self;
    /// `self / other`
    fn div(self, other: Self) -> Self;
}

/// A type whose operations with an operand of type `W` are made in `W`, as C converts them.
pub trait Convert<W> {
    /// `(W)self`
    fn widen(self) -> W;
    /// `(Self)wide`
    fn narrow(wide: W) -> Self;
}

/// Order of real numbers; false where one of them is no number.
pub trait AtomicOrder: Copy {
    /// `self < other`
    fn less(self, other: Self) -> bool;
}

/// Integers: what they have beyond [`AtomicNumber`].
pub trait Integer: AtomicNumber + Eq {
    /// `self << by`, the count taken modulo the size of the promoted type
    fn shl(self, by: Self) -> Self;
    /// `self >> by`, likewise
    fn shr(self, by: Self) -> Self;
    /// `self && other`
    fn both(self, other: Self) -> Self;
    /// `self || other`
    fn either(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty as $promoted:ty;)*) => { $(
        impl AtomicNumber for $type {
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn div(self, other: Self) -> Self {
                match <$promoted>::from(self).checked_div(other.into()) {
                    Some(quotient) => quotient as $type,
                    None => fault(),
                }
            }
        }
        impl Integer for $type {
            fn shl(self, by: Self) -> Self { <$promoted>::from(self).wrapping_shl(by as u32) as $type }
            fn shr(self, by: Self) -> Self { <$promoted>::from(self).wrapping_shr(by as u32) as $type }
            fn both(self, other: Self) -> Self { (self != 0 && other != 0).into() }
            fn either(self, other: Self) -> Self { (self != 0 || other != 0).into() }
        }
        impl AtomicOrder for $type {
            fn less(self, other: Self) -> bool { self < other }
        }
        impl Convert<f64> for $type {
            fn widen(self) -> f64 { self as f64 }
            fn narrow(wide: f64) -> Self { wide as $promoted as Self }
        }
    )* };
}

integers! {
    i8 as i32; u8 as i32; i16 as i32; u16 as i32;
    i32 as i32; u32 as u32; i64 as i64; u64 as u64;
}

/// What an integer division that has no result does in compiled code: the processor's fault, SIGFPE
/// to the program.
#[cold]
fn fault() -> ! {
    loop {
        // SAFETY: faults; the loop is for a handler that returns, which makes the instruction run
        // again.
        unsafe { asm!("div {0:e}", in(reg) 0, inout("eax") 1 => _, inout("edx") 0 => _, options(nostack)) };
    }
}

macro_rules! floats {
    ($($type:ty)*) => { $(
        impl AtomicNumber for $type {
            fn add(self, other: Self) -> Self { self + other }
            fn sub(self, other: Self) -> Self { self - other }
            fn mul(self, other: Self) -> Self { self * other }
            fn div(self, other: Self) -> Self { self / other }
        }
        impl AtomicOrder for $type {
            fn less(self, other: Self) -> bool { self < other }
        }
    )* };
}

floats! { f32 f64 }

impl Convert<f64> for f32 {
    fn widen(self) -> f64 {
        self.into()
    }
    fn narrow(wide: f64) -> Self {
        wide as Self
    }
}
