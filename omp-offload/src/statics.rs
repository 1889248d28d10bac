//! Which host addresses are static storage of the program: in a writable segment of the executable
//! or of a shared object.

use core::ops::Range;

use ult::sys::loader;

/// Does the range lie in static storage?
pub fn contains(range: &Range<usize>) -> bool {
    let is_around = |base: usize, header: &libc::Elf64_Phdr| {
        let start = base + header.p_vaddr as usize;
        let segment = start..start + header.p_memsz as usize;
        let is_writable = header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W != 0;
        is_writable && segment.contains(&range.start) && range.end <= segment.end
    };
    loader::find_object(|object| {
        object.headers.iter().any(|header| is_around(object.base, header)).then_some(())
    })
    .is_some()
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
