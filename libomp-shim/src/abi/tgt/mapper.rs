//! User-defined mappers: functions of the compiler's that take an entry apart into components.

use core::ffi::c_void;

use super::lists::TgtMapEntry;

/// A mapper: `(handle, base, begin, size, type, name)`; it calls [`__tgt_push_mapper_component`]
/// for each component.
pub type Mapper = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, *mut c_void, i64, i64, *mut c_void);

/// The components of an entry.
///
/// # Safety
/// The compiler's mapper for that entry.
pub unsafe fn components(mapper: Mapper, entry: &TgtMapEntry) -> Vec<TgtMapEntry> {
    let mut components: Vec<TgtMapEntry> = Vec::new();
    let handle = (&raw mut components).cast();
    // SAFETY: as the caller says; the handle is valid for the call.
    unsafe {
        let (base, begin) = (entry.base as *mut c_void, entry.begin as *mut c_void);
        mapper(handle, base, begin, entry.size, entry.kind as i64, core::ptr::null_mut());
    }
    components
}

/// Adds a component.
///
/// # Safety
/// Called by a mapper, with its handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tgt_push_mapper_component(
    handle: *mut c_void,
    base: *mut c_void,
    begin: *mut c_void,
    size: i64,
    kind: i64,
    _name: *mut c_void,
) {
    let entry = TgtMapEntry { base: base.addr(), begin: begin.addr(), size, kind: kind as u64 };
    // SAFETY: the handle is the vector of `components`.
    unsafe { (*handle.cast::<Vec<TgtMapEntry>>()).push(entry) };
}

/// How many components there are so far: members say by number what they are a part of.
///
/// # Safety
/// Called by a mapper, with its handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __tgt_mapper_num_components(handle: *mut c_void) -> i64 {
    // SAFETY: as above.
    unsafe { (*handle.cast::<Vec<TgtMapEntry>>()).len() as i64 }
}
