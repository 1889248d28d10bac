// what: the query and setting routines and their defaults
// skip: clang<19 borrows a newer omp.h
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    CHECK(omp_get_num_procs() >= 1);
    CHECK(omp_get_thread_limit() >= n);
    CHECK_EQ(omp_in_final(), 0);
    CHECK_EQ(omp_get_dynamic(), 0);
    omp_set_dynamic(1);
    CHECK_EQ(omp_get_dynamic(), 1);
    omp_set_dynamic(0);
    CHECK_EQ(omp_get_cancellation(), 0);
    CHECK_EQ(omp_get_initial_device(), omp_get_num_devices());
    CHECK_EQ(omp_is_initial_device(), 1);
    CHECK_EQ(omp_get_device_num(), omp_get_initial_device());
    CHECK_EQ(omp_get_num_teams(), 1);
    CHECK_EQ(omp_get_team_num(), 0);
    CHECK(omp_get_supported_active_levels() >= 4);
    CHECK_EQ(omp_get_team_size(-1), -1);
    CHECK_EQ(omp_get_ancestor_thread_num(-1), -1);
    double start = omp_get_wtime(), tick = omp_get_wtick();
    CHECK(tick > 0 && tick < 0.1);
    CHECK(omp_get_wtime() >= start);
    CHECK(omp_get_num_places() >= 0);
    for (int p = 0; p < omp_get_num_places(); p++) {
        int count = omp_get_place_num_procs(p), ids[4096];
        CHECK(count >= 1);
        omp_get_place_proc_ids(p, ids);
        CHECK(ids[0] >= 0);
    }
    CHECK(omp_get_partition_num_places() >= 0);
    CHECK(omp_get_proc_bind() >= omp_proc_bind_false && omp_get_proc_bind() <= omp_proc_bind_spread);
    omp_set_num_threads(5);
    CHECK_EQ(omp_get_max_threads(), 5);
    omp_set_num_teams(3);
    CHECK_EQ(omp_get_max_teams(), 3);
    omp_set_teams_thread_limit(4);
    CHECK_EQ(omp_get_teams_thread_limit(), 4);
    omp_set_default_device(omp_get_initial_device());
    CHECK_EQ(omp_get_default_device(), omp_get_initial_device());
    omp_set_max_active_levels(2);
    CHECK_EQ(omp_get_max_active_levels(), 2);
#ifndef __clang__ /* in libomptarget, which clang does not link here */
    int *host = (int *)omp_target_alloc(64, omp_get_initial_device());
    CHECK(host != NULL);
    int source[4] = {1, 2, 3, 4};
    CHECK_EQ(omp_target_memcpy(host, source, 16, 0, 0, omp_get_initial_device(), omp_get_initial_device()),
             0);
    CHECK_EQ(host[3], 4);
    CHECK_EQ(omp_target_is_present(host, omp_get_initial_device()), 1);
    omp_target_free(host, omp_get_initial_device());
#endif
    CHECK(omp_pause_resource_all(omp_pause_soft) <= 0);
    int again = 0;
#pragma omp parallel reduction(+ : again)
    again++;
    CHECK_EQ(again, 5);
    return check_result();
}
