//! Thread affinity routines (OpenMP 5.2 §18.3). Places are numbered from 0 in the order of
//! `OMP_PLACES`.
//!
//! | file | what lives there |
//! |---|---|
//! | [`display`] | `omp_display_affinity` and what belongs to it, `omp_display_env` |
//! | [`mask`] | the kernel's affinity masks |

use core::ffi::c_int;
use core::ops::Range;

use super::parallel::icv;
use omp::affinity::PlaceList;
use omp::binding;
use omp::env;
use omp::thread::CurrentThread;

pub mod display;
pub mod mask;

fn places() -> Option<&'static PlaceList> {
    env::settings().binding.bound.places.as_ref()
}

/// The processors of a place; none for a number out of range.
fn procs(place: c_int) -> &'static [usize] {
    match (places(), usize::try_from(place)) {
        (Some(places), Ok(place)) => places.procs(place),
        _ => &[],
    }
}

/// The places that the running thread may use.
fn partition() -> Range<u32> {
    resolved().thread.own().binding.partition.get()
}

/// The running thread, bound if it is to be.
pub(super) fn resolved() -> CurrentThread {
    let here = CurrentThread::get();
    binding::bind_if_initial(here);
    here
}

routines! {
    /// `omp_get_proc_bind` (18.3.1): the policy of the next `parallel` without `proc_bind`.
    fn omp_get_proc_bind() -> c_int {
        icv().bind as c_int
    }

    /// `omp_get_num_places` (18.3.2).
    fn omp_get_num_places() -> c_int {
        resolved();
        places().map_or(0, |places| places.len() as c_int)
    }

    /// `omp_get_place_num_procs` (18.3.3): 0 for a place that does not exist.
    fn omp_get_place_num_procs(place: c_int) -> c_int {
        procs(place).len() as c_int
    }

    /// `omp_get_place_num` (18.3.5): the place the running thread is bound to, −1 when it is not.
    fn omp_get_place_num() -> c_int {
        resolved().thread.own().binding.place.get()
    }

    /// `omp_get_partition_num_places` (18.3.6).
    fn omp_get_partition_num_places() -> c_int {
        partition().len() as c_int
    }
}

wide_routines! {
    fn omp_get_place_num_procs(place) -> c_int;
}

/// Writes numbers one after the other, as C's `int` or as Fortran's 64-bit integers.
///
/// # Safety
/// `to` has room for them.
unsafe fn write_all<T>(to: *mut T, numbers: impl Iterator<Item = usize>, convert: fn(usize) -> T) {
    for (i, number) in numbers.enumerate() {
        // SAFETY: as the caller says.
        unsafe { to.add(i).write(convert(number)) };
    }
}

/// `omp_get_place_proc_ids` (18.3.4): the processors of a place; writes nothing for one that does
/// not exist.
///
/// # Safety
/// `ids` has room for `omp_get_place_num_procs(place)` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_place_proc_ids(place: c_int, ids: *mut c_int) {
    // SAFETY: the same promise.
    unsafe { write_all(ids, procs(place).iter().copied(), |n| n as c_int) };
}

/// The Fortran name of [`omp_get_place_proc_ids`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_place_proc_ids_(place: *const c_int, ids: *mut c_int) {
    // SAFETY: the same promise.
    unsafe { omp_get_place_proc_ids(*place, ids) };
}

/// [`omp_get_place_proc_ids`] with 64-bit integers.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_place_proc_ids_8_(place: *const i64, ids: *mut i64) {
    // SAFETY: the same promise.
    unsafe { write_all(ids, procs(super::narrow(*place).cast_as()).iter().copied(), |n| n as i64) };
}

address_routines! {
    /// `omp_get_partition_place_nums` (18.3.7): the places that the running thread may use.
    fn omp_get_partition_place_nums(nums: *mut c_int) {
        // SAFETY: the same promise.
        unsafe { write_all(nums, partition().map(|n| n as usize), |n| n as c_int) };
    }
}

/// [`omp_get_partition_place_nums`] with 64-bit integers.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_partition_place_nums_8_(nums: *mut i64) {
    // SAFETY: the same promise.
    unsafe { write_all(nums, partition().map(|n| n as usize), |n| n as i64) };
}
