// what: threads of an inner gang that wait for what nobody tells of do not keep those of the outer gang from their worker
// env: OMP_GANG_SCHED=1
// threads: 3,8
// compilers: gcc, clang>=19
// mode: link
// timeout: 20
// ours: the variable and the routine are of this library alone
#include "check.h"
#include "ompx.h"
#include "spin.h"
static int inside, count, wanted;
static omp_lock_t lock;
static int is_over(void *unused)
{
    (void)unused;
    return LOAD(count) == wanted;
}
static void inner(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        inside++;
        ompx_suspend_until(is_over, NULL);
    }
}
int main(void)
{
    int n = omp_get_max_threads();
    wanted = n - 1;
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(n)
    {
        const int me = omp_get_thread_num();
        if (me == 0)
            omp_set_lock(&lock);
#pragma omp barrier
        if (me == 1) {
            inner();
        } else {
            if (me == 0)
                SPIN_UNTIL(LOAD(inside) == 2);
            else
                omp_set_lock(&lock); /* waits, on the same worker perhaps, until the others do */
            __atomic_fetch_add(&count, 1, __ATOMIC_SEQ_CST);
            omp_unset_lock(&lock);
        }
    }
    CHECK_EQ(count, n - 1);
    omp_destroy_lock(&lock);
    return check_result();
}
