//! The `omp_*` routines (OpenMP 5.2 §18) and LLVM's `kmp_*` ones, under their C and Fortran names.
//!
//! | file | chapter |
//! |---|---|
//! | [`parallel`] | 18.2 parallel regions |
//! | [`affinity`] | 18.3 thread affinity, 18.15 environment display |
//! | [`teams`] | 18.4 teams |
//! | [`tasking`] | 18.5 tasking, 18.11 events |
//! | [`resources`] | 18.6 resource relinquishing, 18.14 tool control |
//! | [`device`] | 18.7 devices, 18.8 device memory |
//! | [`lock`] | 18.9 locks |
//! | [`timing`] | 18.10 timing |
//! | [`interop`] | 18.12 interoperability |
//! | [`memory`] | 18.13 memory management |
//! | [`memspace`], [`dims`] | 6.0 and 6.1: memory of given devices, dimensions of teams |
//! | [`kmp`] | LLVM's extensions |
//! | [`ompx`], [`taskgraph`], [`placing`], [`cuda`], [`cluster`], [`remote`], [`object`], [`persistent`], [`dist`] | ours |
//!
//! A routine is written once, in [`routines!`]: that makes the C name (arguments by value) and the
//! Fortran name, which is the same with an underscore behind it (arguments by reference).
//! [`wide_routines!`] adds the names that gfortran calls under `-fdefault-integer-8`. What returns
//! through addresses or takes strings is written out, next to it.

/// Declares routines under their C name `x`, by value, and their Fortran name `x_`, by reference.
macro_rules! routines {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block
    )*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? $body

        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), "_"))]
            unsafe extern "C-unwind" fn fortran($($arg: *const $ty),*) $(-> $ret)? {
                // SAFETY: Fortran passes the addresses of its arguments.
                $name($(unsafe { *$arg }),*)
            }
        };
    )*};
}

/// Declares `x_8_` for routines that have been declared as `x`: the same with 64-bit arguments, by
/// reference, cut to what an `int` holds.
macro_rules! wide_routines {
    ($( fn $name:ident($($arg:ident),*) $(-> $ret:ty)?; )*) => {$(
        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), "_8_"))]
            unsafe extern "C-unwind" fn fortran($($arg: *const i64),*) $(-> $ret)? {
                // SAFETY: Fortran passes the addresses of its arguments.
                $name($($crate::abi::api::narrow(unsafe { *$arg }).cast_as()),*)
            }
        };
    )*};
}

/// Declares routines whose arguments are addresses in C, too, under both names.
macro_rules! address_routines {
    ($(
        $(#[$meta:meta])*
        fn $name:ident($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block
    )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// The addresses are valid for what the routine does with them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? $body

        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), "_"))]
            unsafe extern "C-unwind" fn fortran($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the same promise.
                unsafe { $name($($arg),*) }
            }
        };
    )*};
}

/// Declares further C names of routines: what LLVM's header calls them.
macro_rules! c_aliases {
    ($( fn $name:ident($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? => $same:ident; )*) => {$(
        #[doc = concat!("Another name of `", stringify!($same), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? {
            $same($($arg),*)
        }
    )*};
    ($( unsafe fn $name:ident($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? => $same:ident; )*) => {$(
        #[doc = concat!("Another name of `", stringify!($same), "`.")]
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($arg: $ty),*) $(-> $ret)? {
            // SAFETY: the same promise.
            unsafe { $same($($arg),*) }
        }
    )*};
}

/// The nearest `int`.
pub(crate) fn narrow(wide: i64) -> Narrow {
    Narrow(wide.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32, wide)
}

/// A 64-bit argument, on its way to the type the C routine has.
pub(crate) struct Narrow(i32, i64);

/// The integer types that the C routines take.
pub(crate) trait FromWide {
    fn from_wide(wide: &Narrow) -> Self;
}

impl FromWide for i32 {
    fn from_wide(wide: &Narrow) -> Self {
        wide.0
    }
}

impl FromWide for u32 {
    fn from_wide(wide: &Narrow) -> Self {
        wide.1 as u32 // a set of bits (`omp_sched_t`)
    }
}

impl Narrow {
    pub(crate) fn cast_as<T: FromWide>(&self) -> T {
        T::from_wide(self)
    }
}

/// Warns that a routine does nothing, and says what to do instead; the text is one line.
pub(crate) fn no_effect(routine: &str, instead: &str) {
    omp::report::warn(format_args!("{routine} has no effect; {instead}"));
}

/// Stores a C string as gfortran takes it.
///
/// # Safety
/// Both addresses are valid; `text` is null or a C string.
unsafe fn fortran_string(
    result: *mut *const core::ffi::c_char,
    length: *mut usize,
    text: *const core::ffi::c_char,
) {
    // SAFETY: as the caller says.
    unsafe {
        result.write(text);
        length.write(if text.is_null() { 0 } else { libc::strlen(text) });
    }
}

pub mod affinity;
#[cfg(feature = "offload")]
pub mod array;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(feature = "offload")]
pub mod cuda;
pub mod device;
pub mod dims;
#[cfg(feature = "cluster")]
pub mod dist;
#[cfg(feature = "offload")]
mod faults;
#[cfg(feature = "offload")]
pub mod interop;
pub mod kmp;
pub mod lock;
pub mod memory;
pub mod memspace;
#[cfg(feature = "cluster")]
pub mod object;
pub mod ompx;
pub mod parallel;
#[cfg(feature = "cluster")]
pub mod persistent;
#[cfg(feature = "offload")]
pub mod placing;
#[cfg(feature = "cluster")]
pub mod remote;
pub mod resources;
pub mod taskgraph;
mod tasking;
pub mod teams;
pub mod timing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_arguments_are_cut_to_the_nearest_int() {
        assert_eq!(narrow(1 << 40).cast_as::<i32>(), i32::MAX);
        assert_eq!(narrow(-7).cast_as::<i32>(), -7);
        assert_eq!(narrow(0x8000_0002).cast_as::<u32>(), 0x8000_0002);
    }
}
