//! `kmp_set_defaults`: environment variables from inside the program, `NAME=value|NAME=value`.
//!
//! Before the library has read its environment they are taken as if they had been there, over what
//! is there. Afterwards only what can still change is changed; for each other variable a line says
//! that it came too late.

use core::ffi::{CStr, c_char};

use crate::abi::api::no_effect;
use omp::env;
use omp::target;

fn set_default(name: &str, value: &str) {
    if env::set_default(name, value) {
        return;
    }
    match name {
        "OMP_TARGET_OFFLOAD" => target::set_offload(env::target_offload(value)),
        _ => no_effect(
            &format!("kmp_set_defaults of {name}"),
            "call it before any other OpenMP routine, or set the variable before the program starts",
        ),
    }
}

address_routines! {
    /// `kmp_set_defaults`: see the module.
    fn kmp_set_defaults(text: *const c_char) {
        if text.is_null() {
            return;
        }
        // SAFETY: a C string, as the caller promises.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
        for (name, value) in text.split('|').filter_map(|item| item.split_once('=')) {
            set_default(name.trim(), value.trim());
        }
    }
}

c_aliases! {
    unsafe fn kmpc_set_defaults(text: *const c_char) => kmp_set_defaults;
}

/// What libraries for devices ask the host's runtime: `target-offload-var`, 0 disabled, 1 default,
/// 2 mandatory.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_get_target_offload() -> core::ffi::c_int {
    target::offload() as core::ffi::c_int
}
