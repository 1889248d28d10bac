// waits: three roots: the region of each, in a semaphore, for the region of the one before it; several rounds of regions
// free: from 1
#include "lab.h"
#include <pthread.h>
#include <semaphore.h>

enum { ROOTS = 3, ROUNDS = 4 };
static sem_t at[ROOTS];
static int passed;
static void *root(void *which)
{
    int me = *(int *)which;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        {
            if (omp_get_thread_num() == omp_get_num_threads() - 1)
                sem_wait(&at[me]);
#pragma omp barrier
            ADD(passed, 1);
#pragma omp barrier
#pragma omp masked
            sem_post(&at[(me + 1) % ROOTS]);
        }
    }
    return NULL;
}
int main(void)
{
    int names[ROOTS];
    pthread_t roots[ROOTS];
    for (int i = 0; i < ROOTS; i++)
        sem_init(&at[i], 0, i == 0);
    for (int i = 0; i < ROOTS; i++) {
        names[i] = i;
        pthread_create(&roots[i], NULL, root, &names[i]);
    }
    for (int i = 0; i < ROOTS; i++)
        pthread_join(roots[i], NULL);
    return answer(passed, (long)ROOTS * ROUNDS * omp_get_max_threads());
}
