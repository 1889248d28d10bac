// what: who comes while somebody is inside a critical, or holds a lock, stays outside for as long as that takes
// threads: 2,4,8
#include "check.h"
#include <unistd.h>
static int unnamed, named, locked;
/* Long enough for the others to come, whatever else runs on the machine. */
static void stay(int *inside)
{
    CHECK_EQ(__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST), 0);
    usleep(1000);
    CHECK_EQ(__atomic_fetch_sub(inside, 1, __ATOMIC_SEQ_CST), 1);
}
int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int round = 0; round < 4; round++) {
#pragma omp barrier
#pragma omp critical
        stay(&unnamed);
#pragma omp barrier
#pragma omp critical(name)
        stay(&named);
#pragma omp barrier
        omp_set_lock(&lock);
        stay(&locked);
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    /* An atomic that no instruction does is short: many of them have to meet. */
    long double sum = 0;
    long n = omp_get_max_threads(), come = 0, added = 0;
#pragma omp parallel reduction(+ : added)
    {
        __atomic_fetch_add(&come, 1, __ATOMIC_SEQ_CST);
        for (int i = 0; i < 1000 && __atomic_load_n(&come, __ATOMIC_SEQ_CST) < n; i++)
            usleep(100);
        for (double end = omp_get_wtime() + 0.04; omp_get_wtime() < end;) {
            for (int i = 0; i < 1000; i++, added++) {
#pragma omp atomic
                sum += 1;
            }
        }
    }
    CHECK_EQ(sum, added);
    return check_result();
}
