// waits: one thread holds a pthread mutex over an omp barrier; after the barrier the others block on it until it comes back from a second wait, a spinning one for all to have tried
// free: from 1
#include "lab.h"
#include <pthread.h>

int main(void)
{
    int n = omp_get_max_threads(), tried = 0, word = 0, sum = 0;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#pragma omp parallel shared(tried, word, sum, mutex)
    {
        int owner = omp_get_thread_num() == n / 2;
        if (owner)
            pthread_mutex_lock(&mutex);
#pragma omp barrier
        if (owner) {
            SPIN_UNTIL(LOAD(tried) == n - 1);
            word = 7;
        } else {
            ADD(tried, 1);
            pthread_mutex_lock(&mutex);
        }
        sum += word;
        pthread_mutex_unlock(&mutex);
    }
    return answer(sum, 7 * n);
}
