//! The `omp_*` routines.
use crate::omp::thread::Here;
/// `omp_get_thread_num`
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_thread_num() -> i32 {
    Here::get().thread.num() as i32
}
/// `omp_get_num_threads`
#[unsafe(no_mangle)]
pub extern "C" fn omp_get_num_threads() -> i32 {
    Here::get().team().size() as i32
}
