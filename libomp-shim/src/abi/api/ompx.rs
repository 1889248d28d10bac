//! The `ompx_*` routines: what goes beyond the standard (`include/ompx.h`, `include/ompx_lib.f90`).

use core::ptr;

use crate::abi::api::parallel::change_icv;
use crate::omp::env;
use crate::omp::stats::{self, Counters};

routines! {
    /// `ompx_set_gang_sched`: gang-schedule all regions that the calling task and its descendants encounter from here on.
    fn ompx_set_gang_sched() {
        change_icv(|icv| icv.set_gang_sched());
    }

    /// `ompx_reset_gang_sched`: back to what `OMP_GANG_SCHED` said.
    fn ompx_reset_gang_sched() {
        change_icv(|icv| icv.reset_gang_sched(env::settings()));
    }
}

/// `ompx_get_counters`: writes the first `size` bytes of [`Counters`], at most as many as there are, and returns how many
/// there are. May be called before the first OpenMP construct and at exit; makes nobody an initial thread.
///
/// # Safety
/// `out` is valid for writes of `size` bytes, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_get_counters(out: *mut Counters, size: usize) -> usize {
    let counters = stats::read();
    let known = size_of::<Counters>();
    if !out.is_null() {
        let from: *const u8 = (&raw const counters).cast();
        // SAFETY: `out` as the caller says, and no more than `counters` has. Bytes need no alignment.
        unsafe { ptr::copy_nonoverlapping(from, out.cast(), size.min(known)) };
    }
    known
}

/// [`ompx_get_counters`] for Fortran.
///
/// # Safety
/// As there; `size` is valid for reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_get_counters_(out: *mut Counters, size: *const usize) -> usize {
    // SAFETY: the same promise.
    unsafe { ompx_get_counters(out, *size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_written_than_asked_for_or_known() {
        let known = size_of::<Counters>();
        stats::count_region();
        let mut words = [u64::MAX; 20];
        // SAFETY: 8, then 160 bytes of `words`, then none.
        unsafe {
            assert_eq!(ompx_get_counters(words.as_mut_ptr().cast(), 8), known);
            assert!(words[0] >= 1 && words[0] < u64::MAX && words[1] == u64::MAX);
            assert_eq!(ompx_get_counters(words.as_mut_ptr().cast(), 160), known);
            assert_eq!(ompx_get_counters(ptr::null_mut(), 160), known);
        }
        assert!(words[..known / 8].iter().all(|&w| w != u64::MAX));
        assert!(words[known / 8..].iter().all(|&w| w == u64::MAX));
    }
}
