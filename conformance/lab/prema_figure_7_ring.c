// waits: PREMA, Figure 7, as a ring: every task is woken by the task before it and wakes the one behind it, in semaphores, several times round
// free: from 1
#include "lab.h"
#include <semaphore.h>

enum { ROUNDS = 5 };
int main(void)
{
    int n = omp_get_max_threads(), passed = 0;
    sem_t at[MOST];
    for (int i = 0; i < n; i++)
        sem_init(&at[i], 0, i == 0);
#pragma omp parallel shared(at, passed)
#pragma omp single
    for (int i = 0; i < n; i++)
#pragma omp task shared(at, passed) firstprivate(i)
        for (int round = 0; round < ROUNDS; round++) {
            sem_wait(&at[i]);
            passed = passed * 3 % 10007 + i + round;
            sem_post(&at[(i + 1) % n]);
        }
    int expected = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n; i++)
            expected = expected * 3 % 10007 + i + round;
    return answer(passed, expected);
}
