//! The sanitizers' functions, looked for in the loaded objects.
//!
//! What may not live here: when they are called ([`super`]). A program that is linked with a
//! sanitizer has it among its first objects; none can be loaded later.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys::objects::SymbolName;
use crate::watch::{ADDRESSES, LEAKS, OTHER, RACES};

/// A function that a sanitizer may define.
pub(super) struct SanitizerFunction {
    name: SymbolName,
    address: AtomicUsize,
}

impl SanitizerFunction {
    const fn new(name: &'static CStr) -> Self {
        Self { name: SymbolName::new(name), address: AtomicUsize::new(0) }
    }

    /// Its address as a `F`, which is a pointer to a function of the type that the name stands for;
    /// `None` if no object defines it.
    pub(super) fn get<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        // ORDERING: Acquire, pairs with the Release in `look_up`.
        let address = self.address.load(Ordering::Acquire);
        // SAFETY: callers name the function's type, which is that of a pointer.
        (address != 0).then(|| unsafe { core::mem::transmute_copy::<usize, F>(&address) })
    }
}

pub(super) static ACQUIRE: SanitizerFunction = SanitizerFunction::new(c"__tsan_acquire");
pub(super) static RELEASE: SanitizerFunction = SanitizerFunction::new(c"__tsan_release");
pub(super) static CREATE_FIBER: SanitizerFunction = SanitizerFunction::new(c"__tsan_create_fiber");
pub(super) static DESTROY_FIBER: SanitizerFunction = SanitizerFunction::new(c"__tsan_destroy_fiber");
pub(super) static CURRENT_FIBER: SanitizerFunction = SanitizerFunction::new(c"__tsan_get_current_fiber");
pub(super) static SWITCH_FIBER: SanitizerFunction = SanitizerFunction::new(c"__tsan_switch_to_fiber");
pub(super) static IGNORE_READS: SanitizerFunction = SanitizerFunction::new(c"AnnotateIgnoreReadsBegin");
pub(super) static IGNORE_WRITES: SanitizerFunction = SanitizerFunction::new(c"AnnotateIgnoreWritesBegin");
pub(super) static NOTICE_READS: SanitizerFunction = SanitizerFunction::new(c"AnnotateIgnoreReadsEnd");
pub(super) static NOTICE_WRITES: SanitizerFunction = SanitizerFunction::new(c"AnnotateIgnoreWritesEnd");
pub(super) static LEAVE_STACK: SanitizerFunction = SanitizerFunction::new(c"__sanitizer_start_switch_fiber");
pub(super) static ENTER_STACK: SanitizerFunction = SanitizerFunction::new(c"__sanitizer_finish_switch_fiber");
pub(super) static ADD_ROOT: SanitizerFunction = SanitizerFunction::new(c"__lsan_register_root_region");
pub(super) static REMOVE_ROOT: SanitizerFunction = SanitizerFunction::new(c"__lsan_unregister_root_region");

static ALL: [&SanitizerFunction; 14] = [
    &ACQUIRE,
    &RELEASE,
    &CREATE_FIBER,
    &DESTROY_FIBER,
    &CURRENT_FIBER,
    &SWITCH_FIBER,
    &IGNORE_READS,
    &IGNORE_WRITES,
    &NOTICE_READS,
    &NOTICE_WRITES,
    &LEAVE_STACK,
    &ENTER_STACK,
    &ADD_ROOT,
    &REMOVE_ROOT,
];

/// A function by which each sanitizer is known, and what it means to find it. Nothing is reported
/// to MemorySanitizer; it is in the list because storage cannot be borrowed under it.
const KNOWN_BY: [(SymbolName, u32); 4] = [
    (SymbolName::new(c"__tsan_init"), RACES),
    (SymbolName::new(c"__asan_init"), ADDRESSES),
    (SymbolName::new(c"__msan_init"), OTHER),
    (SymbolName::new(c"__lsan_register_root_region"), LEAKS),
];

/// Looks for all of them; what was found, as bits.
pub(super) fn look_up() -> u32 {
    let mut mode = 0;
    crate::sys::objects::for_each_since(u64::MAX, |object| {
        for (name, bit) in KNOWN_BY {
            if object.function(name).is_some() {
                mode |= bit;
            }
        }
        for function in ALL {
            // ORDERING: Relaxed; another thread that looks at the same time writes the same value.
            if function.address.load(Ordering::Relaxed) == 0
                && let Some(address) = object.function(function.name)
            {
                // ORDERING: Release, pairs with the Acquire in `get`.
                function.address.store(address, Ordering::Release);
            }
        }
    });
    mode
}
