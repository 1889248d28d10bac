// what: a @KIND@ lock held by @HOLDER@ cannot be taken by another until it is given back
// languages: c, c++
// each: KIND ; T ; ONE = simple ; lock ; 1 / nestable ; nest_lock ; 1
// each: HOLDER ; OUTER = another thread ; parallel num_threads(2) / another task ; parallel num_threads(1)
// peers: libomp fails, because its nestable locks belong to threads
// each: ROUNDS = 1 / 20
#include "check.h"
int main(void)
{
    omp_@T@_t lock;
    omp_init_@T@(&lock);
    int tries = 0;
    for (int round = 0; round < @ROUNDS@; round++) {
#pragma omp @OUTER@ shared(lock, tries)
        {
            int first = omp_get_thread_num() == 0, threads = omp_get_num_threads();
            if (first)
                CHECK_EQ(omp_test_@T@(&lock), @ONE@);
#pragma omp barrier
            if (threads == 1) {
#pragma omp task if(0) shared(lock, tries)
                tries += omp_test_@T@(&lock) != 0;
            } else if (!first) {
#pragma omp atomic
                tries += omp_test_@T@(&lock) != 0;
            }
#pragma omp barrier
            if (first)
                omp_unset_@T@(&lock);
        }
        CHECK_EQ(tries, 0);
        CHECK_EQ(omp_test_@T@(&lock), @ONE@);
        omp_unset_@T@(&lock);
    }
    omp_destroy_@T@(&lock);
    return check_result();
}
