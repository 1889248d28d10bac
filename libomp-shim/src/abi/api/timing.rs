//! Timing routines (OpenMP 5.2 §18.10).

routines! {
    /// `omp_get_wtime` (18.10.1): seconds of the monotonic clock since some moment in the past.
    fn omp_get_wtime() -> f64 {
        ult::sched::poll();
        seconds(libc::clock_gettime)
    }

    /// `omp_get_wtick` (18.10.2): seconds between two ticks of that clock.
    fn omp_get_wtick() -> f64 {
        seconds(libc::clock_getres)
    }
}

fn seconds(call: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int) -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid out pointer; both calls have this contract.
    unsafe { call(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}
