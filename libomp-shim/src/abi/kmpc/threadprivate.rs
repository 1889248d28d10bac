//! `threadprivate` without thread-local storage (`clang -fnoopenmp-use-tls`): the program asks for
//! the calling thread's copy of a variable at each access.
//!
//! Copies belong to kernel threads, through `pthread_setspecific`: a thread of a team keeps its
//! kernel thread between regions, so what is written in one region is there in the next (5.2 §5.2).
//! The main thread of the process uses the original. A copy is made at the first access, by the
//! constructor that was registered. Without one it gets the value that the original held when any
//! thread first asked for the variable. It is destroyed when its kernel thread ends.
//!
//! Tried and rejected: an array per variable, indexed by a small thread number, behind the `cache`
//! argument. Numbers are used again by other threads, and the array must grow under readers;
//! programs compiled this way are rare enough to pay for a search in a short table.

use core::alloc::Layout;
use core::ffi::{c_int, c_void};
use core::ptr;
use std::alloc;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use omp::report;

/// What is called to make and unmake copies.
#[derive(Clone, Copy, Default)]
struct Special {
    constructor: Option<Construct>,
    copy_constructor: Option<Copy>,
    destructor: Option<Destroy>,
    /// Number of elements, for arrays; then the three take it as one more argument.
    elements: Option<usize>,
}

// Each of the three has a form with one more argument, which other functions may ignore: it goes in
// a register that the shorter form does not read.
type Construct = unsafe extern "C-unwind" fn(*mut c_void, usize) -> *mut c_void;
type Copy = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
type Destroy = unsafe extern "C-unwind" fn(*mut c_void, usize);

/// A variable: how its copies are made, and the bytes the original had when the first thread asked.
#[derive(Clone, Default)]
struct ThreadprivateVariable {
    special: Special,
    initial: Option<Box<[u8]>>,
}

/// All variables, by the address of the original.
static VARIABLES: Mutex<Option<HashMap<usize, ThreadprivateVariable>>> = Mutex::new(None);

/// One kernel thread's copies, by the address of the original.
struct ThreadprivateCopies {
    /// The process's main thread, which uses the originals.
    main: bool,
    of: HashMap<usize, Block>,
}

/// A copy.
struct Block {
    at: *mut u8,
    layout: Layout,
    special: Special,
}

fn variables() -> MutexGuard<'static, Option<HashMap<usize, ThreadprivateVariable>>> {
    VARIABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn register(data: *mut c_void, special: Special) {
    variables().get_or_insert_default().entry(data as usize).or_default().special = special;
}

/// Registers how copies of `data` are made: at program start, before any is.
///
/// # Safety
/// The functions fit the variable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_threadprivate_register(
    _: *const c_void,
    data: *mut c_void,
    constructor: Option<Construct>,
    copy_constructor: Option<Copy>,
    destructor: Option<Destroy>,
) {
    register(data, Special { constructor, copy_constructor, destructor, elements: None });
}

/// [`__kmpc_threadprivate_register`] for an array of `elements`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_threadprivate_register_vec(
    _: *const c_void,
    data: *mut c_void,
    constructor: Option<Construct>,
    copy_constructor: Option<Copy>,
    destructor: Option<Destroy>,
    elements: usize,
) {
    register(data, Special { constructor, copy_constructor, destructor, elements: Some(elements) });
}

/// The calling thread's copy of the `size` bytes at `data`.
///
/// # Safety
/// `data` is a threadprivate variable of that size.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_threadprivate(
    _: *const c_void,
    _: c_int,
    data: *mut c_void,
    size: usize,
) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { copy_of(data, size) }
}

/// [`__kmpc_threadprivate`] with a place for a cache, which is left alone.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_threadprivate_cached(
    _: *const c_void,
    _: c_int,
    data: *mut c_void,
    size: usize,
    _: *mut c_void,
) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { copy_of(data, size) }
}

/// Says what copies of the `size` bytes at `data` start with: what stands at `initial` now.
///
/// # Safety
/// Both have `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn kmp_threadprivate_insert_private_data(
    _: c_int,
    data: *mut c_void,
    initial: *const c_void,
    size: usize,
) {
    // SAFETY: as the caller says.
    let bytes = unsafe { core::slice::from_raw_parts(initial.cast::<u8>(), size) };
    variables().get_or_insert_default().entry(data as usize).or_default().initial = Some(bytes.into());
}

/// `struct private_common`: what LLVM's runtime knows of a copy.
#[repr(C)]
pub struct PrivateCommon {
    next: *mut PrivateCommon,
    link: *mut PrivateCommon,
    /// The original.
    data: *mut c_void,
    /// The calling thread's copy.
    copy: *mut c_void,
    size: usize,
}

/// Makes the calling thread's copy of the `size` bytes at `data`, which is at `initial` in the main
/// thread. The description of it is the caller's, for good.
///
/// # Safety
/// As [`__kmpc_threadprivate`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn kmp_threadprivate_insert(
    _: c_int,
    data: *mut c_void,
    _initial: *mut c_void,
    size: usize,
) -> *mut PrivateCommon {
    // SAFETY: the same promise.
    let copy = unsafe { copy_of(data, size) };
    Box::into_raw(Box::new(PrivateCommon { next: ptr::null_mut(), link: ptr::null_mut(), data, copy, size }))
}

