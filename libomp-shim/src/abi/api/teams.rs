//! Teams region routines (OpenMP 5.2 §18.4).

use core::ffi::c_int;

use super::parallel::{int, plan_value};
use omp::icv;

routines! {
    /// `omp_get_num_teams` (18.4.1): teams of the running league; 1 outside.
    fn omp_get_num_teams() -> c_int {
        plan_value(1, |plan| plan.league.teams)
    }

    /// `omp_get_team_num` (18.4.2).
    fn omp_get_team_num() -> c_int {
        plan_value(0, |plan| plan.league.number)
    }

    /// `omp_set_num_teams` (18.4.3): most teams of a `teams` without `num_teams`.
    fn omp_set_num_teams(n: c_int) {
        icv::set_nteams(n);
    }

    /// `omp_get_max_teams` (18.4.4): 0 when there is no limit.
    fn omp_get_max_teams() -> c_int {
        int(icv::nteams())
    }

    /// `omp_set_teams_thread_limit` (18.4.5): threads of each contention group of a `teams` without
    /// `thread_limit`.
    fn omp_set_teams_thread_limit(n: c_int) {
        icv::set_teams_thread_limit(n);
    }

    /// `omp_get_teams_thread_limit` (18.4.6): 0 when there is no limit.
    fn omp_get_teams_thread_limit() -> c_int {
        int(icv::teams_thread_limit())
    }
}

wide_routines! {
    fn omp_set_num_teams(n);
    fn omp_set_teams_thread_limit(n);
}
