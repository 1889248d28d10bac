// what: OMP_MAX_TASK_PRIORITY=0 switches priorities off: tasks start in the order in which they do without
// threads: 2
// env: OMP_MAX_TASK_PRIORITY=0
// ours: the order of tasks without a priority is each runtime's own
#include "priority.h"
static void make_with(void)
{
    for (int i = 0; i < 20; i++) {
#pragma omp task priority(i * 7 % 20) firstprivate(i)
        start(i);
    }
}
static void make_without(void)
{
    for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i)
        start(i);
    }
}
int main(void)
{
    int without[20];
    CHECK_EQ(omp_get_max_task_priority(), 0);
    on_one_thread(make_without);
    memcpy(without, started, sizeof without);
    on_one_thread(make_with);
    CHECK_EQ(starts, 20);
    for (int i = 0; i < 20; i++)
        CHECK_EQ(started[i], without[i]);
    return check_result();
}
