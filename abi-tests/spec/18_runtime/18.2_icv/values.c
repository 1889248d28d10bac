// what: @CALL@ is @WANT@
// languages: c, c++
// each: CALL ; WANT = omp_get_num_threads() ; 1 / omp_get_thread_num() ; 0 / omp_in_parallel() ; 0 / omp_in_final() ; 0 / omp_get_level() ; 0 / omp_get_active_level() ; 0 / omp_get_ancestor_thread_num(0) ; 0 / omp_get_ancestor_thread_num(1) ; -1 / omp_get_ancestor_thread_num(-1) ; -1
// each: CALL ; WANT = omp_get_team_size(0) ; 1 / omp_get_team_size(1) ; -1 / omp_get_team_size(-1) ; -1 / omp_get_cancellation() ; 0 / omp_get_num_teams() ; 1 / omp_get_team_num() ; 0 / omp_is_initial_device() ; 1 / omp_get_initial_device() == omp_get_num_devices() ; 1
// each: CALL ; WANT = omp_get_max_teams() ; 0 / omp_get_teams_thread_limit() ; 0 / omp_get_supported_active_levels() > 1 ; 1 / omp_get_thread_limit() > 64 ; 1 / omp_get_max_task_priority() >= 0 ; 1 / omp_get_wtick() > 0 && omp_get_wtick() < 0.01 ; 1 / omp_get_num_procs() >= 1 ; 1 / omp_get_wtime() <= omp_get_wtime() ; 1 / omp_get_num_places() >= 0 ; 1 / omp_get_partition_num_places() >= 0 ; 1
#include "check.h"
int main(void)
{
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(@CALL@, @WANT@);
#pragma omp parallel
        {
        }
    }
    return check_result();
}
