// waits: the regions of two roots, pthreads of the program, for one another: thread i of one, spinning, for thread i of the other
// free: from 1
#include "lab.h"
#include <pthread.h>

static int turn[2][MOST], sum;
static void *root(void *which)
{
    int me = which != NULL;
#pragma omp parallel
    {
        int i = omp_get_thread_num();
        STORE(turn[me][i], i + 1);
        SPIN_UNTIL(LOAD(turn[1 - me][i]));
        ADD(sum, LOAD(turn[1 - me][i]));
    }
    return NULL;
}
int main(void)
{
    int n = omp_get_max_threads();
    pthread_t other;
    pthread_create(&other, NULL, root, &sum);
    root(NULL);
    pthread_join(other, NULL);
    return answer(sum, (long)n * (n + 1));
}
