//! Memory management routines (OpenMP 5.2 §18.13), and the predefined handles as data, which is how
//! LLVM exports them.

use core::ffi::{c_int, c_void};

use super::parallel::{change_icv, icv};
use omp::alloc::{self, Alloctrait, DEFAULT_MEM_ALLOC, NULL_ALLOCATOR};
use omp::extension::memory as devices;

/// The allocator that a null handle stands for in the running task.
pub(crate) fn resolve(allocator: usize) -> usize {
    if allocator == NULL_ALLOCATOR { icv().def_allocator } else { allocator }
}

/// Memory of the default device if the allocator stands for it (LLVM's
/// `llvm_omp_target_*_mem_alloc`), else that of the `host`'s allocators, which also say no to a
/// size that is `None`: more than there can be.
fn memory(
    allocator: usize,
    alignment: usize,
    size: Option<usize>,
    zeroed: bool,
    host: impl FnOnce(usize) -> *mut c_void,
) -> *mut c_void {
    let allocator = resolve(allocator);
    match size.and_then(|size| devices::serve(allocator, alignment, size, zeroed)) {
        None => host(allocator),
        Some(block) => block as *mut c_void,
    }
}

const _: () = assert!(size_of::<Alloctrait>() == 16 && align_of::<Alloctrait>() == 8);

/// `omp_init_allocator` (18.13.2): a new allocator, or the null one for traits that make no sense.
///
/// # Safety
/// `traits` has `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_allocator(
    memspace: usize,
    count: c_int,
    traits: *const Alloctrait,
) -> usize {
    let traits = match usize::try_from(count) {
        // SAFETY: as the caller says.
        Ok(count) if count > 0 && !traits.is_null() => unsafe { core::slice::from_raw_parts(traits, count) },
        _ => &[],
    };
    alloc::init_allocator(memspace, traits)
}

/// The Fortran name of [`omp_init_allocator`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_allocator_(
    memspace: *const usize,
    count: *const c_int,
    traits: *const Alloctrait,
) -> usize {
    // SAFETY: the same promise.
    unsafe { omp_init_allocator(*memspace, *count, traits) }
}

/// [`omp_init_allocator_`] with a 64-bit count.
///
/// # Safety
/// As [`omp_init_allocator`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_allocator_8_(
    memspace: *const usize,
    count: *const i64,
    traits: *const Alloctrait,
) -> usize {
    // SAFETY: the same promise.
    unsafe { omp_init_allocator(*memspace, super::narrow(*count).cast_as(), traits) }
}

routines! {
    /// `omp_destroy_allocator` (18.13.3). Predefined handles are ignored.
    fn omp_destroy_allocator(allocator: usize) {
        // SAFETY: by its contract the routine gets an allocator that no thread uses any more.
        unsafe { alloc::destroy_allocator(allocator) };
    }

    /// `omp_set_default_allocator` (18.13.4): what a null handle stands for in the running task and
    /// its children.
    fn omp_set_default_allocator(allocator: usize) {
        let allocator = if allocator == NULL_ALLOCATOR { DEFAULT_MEM_ALLOC } else { allocator };
        change_icv(|icv| icv.def_allocator = allocator);
    }

    /// `omp_get_default_allocator` (18.13.5).
    fn omp_get_default_allocator() -> usize {
        icv().def_allocator
    }
}

/// `omp_alloc` (18.13.6).
///
/// # Safety
/// `allocator` is a handle that is alive, as in all routines of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_alloc(size: usize, allocator: usize) -> *mut c_void {
    // SAFETY: the same promise.
    memory(allocator, 1, Some(size), false, |allocator| unsafe { alloc::alloc(size, allocator) })
}

/// `omp_aligned_alloc` (18.13.6).
///
/// # Safety
/// As [`omp_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_aligned_alloc(
    alignment: usize,
    size: usize,
    allocator: usize,
) -> *mut c_void {
    // SAFETY: the same promise.
    memory(allocator, alignment, Some(size), false, |allocator| unsafe {
        alloc::aligned_alloc(alignment, size, allocator)
    })
}

