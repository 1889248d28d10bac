//! Interoperability routines (OpenMP 5.2 §18.12), on objects that `interop` constructs make
//! ([`omp_offload::interop`]).
//!
//! A property that a device does not have, such as the stream of a device that is no GPU, is
//! `omp_irc_no_value` whatever type is asked for. An object that does not exist is an error of its
//! own (`omp_irc_other`), where its number shows it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use super::fortran_string;
use omp_offload::interop::{InteropObject, InteropValue, Property, find};

/// What a routine says beside the value: `omp_interop_rc_t`.
mod code {
    use core::ffi::c_int;

    pub const NO_VALUE: c_int = 1;
    pub const SUCCESS: c_int = 0;
    pub const EMPTY: c_int = -1;
    pub const OUT_OF_RANGE: c_int = -2;
    pub const TYPE_INT: c_int = -3;
    pub const TYPE_PTR: c_int = -4;
    pub const TYPE_STR: c_int = -5;
    pub const OTHER: c_int = -6;
}

/// The codes, with what they mean.
const RETURN_CODES: [(c_int, &CStr); 8] = [
    (code::NO_VALUE, c"the property has no value"),
    (code::SUCCESS, c"successful"),
    (code::EMPTY, c"the interop object is omp_interop_none"),
    (code::OUT_OF_RANGE, c"the property is out of range"),
    (code::TYPE_INT, c"the property is an integer; use omp_get_interop_int"),
    (code::TYPE_PTR, c"the property is a pointer; use omp_get_interop_ptr"),
    (code::TYPE_STR, c"the property is a string; use omp_get_interop_str"),
    (code::OTHER, c"another error: there is no such interop object"),
];

/// The value of an object's property, or why there is none.
fn value(object: *const c_void, property: c_int) -> Result<InteropValue, c_int> {
    let live = match find(object) {
        InteropObject::Live(live) => live,
        InteropObject::Empty => return Err(code::EMPTY),
        InteropObject::Unknown => return Err(code::OTHER),
    };
    match live.get(Property::of(property).ok_or(code::OUT_OF_RANGE)?) {
        InteropValue::None => Err(code::NO_VALUE),
        value => Ok(value),
    }
}

/// The code for a value of another type than was asked for.
fn mismatch(value: InteropValue) -> c_int {
    match value {
        InteropValue::Number(_) => code::TYPE_INT,
        InteropValue::Pointer(_) => code::TYPE_PTR,
        InteropValue::Text(_) => code::TYPE_STR,
        InteropValue::None => code::NO_VALUE,
    }
}

/// Stores the code of a result for a caller who wants to know, and returns its value or
/// `otherwise`.
///
/// # Safety
/// `said` is null or valid.
unsafe fn notify<T>(said: *mut c_int, result: Result<T, c_int>, otherwise: T) -> T {
    let (value, code) = match result {
        Ok(value) => (value, code::SUCCESS),
        Err(code) => (otherwise, code),
    };
    if !said.is_null() {
        // SAFETY: as the caller says.
        unsafe { said.write(code) };
    }
    value
}

/// `omp_get_num_interop_properties` (18.12.1): how many properties of our own there are, none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_num_interop_properties(_object: *const c_void) -> c_int {
    0
}

/// `omp_get_interop_int` (18.12.2).
///
/// # Safety
/// `said` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_interop_int(
    object: *const c_void,
    property: c_int,
    said: *mut c_int,
) -> isize {
    let result = value(object, property).and_then(|value| {
        if let InteropValue::Number(number) = value { Ok(number) } else { Err(mismatch(value)) }
    });
    // SAFETY: the same promise.
    unsafe { notify(said, result, 0) }
}

/// `omp_get_interop_ptr` (18.12.3).
///
/// # Safety
/// `said` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_interop_ptr(
    object: *const c_void,
    property: c_int,
    said: *mut c_int,
) -> *mut c_void {
    let result = value(object, property).and_then(|value| {
        if let InteropValue::Pointer(pointer) = value { Ok(pointer) } else { Err(mismatch(value)) }
    });
    // SAFETY: the same promise.
    unsafe { notify(said, result, ptr::null_mut()) }
}

/// `omp_get_interop_str` (18.12.4).
///
/// # Safety
/// `said` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_interop_str(
    object: *const c_void,
    property: c_int,
    said: *mut c_int,
) -> *const c_char {
    let result = value(object, property).and_then(|value| {
        if let InteropValue::Text(text) = value { Ok(text.as_ptr()) } else { Err(mismatch(value)) }
    });
    // SAFETY: the same promise.
    unsafe { notify(said, result, ptr::null()) }
}

/// A property of an object that exists.
fn property_of(object: *const c_void, property: c_int) -> Option<Property> {
    matches!(find(object), InteropObject::Live(_)).then(|| Property::of(property))?
}

/// `omp_get_interop_name` (18.12.5): null where there is no such property, or no object.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_interop_name(object: *const c_void, property: c_int) -> *const c_char {
    property_of(object, property).map_or(ptr::null(), |property| property.name().as_ptr())
}

/// `omp_get_interop_type_desc` (18.12.6): null where there is no such property, or no object.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_interop_type_desc(object: *const c_void, property: c_int) -> *const c_char {
    property_of(object, property).map_or(ptr::null(), |property| property.kind().as_ptr())
}

/// `omp_get_interop_rc_desc` (18.12.7): what a return code means, null for one that does not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_interop_rc_desc(_object: *const c_void, code: c_int) -> *const c_char {
    RETURN_CODES.iter().find(|(c, _)| *c == code).map_or(ptr::null(), |(_, text)| text.as_ptr())
}

// ---- Fortran ----------------------------------------------------------------
// Arguments are by value there, too. gfortran gets a string as address and length, through two
// arguments in front.

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
