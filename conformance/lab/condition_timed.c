// waits: all threads but the last in pthread_cond_timedwait, far from its end, for the last, which waits until all are in
// free: from 1
#include "lab.h"
#include <pthread.h>
#include <time.h>

/* Not locals of main: gcc takes what a region shares by a restricted pointer and may not look again behind a
 * wait. */
static int in, opened, late;
int main(void)
{
    int n = omp_get_max_threads();
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 600;
#pragma omp parallel shared(mutex, changed)
    {
        pthread_mutex_lock(&mutex);
        in++;
        pthread_cond_broadcast(&changed);
        if (omp_get_thread_num() == n - 1) {
            while (in < n)
                pthread_cond_timedwait(&changed, &mutex, &end);
            opened = in;
            pthread_cond_broadcast(&changed);
        }
        while (!opened)
            late += pthread_cond_timedwait(&changed, &mutex, &end) != 0;
        pthread_mutex_unlock(&mutex);
    }
    return answer(opened * 10 + late, n * 10);
}
