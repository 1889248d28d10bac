// what: of the ready tasks, a thread starts those of the highest priority first
// threads: 2
// env: OMP_MAX_TASK_PRIORITY=100
#include "priority.h"
enum { N = 60 };
static int priority_of(int i)
{
    return i * 37 % N; /* each of 0 .. N-1 once */
}
static void make(void)
{
    for (int i = 0; i < N; i++) {
#pragma omp task priority(priority_of(i)) firstprivate(i)
        start(priority_of(i));
    }
}
static int bottom;
/* Tasks that become ready together, at the end of the one they wait for. */
static void make_released(void)
{
#pragma omp task depend(out : bottom)
    start(100);
    for (int i = 0; i < N; i++) {
#pragma omp task priority(priority_of(i)) firstprivate(i) depend(in : bottom)
        start(priority_of(i));
    }
}
int main(void)
{
    on_one_thread(make);
    CHECK_EQ(starts, N);
    for (int i = 0; i < N; i++)
        CHECK_EQ(started[i], N - 1 - i);
    on_one_thread(make_released);
    CHECK_EQ(starts, N + 1);
    CHECK_EQ(started[0], 100);
    for (int i = 0; i < N; i++)
        CHECK_EQ(started[i + 1], N - 1 - i);
    return check_result();
}
