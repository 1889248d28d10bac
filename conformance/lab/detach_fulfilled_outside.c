// waits: a taskwait for detached tasks whose events a pthread fulfills, after it has blocked for the last of the tasks to have run
// free: from 1
#include "lab.h"
#include <pthread.h>
#include <semaphore.h>

static omp_event_handle_t events[8];
static sem_t ran;
static int fulfilled;
static void *fulfill(void *unused)
{
    for (int i = 0; i < 8; i++)
        sem_wait(&ran);
    for (int i = 7; i >= 0; i--) {
        ADD(fulfilled, 1);
        omp_fulfill_event(events[i]);
    }
    return unused;
}
int main(void)
{
    int behind = 0;
    pthread_t other;
    sem_init(&ran, 0, 0);
    pthread_create(&other, NULL, fulfill, NULL);
#pragma omp parallel shared(behind)
#pragma omp single
    {
        for (int i = 0; i < 8; i++) {
            omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(i)
            {
                events[i] = event;
                sem_post(&ran);
            }
        }
#pragma omp taskwait
        behind = LOAD(fulfilled);
    }
    pthread_join(other, NULL);
    return answer(behind, 8);
}
