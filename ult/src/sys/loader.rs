//! Questions to the dynamic loader, about one address or about all loaded objects.
//!
//! What may not live here: tables inside of objects ([`super::objects`]), names that only an object's
//! file knows (`omp_tools::object_file`), objects that a program loads.
//!
//! The C library's `dl_iterate_phdr` holds a lock of the loader, and a child of `fork` inherits the
//! lock as it is (glibc 2.36). If another thread held it, the child waited for ever. Therefore each
//! walk here takes a lock shared, and a fork takes that lock exclusively. Walks by the program
//! itself are not covered.
//!
//! Tried and rejected: not asking the loader in a child (it would miss the copies of the C++
//! runtime in what it loads itself).
use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::sync::CachePadded;

/// A lock of the standard library: a futex and nothing else, so that it means the same in a child
/// as in its parent. Each outermost region writes it, so it has cache lines of its own: polling
/// workers read what would lie beside it.
static WALKS: CachePadded<RwLock<()>> = CachePadded(RwLock::new(()));

/// The fork's hold on [`WALKS`], from before it until after it, in the parent and in the child.
struct LoaderHeld(UnsafeCell<Option<RwLockWriteGuard<'static, ()>>>);

// SAFETY: accessed only by the kernel thread that holds `WALKS` alone.
unsafe impl Sync for LoaderHeld {}

static HELD: LoaderHeld = LoaderHeld(UnsafeCell::new(None));

/// What [`walk`] calls for each object, as `dl_iterate_phdr` has it: not zero ends the walk.
pub type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// The C library's `dl_iterate_phdr`, not during a fork. Any thread, but not from within
/// `callback`.
///
/// # Safety
/// `callback` may be called with `data`, and does not unwind.
pub unsafe fn walk(callback: Callback, data: *mut c_void) {
    let _shared: RwLockReadGuard<'_, ()> = WALKS.read().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as the caller says.
    unsafe { libc::dl_iterate_phdr(Some(callback), data) };
}

/// A loaded object, during [`find_object`].
#[non_exhaustive]
pub struct ObjectRecord<'a> {
    /// What is added to the addresses in its file.
    pub base: usize,
    /// The path of its file; empty for the program.
    pub path: &'a CStr,
    /// Its segments.
    pub headers: &'a [libc::Elf64_Phdr],
}

impl ObjectRecord<'_> {
    /// Does a segment that is loaded contain `address`?
    pub fn contains(&self, address: usize) -> bool {
        self.headers.iter().any(|header| {
            let start = self.base.wrapping_add(header.p_vaddr as usize);
            header.p_type == libc::PT_LOAD && address.wrapping_sub(start) < header.p_memsz as usize
        })
    }
}

/// The first answer of `visit` to a loaded object, if there is one. Objects stay while it is called.
/// Any thread, but not from within `visit`.
pub fn find_object<R>(mut visit: impl FnMut(&ObjectRecord<'_>) -> Option<R>) -> Option<R> {
    let mut found = None;
    let mut look_at = |object: &ObjectRecord<'_>| {
        found = visit(object);
        found.is_some()
    };
    let mut look_at: Visit<'_> = &mut look_at;
    // SAFETY: the callback gets `look_at` back, which outlives the call.
    unsafe { walk(on_object, (&raw mut look_at).cast()) };
    found
}

/// Answers true for the last object.
type Visit<'a> = &'a mut dyn FnMut(&ObjectRecord<'_>) -> bool;

/// # Safety
/// `info` is the loader's, `visit` a [`Visit`].
unsafe extern "C" fn on_object(info: *mut libc::dl_phdr_info, _: usize, visit: *mut c_void) -> c_int {
    // SAFETY: see above.
    let (info, visit) = unsafe { (&*info, &mut *visit.cast::<Visit<'_>>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader's array, as long as the object stays.
    let headers = unsafe { core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    // SAFETY: the loader's string.
    let path = unsafe { text(info.dlpi_name) }.unwrap_or_default();
    c_int::from(visit(&ObjectRecord { base: info.dlpi_addr as usize, path, headers }))
}

/// What the loader says of an address in a loaded object (`dladdr`). Its texts are the loader's: no
/// more to be used when the object may have been unloaded.
#[derive(Clone, Copy)]
pub struct LoadedAddress(libc::Dl_info);

/// A name that the loader knows.
#[derive(Clone, Copy)]
pub struct LoadedSymbol<'a> {
    /// The name.
    pub name: &'a CStr,
    /// Where that begins.
    pub address: usize,
}

impl LoadedAddress {
    /// `None` if no loaded object contains `address`.
    #[must_use]
    pub fn of(address: usize) -> Option<Self> {
        // SAFETY: all bits zero are a valid `Dl_info`, which is plain data.
        let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
        // SAFETY: room for the answer; the address is only looked up.
        let found = unsafe { libc::dladdr(address as *const c_void, &raw mut info) } != 0;
        found.then_some(Self(info))
    }

    /// The path of the object's file. The program has the word by which it was started.
    #[must_use]
    pub fn path(&self) -> &CStr {
        // SAFETY: the loader's string.
        unsafe { text(self.0.dli_fname) }.unwrap_or_default()
    }

    /// The last part of that path.
    #[must_use]
    pub fn file_name(&self) -> &[u8] {
        self.path().to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default()
    }

    /// Where the object begins in memory.
    #[must_use]
    pub fn base(&self) -> usize {
        self.0.dli_fbase.addr()
    }

    /// The nearest name before the address that the object exports.
    #[must_use]
    pub fn nearest(&self) -> Option<LoadedSymbol<'_>> {
        // SAFETY: the loader's string.
        let name = unsafe { text(self.0.dli_sname) }?;
        Some(LoadedSymbol { name, address: self.0.dli_saddr.addr() })
    }

    /// Is the object the program itself?
    #[must_use]
    pub fn is_program(&self) -> bool {
        // SAFETY: no more than a question.
        let headers = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
        Self::of(headers).is_some_and(|program| program.base() == self.base())
    }
}

/// The loader's text; `None` for null.
///
/// # Safety
/// Null, or a C string that stays while the result is used.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: as the caller says.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

/// Before a fork: waits for the walks under way, and lets no other begin.
pub(crate) fn before_fork() {
    let alone = WALKS.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: we hold the lock alone.
    unsafe { *HELD.0.get() = Some(alone) };
}

/// After a fork, in the parent and in the child.
pub(crate) fn after_fork() {
    // SAFETY: the calling thread went through `before_fork` and still holds the lock alone.
    drop(unsafe { (*HELD.0.get()).take() });
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_an_object_and_the_nearest_name() {
        let getpid = libc::getpid as *const () as usize;
        let inside = LoadedAddress::of(getpid + 1).expect("loaded");
        assert!(inside.file_name().starts_with(b"libc.so") && !inside.is_program());
        let symbol = inside.nearest().expect("exported");
        assert!(symbol.name.to_bytes().ends_with(b"getpid") && symbol.address == getpid);
        let own = LoadedAddress::of(before_fork as *const () as usize);
        assert!(own.is_some_and(|own| own.is_program()));
        assert!(LoadedAddress::of(8).is_none());
    }

    #[test]
    fn the_object_around_an_address_is_found_among_all() {
        let base_around = |address| find_object(|object| object.contains(address).then_some(object.base));
        let getpid = libc::getpid as *const () as usize;
        assert_eq!(base_around(getpid), LoadedAddress::of(getpid).map(|object| object.base()));
        assert_eq!(base_around(8), None);
    }
}
