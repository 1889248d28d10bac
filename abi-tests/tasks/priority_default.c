// what: priorities count although OMP_MAX_TASK_PRIORITY is not set, and the routine that tells their limit says so
// threads: 2
// ours: other runtimes ignore priorities until the variable is set
#include <limits.h>
#include "priority.h"
static void make(void)
{
    int limit = omp_get_max_task_priority();
#pragma omp task priority(1)
    start(1);
#pragma omp task
    start(0);
#pragma omp task priority(1000)
    start(1000);
#pragma omp task priority(2000 < limit ? 2000 : limit)
    start(2000);
#pragma omp task priority(limit)
    start(3000);
#pragma omp task
    start(0);
}
int main(void)
{
    static const int want[] = {3000, 2000, 1000, 1, 0, 0};
    CHECK_EQ(omp_get_max_task_priority(), INT_MAX);
    on_one_thread(make);
    CHECK_EQ(starts, 6);
    for (int i = 0; i < 6; i++)
        CHECK_EQ(started[i], want[i]);
    return check_result();
}
