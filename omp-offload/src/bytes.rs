//! Bytes that are passed on by copy: arguments, values, the data of events.

use core::ptr;

/// A copy of bytes that a caller or a message has passed, aligned to 16. Where there are none the
/// address is null.
///
/// Invariant **ours**: `at` is null, or from the C library's allocator with at least `length`
/// initialised bytes, and this value alone owns the memory.
#[derive(Debug)]
pub struct Bytes {
    at: *mut u8,
    length: usize,
}

// SAFETY: "ours"; what is shared is only read.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Bytes {
    /// None.
    pub const EMPTY: Self = Self { at: ptr::null_mut(), length: 0 };

    /// So many, zero for now; `None` when there is no memory for them.
    pub fn zeroed(length: usize) -> Option<Self> {
        if length == 0 {
            return Some(Self::EMPTY);
        }
        // SAFETY: no preconditions. The C library aligns to 16.
        let at: *mut u8 = unsafe { libc::calloc(length, 1) }.cast();
        (!at.is_null()).then_some(Self { at, length })
    }

    /// A copy of `length` bytes; `None` when there is no memory for it.
    ///
    /// # Safety
    /// `from` is readable that far; with a length of 0 it may be anything.
    pub unsafe fn copy(from: *const u8, length: usize) -> Option<Self> {
        if length == 0 {
            return Some(Self::EMPTY);
        }
        // SAFETY: no preconditions.
        let at: *mut u8 = unsafe { libc::malloc(length) }.cast();
        if at.is_null() {
            return None;
        }
        // SAFETY: the caller's bytes, and fresh memory of that size.
        unsafe { ptr::copy_nonoverlapping(from, at, length) };
        Some(Self { at, length })
    }

    /// A copy of a slice; `None` when there is no memory for it.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        // SAFETY: a slice.
        unsafe { Self::copy(bytes.as_ptr(), bytes.len()) }
    }

    /// Takes over `length` bytes of the C library's allocator, which is freed with them.
    ///
    /// # Safety
    /// `at` is null or such memory, of at least that size, initialised, and without another owner.
    pub unsafe fn adopt(at: *mut u8, length: usize) -> Self {
        Self { at, length }
    }

    /// All of them.
    pub fn as_slice(&self) -> &[u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: "ours".
        unsafe { core::slice::from_raw_parts(self.at, self.length) }
    }

    /// Where they are.
    pub fn address(&self) -> *mut u8 {
        self.at
    }

    /// How many.
    pub fn size(&self) -> usize {
        self.length
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: "ours"; null is allowed.
        unsafe { libc::free(self.at.cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_aligned_and_has_the_same_bytes() {
        let text = b"seventeen letters";
        let copy = Bytes::of(text).expect("memory");
        assert!(copy.size() == text.len() && copy.address().addr().is_multiple_of(16));
        // SAFETY: as many as the copy has.
        assert_eq!(unsafe { core::slice::from_raw_parts(copy.address(), copy.size()) }, text);
        let zeros = Bytes::zeroed(3).expect("memory");
        // SAFETY: as above.
        assert_eq!(unsafe { core::slice::from_raw_parts(zeros.address(), 3) }, [0; 3]);
    }

    #[test]
    fn nothing_is_null_and_too_much_is_none() {
        assert!(Bytes::zeroed(0).is_some_and(|b| b.address().is_null() && b.size() == 0));
        // Compilers leave out allocations that no code looks at.
        assert!(core::hint::black_box(Bytes::zeroed(usize::MAX / 2)).is_none());
        // SAFETY: nothing is read: there is no memory for that much.
        assert!(core::hint::black_box(unsafe { Bytes::copy(ptr::dangling(), usize::MAX / 2) }).is_none());
    }
}
