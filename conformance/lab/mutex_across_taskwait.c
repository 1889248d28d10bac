// waits: threads, in pthread_mutex_lock, for one that holds the mutex over a taskwait for its children
// free: from 1
#include "lab.h"
#include <pthread.h>

int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#pragma omp parallel shared(sum, mutex)
    for (int round = 0; round < 4; round++) {
        int children = 0;
        pthread_mutex_lock(&mutex);
        for (int i = 1; i <= 3; i++)
#pragma omp task shared(children) firstprivate(i)
            ADD(children, i);
#pragma omp taskwait
        sum += children;
        pthread_mutex_unlock(&mutex);
    }
    return answer(sum, 24 * n);
}
