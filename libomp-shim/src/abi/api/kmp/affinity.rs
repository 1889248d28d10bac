//! Affinity masks. A program holds a pointer to a mask; the routines take the address of that
//! pointer, in C and in Fortran.

use core::ffi::c_int;
use core::ptr::NonNull;

use crate::abi::api::affinity::mask::Mask;
use omp::affinity::topology;

/// The address of a `kmp_affinity_mask_t`.
type MaskAddress = NonNull<*mut Mask>;

/// `kmp_set_affinity_mask_proc` and companions: the number is no processor of this machine.
const NO_SUCH_PROC: c_int = -1;
/// They exist, but may not be used by this process.
const NOT_ALLOWED: c_int = -2;

/// The mask that the program's variable points to.
///
/// # Safety
/// The variable was set by `kmp_create_affinity_mask`.
unsafe fn mask<'a>(address: MaskAddress) -> &'a mut Mask {
    // SAFETY: as the caller says.
    unsafe { &mut **address.as_ptr() }
}

/// A processor's number, if there is such a processor and the process may use it.
fn usable(proc: c_int) -> Result<usize, c_int> {
    if !(0..kmp_get_affinity_max_proc()).contains(&proc) {
        return Err(NO_SUCH_PROC);
    }
    let proc = proc as usize;
    let allowed = topology::usable().iter().any(|cpu| cpu.os == proc);
    if allowed { Ok(proc) } else { Err(NOT_ALLOWED) }
}

/// # Safety
/// As [`mask`].
unsafe fn change(proc: c_int, address: MaskAddress, on: bool) -> c_int {
    match usable(proc) {
        // SAFETY: as the caller says.
        Ok(proc) => unsafe { mask(address) }.set(proc, on),
        Err(code) => return code,
    }
    0
}

routines! {
    /// `kmp_get_affinity_max_proc`: one more than the largest processor number of the machine.
    fn kmp_get_affinity_max_proc() -> c_int {
        topology::numbers() as c_int
    }
}

address_routines! {
    /// `kmp_create_affinity_mask`: an empty mask.
    fn kmp_create_affinity_mask(address: MaskAddress) {
        // SAFETY: the same promise.
        unsafe { address.write(Box::into_raw(Box::default())) };
    }

    /// `kmp_destroy_affinity_mask`.
    fn kmp_destroy_affinity_mask(address: MaskAddress) {
        // SAFETY: the same promise; a second destruction finds null.
        unsafe {
            let mask = address.replace(core::ptr::null_mut());
            if !mask.is_null() {
                drop(Box::from_raw(mask));
            }
        }
    }

    /// `kmp_set_affinity`: restricts the calling thread's kernel thread to the mask; 0 when done.
    fn kmp_set_affinity(address: MaskAddress) -> c_int {
        // SAFETY: the same promise.
        let mask = unsafe { mask(address) };
        mask.bind_calling_thread().map_or_else(|error| error.raw_os_error().unwrap_or(-1), |()| 0)
    }

    /// `kmp_get_affinity`: the mask of the calling thread's kernel thread; 0 when done.
    fn kmp_get_affinity(address: MaskAddress) -> c_int {
        match Mask::of_calling_thread() {
            Ok(now) => {
                // SAFETY: the same promise.
                *unsafe { mask(address) } = now;
                0
            }
            Err(error) => error.raw_os_error().unwrap_or(-1),
        }
    }
}

/// Declares routines of a processor number and a mask: `x`, LLVM's `kmpc` name for it, and `x_`.
macro_rules! proc_routines {
    ($( $(#[$meta:meta])* fn $name:ident, $alias:ident($proc:ident, $address:ident) $body:block )*) => {$(
        $(#[$meta])*
        ///
        /// # Safety
        /// The mask was made by `kmp_create_affinity_mask`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($proc: c_int, $address: MaskAddress) -> c_int $body

        c_aliases! {
            unsafe fn $alias(proc: c_int, address: MaskAddress) -> c_int => $name;
        }

        const _: () = {
            #[unsafe(export_name = concat!(stringify!($name), "_"))]
            unsafe extern "C-unwind" fn fortran(proc: *const c_int, address: MaskAddress) -> c_int {
                // SAFETY: the same promise.
                unsafe { $name(*proc, address) }
            }
        };
    )*};
}

proc_routines! {
    /// `kmp_set_affinity_mask_proc`: 0, −1 for a processor that does not exist, −2 for one that may
    /// not be used.
    fn kmp_set_affinity_mask_proc, kmpc_set_affinity_mask_proc(proc, address) {
        // SAFETY: the same promise.
        unsafe { change(proc, address, true) }
    }

    /// `kmp_unset_affinity_mask_proc`: as `kmp_set_affinity_mask_proc`.
    fn kmp_unset_affinity_mask_proc, kmpc_unset_affinity_mask_proc(proc, address) {
        // SAFETY: the same promise.
        unsafe { change(proc, address, false) }
    }

    /// `kmp_get_affinity_mask_proc`: 1 when the processor is in the mask, 0 when it is not, or
    /// cannot be.
    fn kmp_get_affinity_mask_proc, kmpc_get_affinity_mask_proc(proc, address) {
        match usable(proc) {
            // SAFETY: the same promise.
            Ok(proc) => c_int::from(unsafe { mask(address) }.has(proc)),
            Err(NOT_ALLOWED) => 0,
            Err(code) => code,
        }
    }
}

/// `kmp_set_thread_affinity_mask_initial`: lets the calling kernel thread run wherever the process
/// may; 1 when done.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn kmp_set_thread_affinity_mask_initial() -> c_int {
    let procs: Vec<usize> = topology::usable().iter().map(|cpu| cpu.os).collect();
    c_int::from(ult::kernel_state::bind_kernel_thread(&procs).is_ok())
}
