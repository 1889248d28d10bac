// what: a thread that takes a lock again at once does not keep the others out; whom the lock is handed has it alone, and
// what: those behind that one get it, too
// threads: 2,3,4,8
// ours: a lock is handed to the first in line after half a millisecond
#include "check.h"
#include <unistd.h>
static int inside, served;
static void stay(int micros)
{
    CHECK_EQ(__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST), 0);
    usleep(micros);
    CHECK_EQ(__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST), 1);
}
int main(void)
{
    int n = omp_get_max_threads();
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int round = 0; round < 6; round++) {
        int again = 0;
        served = 0;
#pragma omp parallel
        {
            if (omp_get_thread_num() == 0) {
                /* In every other round it leaves with the others in line, after the first of them has waited for long: they
                 * then depend on each other. */
                int leaves = round % 2;
                omp_set_lock(&lock);
#pragma omp barrier
                usleep(2000);
                while (leaves ? again < 1 : __atomic_load_n(&served, __ATOMIC_SEQ_CST) < n - 1 && again < 1000) {
                    omp_unset_lock(&lock);
                    omp_set_lock(&lock);
                    stay(leaves ? 1000 : 200);
                    again++;
                }
                omp_unset_lock(&lock);
            } else {
#pragma omp barrier
                omp_set_lock(&lock);
                stay(200);
                __atomic_fetch_add(&served, 1, __ATOMIC_SEQ_CST);
                omp_unset_lock(&lock);
            }
        }
        CHECK(again < 1000);
        CHECK_EQ(served, n - 1);
    }
    omp_destroy_lock(&lock);
    return check_result();
}
