/* The body of gang/root_in_region*.c. */
#include "check.h"
#include "spin.h"
#include <pthread.h>
static void *root(void *argument)
{
    int *sum = (int *)argument;
    struct spin_barrier barrier = {0, 0};
    CHECK_EQ(omp_get_level(), 0);
    for (int region = 0; region < 2; region++) {
#pragma omp parallel num_threads(2) shared(barrier)
        {
            CHECK_EQ(omp_get_num_threads(), 2);
            ADD(*sum, 1);
            spin_wait(&barrier, 2);
#pragma omp barrier
            CHECK_EQ(LOAD(*sum), 2 * region + 2);
#pragma omp barrier
        }
    }
    return NULL;
}
int main(void)
{
    int sums[64] = {0}, n = omp_get_max_threads();
#pragma omp parallel shared(sums)
    {
        int id = omp_get_thread_num();
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, root, &sums[id]), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(omp_get_thread_num(), id);
#pragma omp barrier
        CHECK_EQ(sums[(id + 1) % n], 4);
    }
    return check_result();
}
