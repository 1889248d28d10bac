// what: threads of an inner gang that never sleep in a wait do not keep those of the outer gang from their worker
// env: OMP_GANG_SCHED=1
// env: OMP_WAIT_POLICY=active
// threads: 3,8
// timeout: 20
#include "check.h"
#include "spin.h"
static int inside, count;
static omp_lock_t lock, last;
static void inner(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        inside++;
        omp_set_lock(&last); /* until an outer thread has had the other one */
        omp_unset_lock(&last);
    }
}
int main(void)
{
    int n = omp_get_max_threads();
    omp_init_lock(&lock);
    omp_init_lock(&last);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(n)
    {
        const int me = omp_get_thread_num();
        if (me == 0)
            omp_set_lock(&lock);
        if (me == 2)
            omp_set_lock(&last);
#pragma omp barrier
        if (me == 1) {
            inner();
        } else {
            if (me == 0)
                SPIN_UNTIL(LOAD(inside) == 2);
            else
                omp_set_lock(&lock);
            __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
            omp_unset_lock(&lock);
            if (me == 2)
                omp_unset_lock(&last);
        }
    }
    CHECK_EQ(count, n - 1);
    omp_destroy_lock(&lock);
    omp_destroy_lock(&last);
    return check_result();
}
