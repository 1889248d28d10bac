// waits: all threads for all: by turns in an omp barrier, in a spinning one and in a pthread_barrier
// free: from 1
#include "lab.h"
#include <pthread.h>

int main(void)
{
    int n = omp_get_max_threads(), came = 0, wrong = 0;
    struct meeting spin = {0, 0};
    pthread_barrier_t blocking;
    pthread_barrier_init(&blocking, NULL, (unsigned)n);
#pragma omp parallel shared(came, wrong, spin, blocking)
    for (int round = 0; round < 2; round++) {
        ADD(came, 1);
        meet(&spin, n);
        ADD(wrong, LOAD(came) < n * (3 * round + 1));
        ADD(came, 1);
        pthread_barrier_wait(&blocking);
        ADD(wrong, LOAD(came) < n * (3 * round + 2));
        ADD(came, 1);
#pragma omp barrier
        ADD(wrong, LOAD(came) < n * (3 * round + 3));
    }
    return answer(came + 1000 * wrong, 6 * n);
}
