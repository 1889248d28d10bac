//! The update of one storage location, whatever its type: a compare-and-exchange loop, or the lock
//! (see the parent).
//!
//! In assembly, because the standard library's atomics want aligned addresses, and programs have
//! unaligned ones (Fortran's `COMMON`, packed structures) that the compilers' own atomics serve.

use core::arch::asm;
use core::ffi::c_int;
use core::mem::{size_of, transmute_copy};
use std::sync::OnceLock;

use omp::env;
use omp::lock::ATOMIC;

/// An unsigned integer of a size that one instruction can exchange.
pub trait AtomicWord: Copy + Eq {
    /// What stands at `at`.
    ///
    /// # Safety
    /// `at` is readable.
    unsafe fn load(at: *const Self) -> Self;
    /// Stores `new` if `old` stands at `at`; returns what stood there. A full fence.
    ///
    /// # Safety
    /// `at` is writable.
    unsafe fn exchange(at: *mut Self, old: Self, new: Self) -> Self;
}

macro_rules! word {
    ($($type:ty, $class:ident, $accumulator:tt, $form:literal;)*) => { $(
        impl AtomicWord for $type {
            #[inline]
            unsafe fn load(at: *const Self) -> Self {
                let value;
                // SAFETY: a load, as the caller says.
                unsafe { asm!(concat!("mov {0", $form, "}, [{1}]"), out($class) value, in(reg) at, options(nostack, preserves_flags)) };
                value
            }
            #[inline]
            unsafe fn exchange(at: *mut Self, old: Self, new: Self) -> Self {
                let seen;
                // SAFETY: a store, as the caller says.
                unsafe {
                    asm!(concat!("lock cmpxchg [{0}], {1", $form, "}"), in(reg) at, in($class) new,
                         inout($accumulator) old => seen, options(nostack));
                }
                seen
            }
        }
    )* };
}

word! {
    u8, reg_byte, "al", "";
    u16, reg, "ax", ":x";
    u32, reg, "eax", ":e";
    u64, reg, "rax", ":r";
}

impl AtomicWord for u128 {
    #[inline]
    unsafe fn load(at: *const Self) -> Self {
        if !std::is_x86_feature_detected!("avx") {
            // SAFETY: writable, aligned and supported, as `fits` found; what is stored is what
            // stands there.
            return unsafe { Self::exchange(at.cast_mut(), 0, 0) };
        }
        let value: core::arch::x86_64::__m128i;
        // SAFETY: aligned, as `fits` found. Processors with AVX promise that such a load is atomic.
        unsafe {
            asm!("movdqa {0}, [{1}]", out(xmm_reg) value, in(reg) at, options(nostack, preserves_flags))
        };
        // SAFETY: both are 16 plain bytes.
        unsafe { core::mem::transmute(value) }
    }
    #[inline]
    unsafe fn exchange(at: *mut Self, old: Self, new: Self) -> Self {
        let (mut low, mut high) = (old as u64, (old >> 64) as u64);
        // Not `core::arch`'s function: compiled without the feature, it becomes a call into
        // libatomic.
        // SAFETY: aligned and supported, as `fits` found. The compiler keeps `rbx` to itself; it is
        // put back.
        unsafe {
            asm!("xchg {0}, rbx", "lock cmpxchg16b [rdi]", "mov rbx, {0}", inout(reg) new as u64 => _, in("rdi") at,
                 in("rcx") (new >> 64) as u64, inout("rax") low, inout("rdx") high, options(nostack));
        }
        u128::from(low) | u128::from(high) << 64
    }
}

/// Whether 16 bytes at `at` are exchanged by one instruction.
fn fits<T>(at: *const T) -> bool {
    at.addr().is_multiple_of(16) && std::is_x86_feature_detected!("cmpxchg16b") && !as_gnu()
}

/// `KMP_ATOMIC_MODE=2`: 16 bytes are updated under the lock, as gcc's code does.
fn as_gnu() -> bool {
    static MODE: OnceLock<bool> = OnceLock::new();
    *MODE.get_or_init(|| env::settings().atomic_mode == 2)
}

/// What stood at an address, and what has taken its place.
pub struct Replaced<T> {
    /// The value before.
    pub old: T,
    /// The value after.
    pub new: T,
}

/// Replaces what stands at `at` by `next` of it, atomically; returns the old and the new value.
/// `next` may run several times.
///
/// # Safety
/// `at` points to storage of a `T`, of any alignment, that is only used atomically meanwhile.
#[inline]
pub unsafe fn update<T: Copy>(at: *mut T, next: impl Fn(T) -> T) -> Replaced<T> {
    // SAFETY: as the caller says; 16 bytes only where they fit.
    unsafe {
        match size_of::<T>() {
            1 => retry::<T, u8>(at, next),
            2 => retry::<T, u16>(at, next),
            4 => retry::<T, u32>(at, next),
            8 => retry::<T, u64>(at, next),
            16 if fits(at) => retry::<T, u128>(at, next),
            _ => locked(at, next),
        }
    }
}

/// [`update`] by compare-and-exchange; `W` is as large as `T`.
#[inline]
unsafe fn retry<T: Copy, W: AtomicWord>(at: *mut T, next: impl Fn(T) -> T) -> Replaced<T> {
    // SAFETY: as `update`'s caller says.
    let mut seen = unsafe { W::load(at.cast()) };
    loop {
        // SAFETY: the same size, and every bit pattern that stands there is a `T`.
        let old: T = unsafe { transmute_copy(&seen) };
        let new = next(old);
        // SAFETY: the same size, and `T` has no uninitialised bytes.
        let now = unsafe { W::exchange(at.cast(), seen, transmute_copy(&new)) };
        if now == seen {
            return Replaced { old, new };
        }
        seen = now;
    }
}

/// [`update`] under the lock.
#[cold]
unsafe fn locked<T: Copy>(at: *mut T, next: impl Fn(T) -> T) -> Replaced<T> {
    ATOMIC.lock();
    // SAFETY: as `update`'s caller says.
    let old = unsafe { at.read_unaligned() };
    let new = next(old);
    // SAFETY: as above.
    unsafe { at.write_unaligned(new) };
    ATOMIC.unlock();
    Replaced { old, new }
}

/// What stands at `at`, read atomically.
///
/// # Safety
/// As [`update`].
#[inline]
pub unsafe fn read<T: Copy>(at: *mut T) -> T {
    // SAFETY: as `update`; the sizes agree.
    unsafe {
        match size_of::<T>() {
            1 => transmute_copy(&u8::load(at.cast())),
            2 => transmute_copy(&u16::load(at.cast())),
            4 => transmute_copy(&u32::load(at.cast())),
            8 => transmute_copy(&u64::load(at.cast())),
            16 if fits(at) => transmute_copy(&u128::load(at.cast())),
            _ => locked(at, |value| value).old,
        }
    }
}

/// The value that a capture asks for: the new one if `flag` is set, else the old one.
#[inline]
pub fn captured<T>(values: Replaced<T>, flag: c_int) -> T {
    if flag != 0 { values.new } else { values.old }
}
