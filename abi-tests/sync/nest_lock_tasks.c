// what: a nestable lock belongs to the task that has set it, not to the thread
// peers: libomp fails, because the thread owns the lock
#include "check.h"
int main(void)
{
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    int refused = 0, count = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_set_nest_lock(&lock);
        CHECK_EQ(omp_test_nest_lock(&lock), 2);
#pragma omp task if (0) shared(refused, lock)
        refused += omp_test_nest_lock(&lock) == 0;
#pragma omp task final(1) shared(refused, lock)
        refused += omp_test_nest_lock(&lock) == 0;
#pragma omp taskwait
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        for (int i = 0; i < 200; i++) {
#pragma omp task shared(count, lock)
            {
                omp_set_nest_lock(&lock);
                omp_set_nest_lock(&lock);
                int before = count;
                for (volatile int spin = 0; spin < 50; spin++) {
                }
                count = before + 1;
                omp_unset_nest_lock(&lock);
                omp_unset_nest_lock(&lock);
            }
        }
    }
    CHECK_EQ(refused, 2);
    CHECK_EQ(count, 200);
    CHECK_EQ(omp_test_nest_lock(&lock), 1);
    omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
    return check_result();
}
