// what: the routines about places under OMP_PLACES=@PLACES@ and OMP_PROC_BIND=@BIND@
// languages: c, c++
// each: PLACES ; COUNT ; PROCS = {0} ; 1 ; 1 / {0},{1} ; 2 ; 1 / {0,1} ; 1 ; 2 / {0:2} ; 1 ; 2 / {0}:2 ; 2 ; 1 / {1},{0},{0,1} ; 3 ; 0
// each: BIND ; KIND = close ; close / spread ; spread / primary ; primary / true ; true
// env: OMP_PLACES=@PLACES@ OMP_PROC_BIND=@BIND@
// ours: what peers make of the same processor in two places, and of a machine with fewer processors, is theirs
// threads: 2,4
#include "check.h"
#include <sched.h>
#define omp_proc_bind_primary 2
int main(void)
{
    cpu_set_t here;
    sched_getaffinity(0, sizeof here, &here);
    if (!CPU_ISSET(0, &here) || !CPU_ISSET(1, &here))
        return 0; /* the places name processors that are not ours */
    CHECK_EQ(omp_get_num_places(), @COUNT@);
    CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_@KIND@);
    for (int p = 0; p < @COUNT@; p++) {
        int ids[64] = {0}, count = omp_get_place_num_procs(p);
        CHECK(@PROCS@ ? count == @PROCS@ : count == 1 + (p == 2));
        omp_get_place_proc_ids(p, ids);
        for (int i = 0; i < count; i++)
            CHECK(ids[i] == 0 || ids[i] == 1);
    }
    CHECK_EQ(omp_get_place_num_procs(-1), 0);
    CHECK_EQ(omp_get_place_num_procs(@COUNT@), 0);
    int visited = 0;
#pragma omp parallel reduction(| : visited)
    {
        int place = omp_get_place_num(), all[8] = {-1}, partition = omp_get_partition_num_places();
        CHECK(place >= 0 && place < @COUNT@);
        CHECK(partition >= 1 && partition <= @COUNT@);
        omp_get_partition_place_nums(all);
        for (int i = 0; i < partition; i++)
            CHECK(all[i] >= 0 && all[i] < @COUNT@);
        visited = 1 << place;
        if (omp_get_thread_num() > 0)
            CHECK_EQ(omp_get_proc_bind(), omp_proc_bind_@KIND@);
    }
    if (*"@BIND@" == 's' && omp_get_max_threads() >= @COUNT@)
        CHECK_EQ(visited, (1 << @COUNT@) - 1);
    if (*"@BIND@" == 'p')
        CHECK_EQ(visited & (visited - 1), 0);
    return check_result();
}
