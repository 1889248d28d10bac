// what: threads of an inner gang that never sleep in a wait do not keep those of the outer gang from their worker
// env: OMP_GANG_SCHED=1
// env: OMP_WAIT_POLICY=active
// threads: 3,8
// timeout: 20
#include "gang_inner.h"
static omp_lock_t last;
static void begin(int me)
{
    if (me == 2)
        omp_set_lock(&last);
}
static void end(int me)
{
    if (me == 2)
        omp_unset_lock(&last);
}
static void waits_for_outer_threads(void)
{
    omp_set_lock(&last);
    omp_unset_lock(&last);
}
int main(void)
{
    omp_init_lock(&last);
    int result = run();
    omp_destroy_lock(&last);
    return result;
}
