// what: @NAME@=@VALUE@ is refused: one line names it, and the program goes on with the default
// languages: c, c++
// each: SETTING ; NAME ; VALUE ; WANT = no levels ; OMP_MAX_ACTIVE_LEVELS ; -3 ; omp_get_max_active_levels() >= 1 / limit in words ; OMP_THREAD_LIMIT ; all ; omp_get_thread_limit() > 64 / half a bool ; OMP_DYNAMIC ; tru ; omp_get_dynamic() == 0 / cancellation ; OMP_CANCELLATION ; maybe ; omp_get_cancellation() == 0 / chunk 0 ; OMP_SCHEDULE ; dynamic,0 ; omp_get_max_threads() >= 1 / no kind ; OMP_SCHEDULE ; ,4 ; omp_get_max_threads() >= 1 / negative chunk ; OMP_SCHEDULE ; static,-1 ; omp_get_max_threads() >= 1
// each: SETTING ; NAME ; VALUE ; WANT = negative teams ; OMP_NUM_TEAMS ; -2 ; omp_get_max_teams() == 0 / team threads 0 ; OMP_TEAMS_THREAD_LIMIT ; 0 ; omp_get_teams_thread_limit() == 0 / priority ; OMP_MAX_TASK_PRIORITY ; -1 ; omp_get_max_task_priority() > 0 / stack unit ; OMP_STACKSIZE ; 3X ; omp_get_max_threads() >= 1 / open place ; OMP_PLACES ; {0 ; omp_get_max_threads() >= 1 / bind ; OMP_PROC_BIND ; closest ; omp_get_proc_bind() == omp_proc_bind_false / allocator ; OMP_ALLOCATOR ; omp_fast_mem_alloc ; omp_get_default_allocator() == omp_default_mem_alloc / device ; OMP_DEFAULT_DEVICE ; first ; omp_get_default_device() == 0
// env: @NAME@=@VALUE@
// ours: peers word and count their messages differently
// mode: preload,symlink
// expect-stderr: gangway: *@NAME@
// expect-stderr-lines: 1
#include "check.h"
int main(void)
{
    int count = 0;
    CHECK(@WANT@);
#pragma omp parallel num_threads(3) reduction(+ : count)
    count++;
    CHECK_EQ(count, 3);
    return check_result();
}