/// # Safety
/// `data` is a threadprivate variable of `size` bytes.
unsafe fn copy_of(data: *mut c_void, size: usize) -> *mut c_void {
    let copies = calling_thread();
    // SAFETY: only this kernel thread uses its copies; the reference ends before any constructor
    // runs.
    if let Some(block) = unsafe { &*copies }.of.get(&(data as usize)) {
        return block.at.cast();
    }
    // SAFETY: as the caller says.
    let variable = unsafe { variable_of(data, size) };
    // SAFETY: as above.
    let block = if unsafe { (*copies).main } {
        // The destructor of the original is the program's own affair.
        Block { at: data.cast(), layout: Layout::new::<()>(), special: Special::default() }
    } else {
        // SAFETY: as the caller says.
        unsafe { make(data, size, &variable) }
    };
    let at = block.at;
    // SAFETY: as above; the constructor has returned.
    unsafe { &mut *copies }.of.insert(data as usize, block);
    at.cast()
}

/// The variable at `data`, with its first value remembered.
///
/// # Safety
/// `data` has `size` bytes.
unsafe fn variable_of(data: *mut c_void, size: usize) -> ThreadprivateVariable {
    let mut variables = variables();
    let variable = variables.get_or_insert_default().entry(data as usize).or_default();
    if variable.initial.is_none() {
        // SAFETY: as the caller says.
        let bytes = unsafe { core::slice::from_raw_parts(data.cast::<u8>(), size) };
        variable.initial = Some(bytes.into());
    }
    variable.clone()
}

/// Copies are aligned as `malloc` and the vector registers would have it.
const ALIGNMENT: usize = 64;

/// # Safety
/// The variable's functions fit it.
unsafe fn make(data: *mut c_void, size: usize, variable: &ThreadprivateVariable) -> Block {
    let Ok(layout) = Layout::from_size_align(size.max(1), ALIGNMENT) else {
        report::fatal("a threadprivate variable is too large")
    };
    // SAFETY: the layout is not empty.
    let at = unsafe { alloc::alloc_zeroed(layout) };
    if at.is_null() {
        report::fatal("out of memory for a threadprivate variable");
    }
    let special = variable.special;
    let elements = special.elements.unwrap_or(1);
    // SAFETY: the block is as large as the variable, whose functions these are.
    unsafe {
        if let Some(construct) = special.constructor {
            construct(at.cast(), elements);
        } else if let Some(copy) = special.copy_constructor {
            copy(at.cast(), data, elements);
        } else if let Some(initial) = &variable.initial {
            ptr::copy_nonoverlapping(initial.as_ptr(), at, initial.len().min(size));
        }
    }
    Block { at, layout, special }
}

// ---- the copies of a kernel thread ------------------------------------------

fn key() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a valid out pointer and a destructor with the C calling convention.
        if unsafe { libc::pthread_key_create(&mut key, Some(destroy_copies)) } != 0 {
            report::fatal("no key is left for threadprivate variables");
        }
        key
    })
}

/// The copies of the calling kernel thread; made at its first access.
fn calling_thread() -> *mut ThreadprivateCopies {
    let key = key();
    // SAFETY: the key is never deleted.
    let known = unsafe { libc::pthread_getspecific(key) };
    if !known.is_null() {
        return known.cast();
    }
    let main = ult::sys::thread::is_main() && ult::worker::runs_with_own_storage();
    let copies = Box::into_raw(Box::new(ThreadprivateCopies { main, of: HashMap::new() }));
    // SAFETY: as above.
    unsafe { libc::pthread_setspecific(key, copies.cast()) };
    copies
}

/// The kernel thread ends.
unsafe extern "C" fn destroy_copies(copies: *mut c_void) {
    // SAFETY: `calling_thread` made it from a Box for this kernel thread, which ends.
    let copies = unsafe { Box::from_raw(copies.cast::<ThreadprivateCopies>()) };
    for block in copies.of.into_values().filter(|b| b.layout.size() != 0) {
        // SAFETY: `make` made the block, and the destructor is the variable's.
        unsafe {
            if let Some(destroy) = block.special.destructor {
                destroy(block.at.cast(), block.special.elements.unwrap_or(1));
            }
            alloc::dealloc(block.at, block.layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_thread_has_a_copy_of_the_first_value() {
        static mut VARIABLE: u64 = 7;
        let data = &raw mut VARIABLE as usize;
        let value = move || {
            // SAFETY: the variable has eight bytes.
            unsafe { copy_of(data as *mut c_void, 8).cast::<u64>() }
        };
        let seen: Vec<(usize, u64)> = (0..2)
            .map(|n| {
                std::thread::spawn(move || {
                    let mine = value();
                    // SAFETY: the copy is this thread's.
                    let before = unsafe { mine.replace(n) };
                    assert_eq!(mine, value());
                    (mine as usize, before)
                })
                .join()
                .unwrap()
            })
            .collect();
        assert_eq!((seen[0].1, seen[1].1), (7, 7));
        assert_ne!(seen[0].0, data);
    }
}
