//! Which host addresses are static storage of the program: in a writable segment of the executable
//! or of a shared object.

use core::ffi::{c_int, c_void};
use core::ops::Range;

struct Question {
    range: Range<usize>,
    found: bool,
}

/// Does the range lie in static storage?
pub fn contains(range: &Range<usize>) -> bool {
    let mut question = Question { range: range.clone(), found: false };
    // SAFETY: the callback gets the question, which outlives the call.
    unsafe { ult::sys::loader::walk(look, (&raw mut question).cast()) };
    question.found
}

unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, question: *mut c_void) -> c_int {
    // SAFETY: the loader's record, and the question that `contains` passed.
    let (info, question) = unsafe { (&*info, &mut *question.cast::<Question>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader's array.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    question.found = headers.iter().any(|h| {
        let start = (info.dlpi_addr + h.p_vaddr) as usize;
        let segment = start..start + h.p_memsz as usize;
        let writable = h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0;
        writable && segment.contains(&question.range.start) && question.range.end <= segment.end
    });
    c_int::from(question.found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU64, Ordering};

    static VARIABLE: AtomicU64 = AtomicU64::new(1);

    #[test]
    fn statics_are_distinguished_from_the_rest() {
        // ORDERING: Relaxed; keeps the variable in writable memory.
        VARIABLE.fetch_add(1, Ordering::Relaxed);
        let range = |address: usize| address..address + 8;
        assert!(contains(&range(core::ptr::from_ref(&VARIABLE).addr())));
        let (local, heap) = (5u64, Box::new(5u64));
        assert!(!contains(&range(core::ptr::from_ref(&local).addr())));
        assert!(!contains(&range(core::ptr::from_ref(&*heap).addr())));
    }
}
