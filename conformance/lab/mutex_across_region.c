// waits: threads, in pthread_mutex_lock, for one that holds the mutex over a whole inner region with a barrier
// free: from 1
#include "lab.h"
#include <pthread.h>

int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    omp_set_max_active_levels(2);
#pragma omp parallel shared(sum, mutex)
    for (int round = 0; round < 2; round++) {
        int before = 0, after = 0;
        pthread_mutex_lock(&mutex);
#pragma omp parallel num_threads(3) shared(before, after)
        {
            ADD(before, 1);
#pragma omp barrier
            ADD(after, LOAD(before));
        }
        sum += after;
        pthread_mutex_unlock(&mutex);
    }
    return answer(sum, 18 * n);
}
