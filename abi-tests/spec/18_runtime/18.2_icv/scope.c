// what: @ICV@: a task changes its own copy; children inherit it, siblings and the encountering task do not see it
// languages: c, c++
// each: ICV ; SET ; GET ; OUTER ; INNER ; GNU ; LLVM = nthreads ; omp_set_num_threads(v) ; omp_get_max_threads() ; 5 ; 7 ; none ; none / dyn ; omp_set_dynamic(v - 1) ; 1 + omp_get_dynamic() ; 1 ; 2 ; none ; none / run-sched chunk ; omp_set_schedule(omp_sched_dynamic, v) ; chunk() ; 5 ; 9 ; none ; none / default-device ; omp_set_default_device(v - 1) ; 1 + omp_get_default_device() ; 1 ; 2 ; none ; none / def-allocator ; omp_set_default_allocator((omp_allocator_handle_t)(unsigned long)v) ; (long)omp_get_default_allocator() ; 1 ; 2 ; libgomp ; libomp
// peers: @GNU@ fails, because def-allocator belongs to a thread there
// peers: @LLVM@ fails, because def-allocator belongs to a thread there
// each: WHERE ; OPEN ; OWN = a region ; omp parallel num_threads(3) ; 1 / a task ; omp task if(0) ; 1 / a nested region ; omp parallel num_threads(1) ; 1
#include "check.h"
static int chunk(void)
{
    omp_sched_t kind;
    int size;
    omp_get_schedule(&kind, &size);
    return (kind & ~omp_sched_monotonic) == omp_sched_dynamic ? size : -1;
}
static void set(int v) { @SET@; }
static int get(void) { return @GET@; }
int main(void)
{
    (void)chunk;
    set(@OUTER@);
    CHECK_EQ(get(), @OUTER@);
    for (int round = 0; round < 2; round++) {
#pragma @OPEN@
        {
            CHECK_EQ(get(), @OUTER@);
            set(@INNER@);
            CHECK_EQ(get(), @INNER@);
            int below = 0;
#pragma omp task shared(below)
            below = get();
#pragma omp taskwait
            CHECK_EQ(below, @INNER@);
#pragma omp parallel num_threads(2)
            CHECK_EQ(get(), @INNER@);
        }
        CHECK_EQ(get(), @OUTER@);
    }
    return check_result();
}
