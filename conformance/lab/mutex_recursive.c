// waits: threads in a recursive mutex for its owner, which takes it again in a chain of undeferred tasks
// free: from 1
#include "lab.h"
#include <pthread.h>

static pthread_mutex_t mutex;
static int depth(int left)
{
    int below = 0;
    pthread_mutex_lock(&mutex);
    if (left > 0) {
#pragma omp task if (0) shared(below)
        below = depth(left - 1);
    }
    pthread_mutex_unlock(&mutex);
    return below + 1;
}
int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &kind);
#pragma omp parallel reduction(+ : sum)
    for (int round = 0; round < 10; round++)
        sum += depth(5);
    return answer(sum, 60 * n);
}
