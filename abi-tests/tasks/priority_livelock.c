// what: tasks of high priority that no thread may start at the moment keep nobody from those of lower priority
// threads: 2,3,4,8,17
// env: OMP_MAX_TASK_PRIORITY=100
// peers: libomp fails, because a thread that may not start the task of the highest priority looks no further (llvm#97816)
// peers: libgomp fails, because it crashes in taskwait when children with priorities have children themselves (seen in 12)
#include "priority.h"

/* The deeper, the lower: what a waiting thread may start has always a lower priority than what others have
 * left. */
static int tree(int depth)
{
    if (depth == 0)
        return 1;
    int sum[3] = {0};
    for (int i = 0; i < 3; i++) {
#pragma omp task shared(sum) firstprivate(i, depth) priority(depth)
        sum[i] = tree(depth - 1);
    }
#pragma omp taskwait
    return sum[0] + sum[1] + sum[2];
}

/* Every thread waits in a task of its own while more of high priority than it can count are ready. */
static int ended;
static void crowd(void)
{
    for (int i = 0; i < 1000; i++) {
#pragma omp task priority(50)
        {
            for (int k = 0; k < 3; k++) {
#pragma omp task priority(k)
                __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
            }
#pragma omp taskwait
        }
    }
}

/* Untied tasks of high priority, more than threads, that poll for what a task of low priority does. */
static int happened, polled;
static void pollers(void)
{
    for (int i = 0; i < 20; i++) {
#pragma omp task untied priority(9)
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
    int leaves = 0;
#pragma omp parallel
    {
#pragma omp single
        leaves = tree(8);
#pragma omp single
        crowd();
#pragma omp single
        pollers();
    }
    CHECK_EQ(leaves, 6561);
    CHECK_EQ(ended, 3000);
    CHECK_EQ(polled, 20);
    return check_result();
}
