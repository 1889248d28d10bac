// what: priorities above OMP_MAX_TASK_PRIORITY count as that one, and equal ones start oldest first
// threads: 2
// env: OMP_MAX_TASK_PRIORITY=2
// ours: the order of tasks with the same priority is each runtime's own
#include "priority.h"
static void make(void)
{
    static const int given[] = {1, 3, 2, 1000000, 0, 1, 2};
    for (int i = 0; i < 7; i++) {
#pragma omp task priority(given[i]) firstprivate(i)
        start(i);
    }
}
int main(void)
{
    static const int want[] = {1, 2, 3, 6, 0, 5, 4};
    CHECK_EQ(omp_get_max_task_priority(), 2);
    on_one_thread(make);
    CHECK_EQ(starts, 7);
    for (int i = 0; i < 7; i++)
        CHECK_EQ(started[i], want[i]);
    return check_result();
}
