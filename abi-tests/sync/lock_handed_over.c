// what: a thread that takes a lock again at once does not keep the others out; whom the lock is handed has it alone, and
// what: those behind that one get it, too
// threads: 2,3,4,8
// ours: a lock is handed to the first in line after half a millisecond
#include "check.h"
#include <unistd.h>
#define ROUNDS 14
#define HOGGED (ROUNDS / 2)
static int inside, served, in_line;
static void stay(int micros)
{
    CHECK_EQ(__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST), 0);
    usleep(micros);
    CHECK_EQ(__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST), 1);
}
static int by_size(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
int main(void)
{
    int n = omp_get_max_threads(), turns[HOGGED];
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int round = 0; round < ROUNDS; round++) {
        int again = 0;
        served = in_line = 0;
#pragma omp parallel
        {
            if (omp_get_thread_num() == 0) {
                /* In every other round it leaves with the others in line, after the first of them has waited
                 * for long: they then depend on each other. */
                int leaves = round % 2;
                omp_set_lock(&lock);
#pragma omp barrier
                while (__atomic_load_n(&in_line, __ATOMIC_SEQ_CST) < n - 1)
                    usleep(100);
                usleep(2000);
                while (leaves ? again < 1
                              : __atomic_load_n(&served, __ATOMIC_SEQ_CST) < n - 1 && again < 1000) {
                    omp_unset_lock(&lock);
                    omp_set_lock(&lock);
                    stay(leaves ? 1000 : 200);
                    again++;
                }
                omp_unset_lock(&lock);
            } else {
#pragma omp barrier
                __atomic_fetch_add(&in_line, 1, __ATOMIC_SEQ_CST);
                omp_set_lock(&lock);
                stay(200);
                __atomic_fetch_add(&served, 1, __ATOMIC_SEQ_CST);
                omp_unset_lock(&lock);
            }
        }
        CHECK_EQ(served, n - 1);
        if (round % 2 == 0)
            turns[round / 2] = again;
    }
    /* Three turns are half a millisecond. One round is allowed in which somebody comes into line late. */
    qsort(turns, HOGGED, sizeof turns[0], by_size);
    if (turns[HOGGED - 2] > 4 * n)
        CHECK_EQ(turns[HOGGED - 2], 4 * n);
    omp_destroy_lock(&lock);
    return check_result();
}