/// `omp_calloc` (18.13.8): zeroed.
///
/// # Safety
/// As [`omp_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_calloc(count: usize, size: usize, allocator: usize) -> *mut c_void {
    // SAFETY: the same promise.
    memory(allocator, 1, count.checked_mul(size), true, |allocator| unsafe {
        alloc::calloc(count, size, allocator)
    })
}

/// `omp_aligned_calloc` (18.13.8): zeroed.
///
/// # Safety
/// As [`omp_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_aligned_calloc(
    alignment: usize,
    count: usize,
    size: usize,
    allocator: usize,
) -> *mut c_void {
    // SAFETY: the same promise.
    memory(allocator, alignment, count.checked_mul(size), true, |allocator| unsafe {
        alloc::aligned_calloc(alignment, count, size, allocator)
    })
}

/// `omp_realloc` (18.13.9). A null `allocator` stands for the block's own; which allocator frees is
/// known from the block, too. A block does not move between the memory of the host and that of a
/// device: null, and it stays.
///
/// # Safety
/// As [`omp_alloc`]; `block` is null or came from one of these routines.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_realloc(
    block: *mut c_void,
    size: usize,
    allocator: usize,
    _free_allocator: usize,
) -> *mut c_void {
    if block.is_null() {
        // SAFETY: the same promise.
        return unsafe { omp_alloc(size, allocator) };
    }
    let (own, there) = (devices::allocator_of(block.addr()), devices::serves(allocator));
    // SAFETY: the same promise, throughout.
    unsafe {
        match own {
            None if there => core::ptr::null_mut(),
            None => alloc::realloc(block, size, allocator),
            Some(_) if size == 0 => {
                devices::free(block.addr());
                core::ptr::null_mut()
            }
            Some(own) if [NULL_ALLOCATOR, own].contains(&allocator) => {
                devices::resize(block.addr(), size) as *mut c_void
            }
            Some(_) => core::ptr::null_mut(),
        }
    }
}

/// `omp_free` (18.13.7).
///
/// # Safety
/// As [`omp_realloc`]; the block is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_free(block: *mut c_void, allocator: usize) {
    // A rank's block may have the address of one of ours: only without an allocator is it looked
    // for by its address alone.
    let may_be_elsewhere = allocator == NULL_ALLOCATOR || devices::HANDLES.contains(&allocator);
    // SAFETY: the same promise.
    unsafe {
        if !(may_be_elsewhere && devices::free(block.addr())) {
            alloc::free(block);
        }
    }
}

/// Exports handles as data symbols of the same name and value.
macro_rules! handles {
    ($($name:ident = $value:expr;)*) => {$(
        #[doc = concat!("The value of `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals, reason = "the name is the standard's")]
        pub static $name: usize = $value;
    )*};
}

handles! {
    omp_null_allocator = 0;
    omp_default_mem_alloc = alloc::PREDEFINED[0].1;
    omp_large_cap_mem_alloc = alloc::PREDEFINED[1].1;
    omp_const_mem_alloc = alloc::PREDEFINED[2].1;
    omp_high_bw_mem_alloc = alloc::PREDEFINED[3].1;
    omp_low_lat_mem_alloc = alloc::PREDEFINED[4].1;
    omp_cgroup_mem_alloc = alloc::PREDEFINED[5].1;
    omp_pteam_mem_alloc = alloc::PREDEFINED[6].1;
    omp_thread_mem_alloc = alloc::PREDEFINED[7].1;
    omp_default_mem_space = alloc::MEMSPACES[0].1;
    omp_large_cap_mem_space = alloc::MEMSPACES[1].1;
    omp_const_mem_space = alloc::MEMSPACES[2].1;
    omp_high_bw_mem_space = alloc::MEMSPACES[3].1;
    omp_low_lat_mem_space = alloc::MEMSPACES[4].1;
    omp_null_mem_space = 0;
    omp_target_host_mem_space = 100;
    omp_target_shared_mem_space = 101;
    omp_target_device_mem_space = 102;
    omp_target_host_mem_alloc = 100;
    omp_target_shared_mem_alloc = 101;
    omp_target_device_mem_alloc = 102;
}
