// what: tasks that only yield, in a region whose threads have been seen to wait in their own code, keep nobody from the task that they all wait for
// threads: 2,3,4,8,17
// env: OMP_MAX_TASK_PRIORITY=100
#include "priority.h"

/* More threads than workers meet by a counter of their own: from then on the region is known for that. */
static int arrived;
static void meet(int round)
{
    __atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < round * omp_get_num_threads())
        ;
}

static int happened, polled;
static void pollers(void)
{
    happened = 0;
    for (int i = 0; i < 40; i++) {
#pragma omp task untied priority(i % 3)
        {
            while (!__atomic_load_n(&happened, __ATOMIC_SEQ_CST)) {
#pragma omp taskyield
            }
            __atomic_fetch_add(&polled, 1, __ATOMIC_SEQ_CST);
        }
    }
#pragma omp task
    set(&happened, 1);
}

int main(void)
{
    enum { ROUNDS = 4 };
#pragma omp parallel
    for (int round = 1; round <= ROUNDS; round++) {
        meet(round);
#pragma omp barrier
#pragma omp single
        pollers();
    }
    CHECK_EQ(polled, 40 * ROUNDS);
    return check_result();
}
