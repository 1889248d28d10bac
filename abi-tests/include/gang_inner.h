/* The body of gang/*_inner.c. Thread 1 forks an inner team of two that waits until others have had the lock
 * which thread 0 holds: threads of the outer gang that wait visibly on a worker, behind waiting ones of the
 * inner gang, have to go on. */
#include "check.h"
#include "spin.h"
static int inside, count;
static omp_lock_t lock;
static void waits_for_outer_threads(void);
static void begin(int me); /* before the barrier */
static void end(int me);   /* when the thread has had the lock */
static void inner(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        inside++;
        waits_for_outer_threads();
    }
}
static int run(void)
{
    int n = omp_get_max_threads();
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(n)
    {
        const int me = omp_get_thread_num();
        if (me == 0)
            omp_set_lock(&lock);
        begin(me);
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
            end(me);
        }
    }
    CHECK_EQ(count, n - 1);
    omp_destroy_lock(&lock);
    return check_result();
}
