// what: @NAME@=@VALUE@: @WANT@
// languages: c, c++
// each: SETTING ; NAME ; VALUE ; WANT = threads ; OMP_NUM_THREADS ; 7 ; omp_get_max_threads() == 7 / thread list ; OMP_NUM_THREADS ; 3,2 ; omp_get_max_threads() == 3 / dynamic ; OMP_DYNAMIC ; true ; omp_get_dynamic() == 1 / dynamic in capitals ; OMP_DYNAMIC ; TRUE ; omp_get_dynamic() == 1 / not dynamic ; OMP_DYNAMIC ; false ; omp_get_dynamic() == 0 / levels ; OMP_MAX_ACTIVE_LEVELS ; 4 ; omp_get_max_active_levels() == 4 / no levels ; OMP_MAX_ACTIVE_LEVELS ; 0 ; omp_get_max_active_levels() == 0 / thread limit ; OMP_THREAD_LIMIT ; 9 ; omp_get_thread_limit() == 9
// each: SETTING ; NAME ; VALUE ; WANT = static ; OMP_SCHEDULE ; static ; schedule(omp_sched_static, -1) / static chunk ; OMP_SCHEDULE ; static,5 ; schedule(omp_sched_static, 5) / dynamic chunk ; OMP_SCHEDULE ; dynamic,3 ; schedule(omp_sched_dynamic, 3) / guided ; OMP_SCHEDULE ; GUIDED,2 ; schedule(omp_sched_guided, 2) / auto ; OMP_SCHEDULE ; auto ; schedule(omp_sched_auto, -1) / monotonic ; OMP_SCHEDULE ; monotonic:dynamic,4 ; schedule(omp_sched_dynamic, 4) / nonmonotonic ; OMP_SCHEDULE ; nonmonotonic:guided,8 ; schedule(omp_sched_guided, 8)
// each: SETTING ; NAME ; VALUE ; WANT = cancellation ; OMP_CANCELLATION ; true ; omp_get_cancellation() == 1 / no cancellation ; OMP_CANCELLATION ; false ; omp_get_cancellation() == 0 / priority ; OMP_MAX_TASK_PRIORITY ; 12 ; omp_get_max_task_priority() == 12 / no priority ; OMP_MAX_TASK_PRIORITY ; 0 ; omp_get_max_task_priority() == 0 / teams ; OMP_NUM_TEAMS ; 3 ; omp_get_max_teams() == 3 / team threads ; OMP_TEAMS_THREAD_LIMIT ; 2 ; omp_get_teams_thread_limit() == 2 / device ; OMP_DEFAULT_DEVICE ; 2 ; omp_get_default_device() == 2 / allocator ; OMP_ALLOCATOR ; omp_thread_mem_alloc ; omp_get_default_allocator() == omp_thread_mem_alloc / stack ; OMP_STACKSIZE ; 3M ; deep() == 1 / bind ; OMP_PROC_BIND ; spread ; omp_get_proc_bind() == omp_proc_bind_spread / bind list ; OMP_PROC_BIND ; close,spread ; omp_get_proc_bind() == omp_proc_bind_close / no bind ; OMP_PROC_BIND ; false ; omp_get_proc_bind() == omp_proc_bind_false / places ; OMP_PLACES ; {0} ; omp_get_num_places() == 1 && omp_get_place_num_procs(0) == 1
// env: @NAME@=@VALUE@
#include "check.h"
static inline int schedule(omp_sched_t want, int chunk)
{
    omp_sched_t kind;
    int size;
    omp_get_schedule(&kind, &size);
    return (kind & ~omp_sched_monotonic) == want && (chunk < 0 || size == chunk);
}
static inline int deep(void)
{
    int right = 1;
#pragma omp parallel num_threads(3) reduction(&& : right)
    {
        volatile char stack[2 << 20];
        stack[0] = stack[(2 << 20) - 1] = (char)(1 + omp_get_thread_num());
        right = stack[0] == stack[(2 << 20) - 1];
    }
    return right;
}
int main(void)
{
    (void)schedule, (void)deep;
    CHECK(@WANT@);
#pragma omp parallel num_threads(2)
    {
    }
    CHECK(@WANT@);
    return check_result();
}
