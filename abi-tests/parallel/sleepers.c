// what: threads that have gone to sleep are woken: at a barrier, at the end of a region, before the next one, in taskwait
// threads: 2,4
#include "check.h"
#include <unistd.h>

/* Longer than any thread looks for before it sleeps. */
static void rest(void)
{
    usleep(20000);
}

int main(void)
{
    int n = omp_get_max_threads();
    for (int round = 0; round < 3; round++) {
        int before = 0, after = 0, done = 0;
        rest(); /* the members sleep between regions */
#pragma omp parallel num_threads(n)
        {
            if (omp_get_thread_num() == round % n)
                rest();
#pragma omp atomic
            before++;
#pragma omp barrier
#pragma omp atomic
            after += before;
            if (omp_get_thread_num() == n - 1)
                rest(); /* thread 0 sleeps at the end */
        }
        CHECK_EQ(after, n * n);
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp task shared(done)
            {
                rest();
                done = 1;
            }
            usleep(5000); /* somebody else takes the task */
#pragma omp taskwait
            CHECK_EQ(done, 1);
        }
    }
    return check_result();
}
