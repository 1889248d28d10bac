//! The dimensions of teams and leagues (OpenMP 6.1). There is one, number 0; in every other
//! dimension there is one thread, one team, and its number is 0.

use core::ffi::c_int;

use super::parallel::{omp_get_num_threads, omp_get_thread_limit, omp_get_thread_num};
use super::teams::{omp_get_num_teams, omp_get_team_num};
use omp::target::is_host;

/// Dimensions that a league or a team of the host can have.
const SUPPORTED: c_int = 1;

macro_rules! dimensions {
    ($($(#[$doc:meta])* $name:ident = $first:expr, else $others:literal;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $name(dimension: c_int) -> c_int {
            if dimension == 0 { $first } else { $others }
        }
    )*};
}

dimensions! {
    /// `omp_get_num_teams_dim`.
    omp_get_num_teams_dim = omp_get_num_teams(), else 1;
    /// `omp_get_team_num_dim`.
    omp_get_team_num_dim = omp_get_team_num(), else 0;
    /// `omp_get_num_threads_dim`.
    omp_get_num_threads_dim = omp_get_num_threads(), else 1;
    /// `omp_get_thread_num_dim`.
    omp_get_thread_num_dim = omp_get_thread_num(), else 0;
    /// `omp_get_thread_limit_dim`.
    omp_get_thread_limit_dim = omp_get_thread_limit(), else 1;
}

/// What a device supports in a dimension: no limit of teams or threads in the first one.
fn most(device: c_int, dimension: c_int) -> c_int {
    match (is_host(device), dimension) {
        (false, _) => 0,
        (true, 0) => c_int::MAX,
        (true, _) => 1,
    }
}

/// `omp_get_supported_teams_dim`: most teams of a league in a dimension; 0 for a device that does
/// not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_supported_teams_dim(device: c_int, dimension: c_int) -> c_int {
    most(device, dimension)
}

/// `omp_get_supported_threads_dim`: most threads of a team in a dimension; 0 for a device that does
/// not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_supported_threads_dim(device: c_int, dimension: c_int) -> c_int {
    most(device, dimension)
}

routines! {
    /// `omp_get_supported_active_league_dims`: dimensions of a league; 0 for a device that does not
    /// exist. Whether emulated ones count makes no difference.
    fn omp_get_supported_active_league_dims(device: c_int, _emulated: c_int) -> c_int {
        if is_host(device) { SUPPORTED } else { 0 }
    }

    /// `omp_get_supported_active_team_dims`: dimensions of a team; 0 for a device that does not
    /// exist.
    fn omp_get_supported_active_team_dims(device: c_int, _emulated: c_int) -> c_int {
        if is_host(device) { SUPPORTED } else { 0 }
    }
}
