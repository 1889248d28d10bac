// what: a thread that waits in a tied task does not start a task of higher priority that does not descend from it
// threads: 2
// env: OMP_MAX_TASK_PRIORITY=9
#include "priority.h"
/* Thread 0 waits in a taskgroup of the outer task. Meanwhile thread 1 makes a task of high priority and runs
 * nothing. */
static int in_group, made, outer_done, stranger_early, ended;

static void outer_task(int rounds)
{
#pragma omp taskgroup
    {
#pragma omp task
        {
            set(&in_group, 1);
            CHECK(await(&made, 1));
        }
        for (int i = 0; i < rounds; i++) {
#pragma omp task
            {
#pragma omp task
                __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
#pragma omp taskwait
            }
        }
    }
    set(&outer_done, 1);
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp task
            outer_task(50);
#pragma omp taskwait
        } else {
            CHECK(await(&in_group, 1));
            for (int i = 0; i < 50; i++) {
#pragma omp task priority(i % 10)
                if (!__atomic_load_n(&outer_done, __ATOMIC_SEQ_CST))
                    __atomic_fetch_add(&stranger_early, 1, __ATOMIC_SEQ_CST);
            }
            set(&made, 1);
            CHECK(await(&outer_done, 1));
        }
    }
    CHECK_EQ(ended, 50);
    CHECK_EQ(stranger_early, 0);
    return check_result();
}
