//! `ompx_cluster_*`: MPI ranks as devices (`docs/mpi.md`).

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicBool, Ordering};

use omp::report;
use omp_cluster::rank;
use omp_cluster::rank::start::{self, Started};

/// `ompx_cluster_init`: brings the MPI ranks together as devices, as `OMPX_CLUSTER` says
/// (`docs/mpi.md`). To be the first thing that `main` does. On a rank that only serves it does not
/// return. 0, or −1 when it was called before. The arguments are not used; null ones stand
/// for the start library, which calls this before `main`, so that a call by the program is no
/// mistake.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_cluster_init(argc: *mut c_int, _argv: *mut *mut *mut c_char) -> c_int {
    static BY_LIBRARY: AtomicBool = AtomicBool::new(false);
    let by_library = argc.is_null();
    match start::init() {
        // ORDERING: Relaxed; both calls are made by the main thread.
        Started::Twice if !by_library && BY_LIBRARY.swap(false, Ordering::Relaxed) => 0,
        Started::Twice => {
            report::warn("ompx_cluster_init was called before; this call changes nothing");
            -1
        }
        Started::Together | Started::Alone => {
            // ORDERING: as above.
            BY_LIBRARY.store(by_library, Ordering::Relaxed);
            0
        }
    }
}

/// `ompx_cluster_rank`: the rank of this process, 0 if it is alone.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_cluster_rank() -> c_int {
    rank::cluster().map_or(0, |c| c.rank as c_int)
}

/// `ompx_cluster_size`: how many ranks there are, 1 if this process is alone.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_cluster_size() -> c_int {
    rank::cluster().map_or(1, |c| c.ranks as c_int)
}
