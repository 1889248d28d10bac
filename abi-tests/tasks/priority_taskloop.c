// what: the tasks of a taskloop have its priority
// threads: 2
// env: OMP_MAX_TASK_PRIORITY=100
#include "priority.h"
static int done;
static void make(void)
{
    for (int i = 0; i < 4; i++) {
#pragma omp task priority(1)
        start(1);
    }
#pragma omp taskloop nogroup num_tasks(4) priority(5)
    for (int i = 0; i < 4; i++)
        start(5);
#pragma omp taskloop nogroup grainsize(1) priority(3)
    for (unsigned long long i = 0; i < 4; i++)
        start(3);
#pragma omp task priority(9)
    start(9);
#pragma omp taskloop nogroup num_tasks(2)
    for (int i = 0; i < 2; i++)
        start(0);
}
int main(void)
{
    static const int want[] = {9, 5, 5, 5, 5, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0};
    on_one_thread(make);
    CHECK_EQ(starts, 15);
    for (int i = 0; i < 15; i++)
        CHECK_EQ(started[i], want[i]);
    /* And all its iterations are run when many threads share it. */
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskloop num_tasks(50) priority(7)
    for (int i = 0; i < 1000; i++)
        __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    CHECK_EQ(done, 1000);
    return check_result();
}
