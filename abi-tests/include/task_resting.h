/* Thread 1 waits for the end of the region; its worker takes up a thread of the region that thread 2 forks.
 * All others spin. */
#include "check.h"

static int get(int *flag)
{
    return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void set(int *flag)
{
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
}

static void spin(int *flag)
{
    while (!get(flag))
        ;
}

static void share(int *started, int *done)
{
    if (omp_get_thread_num() == 0) {
        spin(started);
#pragma omp task
        set(done);
        spin(done);
    } else if (omp_get_thread_num() == 2) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 1)
                set(started);
            spin(done);
        }
    }
}

int main(void)
{
    omp_set_max_active_levels(2);
    for (int round = 0; round < 10; round++) {
        int started = 0, done = 0;
#pragma omp parallel num_threads(3)
        share(&started, &done);
        CHECK(done);
    }
    return check_result();
}
