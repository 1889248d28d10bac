//! Interoperability routines (OpenMP 5.2 §18.12). Without a foreign runtime behind a device there is no interop object
//! but `omp_interop_none`; whatever else is passed is taken as that.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

/// `omp_irc_no_value` … : the return codes, with what they mean.
const RETURN_CODES: [(c_int, &core::ffi::CStr); 8] = [
    (1, c"the property has no value"),
    (0, c"successful"),
    (-1, c"the interop object is omp_interop_none"),
    (-2, c"the property is out of range"),
    (-3, c"the property is an integer; use omp_get_interop_int"),
    (-4, c"the property is a pointer; use omp_get_interop_ptr"),
    (-5, c"the property is a string; use omp_get_interop_str"),
    (-6, c"another error"),
];

/// `omp_irc_empty`.
const EMPTY: c_int = -1;

/// Says "no object" to a caller that wants to know.
///
/// # Safety
/// `code` is null or valid.
unsafe fn say_empty(code: *mut c_int) {
    if !code.is_null() {
        // SAFETY: as the caller says.
        unsafe { code.write(EMPTY) };
    }
}

/// `omp_get_num_interop_properties` (18.12.1): properties of our own, none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_num_interop_properties(_object: *const c_void) -> c_int {
    0
}

/// `omp_get_interop_int` (18.12.2).
///
/// # Safety
/// `code` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_interop_int(_object: *const c_void, _property: c_int, code: *mut c_int) -> isize {
    // SAFETY: the same promise.
    unsafe { say_empty(code) };
    0
}

/// `omp_get_interop_ptr` (18.12.3).
///
/// # Safety
/// `code` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_interop_ptr(
    _object: *const c_void,
    _property: c_int,
    code: *mut c_int,
) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { say_empty(code) };
    ptr::null_mut()
}

/// `omp_get_interop_str` (18.12.4).
///
/// # Safety
/// `code` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_interop_str(
    _object: *const c_void,
    _property: c_int,
    code: *mut c_int,
) -> *const c_char {
    // SAFETY: the same promise.
    unsafe { say_empty(code) };
    ptr::null()
}

/// `omp_get_interop_name` (18.12.5): null, as for every property of `omp_interop_none`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_interop_name(_object: *const c_void, _property: c_int) -> *const c_char {
    ptr::null()
}

/// `omp_get_interop_type_desc` (18.12.6): null, as for every property of `omp_interop_none`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_interop_type_desc(_object: *const c_void, _property: c_int) -> *const c_char {
    ptr::null()
}

/// `omp_get_interop_rc_desc` (18.12.7): what a return code means, null for one that does not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_interop_rc_desc(_object: *const c_void, code: c_int) -> *const c_char {
    RETURN_CODES.iter().find(|(c, _)| *c == code).map_or(ptr::null(), |(_, text)| text.as_ptr())
}

// ---- Fortran ----------------------------------------------------------------------------------------------------------
// Arguments are by value there, too. gfortran gets a string as address and length, through two arguments in front.

/// Declares the Fortran name of a routine with the same arguments.
macro_rules! same {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty = $c:ident;)*) => {$(
        #[doc = concat!("The Fortran name of [`", stringify!($c), "`].")]
        ///
        /// # Safety
        /// As there.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            #[allow(unused_unsafe, reason = "some are safe")]
            // SAFETY: the same promise.
            unsafe { $c($($argument),*) }
        }
    )*};
}

same! {
    omp_get_num_interop_properties_(object: *const c_void) -> c_int = omp_get_num_interop_properties;
    omp_get_interop_int_(object: *const c_void, property: c_int, code: *mut c_int) -> isize = omp_get_interop_int;
    omp_get_interop_ptr_(object: *const c_void, property: c_int, code: *mut c_int) -> *mut c_void = omp_get_interop_ptr;
}

/// Stores a C string as gfortran takes it.
///
/// # Safety
/// Both addresses are valid; `text` is null or a C string.
pub(super) unsafe fn fortran_string(result: *mut *const c_char, length: *mut usize, text: *const c_char) {
    // SAFETY: as the caller says.
    unsafe {
        result.write(text);
        length.write(if text.is_null() { 0 } else { libc::strlen(text) });
    }
}

/// Declares the gfortran name of a routine that returns a string.
macro_rules! strings {
    ($($name:ident($($argument:ident: $type:ty),*) = $c:ident;)*) => {$(
        #[doc = concat!("gfortran's name of [`", stringify!($c), "`].")]
        ///
        /// # Safety
        /// As there; the first two addresses are valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(result: *mut *const c_char, length: *mut usize, $($argument: $type),*) {
            #[allow(unused_unsafe, reason = "some are safe")]
            // SAFETY: the same promise.
            unsafe { fortran_string(result, length, $c($($argument),*)) };
        }
    )*};
}

strings! {
    omp_get_interop_str_(object: *const c_void, property: c_int, code: *mut c_int) = omp_get_interop_str;
    omp_get_interop_name_(object: *const c_void, property: c_int) = omp_get_interop_name;
    omp_get_interop_type_desc_(object: *const c_void, property: c_int) = omp_get_interop_type_desc;
    omp_get_interop_rc_desc_(object: *const c_void, code: c_int) = omp_get_interop_rc_desc;
}
