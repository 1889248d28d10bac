// waits: PREMA, Figure 7: tasks, in a condition variable, for a task on another thread that signals them one by one and waits until each has answered
// free: from 1
#include "lab.h"
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* Not locals of main: gcc takes what a task shares by a restricted pointer and may not look again behind a
 * wait. */
static int called, answers;
int main(void)
{
    int n = omp_get_max_threads();
#pragma omp parallel
#pragma omp single
    {
        for (int i = 1; i < n; i++)
#pragma omp task firstprivate(i)
        {
            pthread_mutex_lock(&mutex);
            while (called < i)
                pthread_cond_wait(&changed, &mutex);
            answers++;
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&mutex);
        }
#pragma omp task
        for (int i = 1; i < n; i++) {
            pthread_mutex_lock(&mutex);
            called = i;
            pthread_cond_broadcast(&changed);
            while (answers < i)
                pthread_cond_wait(&changed, &mutex);
            pthread_mutex_unlock(&mutex);
        }
    }
    return answer(10 * answers + called, 11 * (n - 1));
}
