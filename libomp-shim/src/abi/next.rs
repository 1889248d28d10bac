//! The C library's functions behind those that are taken over.
//!
//! The constructor looks all of them up. A call from another object's constructor may come before
//! it; that call looks up its own function. A later look-up takes the loader's lock, which a
//! thread may hold for as long as a constructor of an object that it loads runs. The constructor may
//! wait for the region in which the function is called (`conformance/life/plugin_inside.c`).
use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use ult::sys::objects::{SymbolName, look_up_behind};

/// Stored in place of an address if the C library has no such function.
const NONE: usize = 1;

/// The C library's function behind one of ours, looked up once.
pub(super) struct LibraryNext(&'static CStr, SymbolName, AtomicUsize);

impl LibraryNext {
    /// Not looked up yet. Only for [`library_next!`].
    pub(super) const fn new(name: &'static CStr) -> Self {
        Self(name, SymbolName::new(name), AtomicUsize::new(0))
    }

    /// Its address; null if there is none.
    pub(super) fn address(&self) -> *const c_void {
        // ORDERING: Relaxed, both; the address is complete in itself, and every thread finds the
        // same one.
        let mut known = self.2.load(Ordering::Relaxed);
        if known == 0 {
            known = self.look_up();
            // ORDERING: as above.
            self.2.store(known, Ordering::Relaxed);
        }
        if known == NONE { core::ptr::null() } else { known as *const c_void }
    }

    #[cold]
    fn look_up(&self) -> usize {
        // SAFETY: a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.0.as_ptr()) } as usize;
        if found == 0 { NONE } else { found }
    }
}

/// Declares statics of [`LibraryNext`], each with the name of its function. They lie in a section of
/// their own, in which the constructor finds them.
macro_rules! library_next {
    ($($static:ident = $name:expr;)+) => {$(
        #[used] // so that the optimizer does not take it apart
        #[unsafe(link_section = "gangway_next")]
        static $static: $crate::abi::next::LibraryNext = $crate::abi::next::LibraryNext::new($name);
    )+};
}
pub(super) use library_next;

ult::hidden!("__start_gangway_next");
ult::hidden!("__stop_gangway_next");

/// What the loader calls when it has loaded this library.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = look_up_all;

extern "C" fn look_up_all() {
    unsafe extern "C" {
        #[link_name = "__start_gangway_next"]
        static START: u8;
        #[link_name = "__stop_gangway_next"]
        static STOP: u8;
    }
    // SAFETY: the linker's symbols enclose the section, which holds nothing but these statics, all of
    // one size and alignment.
    let all = unsafe {
        let (start, stop) = (&raw const START, &raw const STOP);
        let count = stop.offset_from_unsigned(start) / size_of::<LibraryNext>();
        core::slice::from_raw_parts(start.cast::<LibraryNext>(), count)
    };
    look_up_behind(
        look_up_all as *const () as usize,
        all,
        |next| next.1,
        |next, function| {
            // ORDERING: Relaxed; as in `address`.
            next.2.store(function, Ordering::Relaxed);
        },
    );
    // The others: where this library was loaded by `dlopen`, the C library is in front of it.
    for next in all {
        next.address();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_functions_are_there() {
        super::look_up_all();
        library_next! { THERE = c"clock_gettime"; NOT_THERE = c"gangway_is_no_function"; }
        assert!(!THERE.address().is_null() && NOT_THERE.address().is_null());
    }
}
