// waits: all threads of a team and a pthread that has no region for one another in a pthread_barrier
// free: from 1
#include "lab.h"
#include <pthread.h>

static pthread_barrier_t all;
static int word;
static void *plain(void *unused)
{
    for (int round = 1; round <= 3; round++) {
        STORE(word, round);
        pthread_barrier_wait(&all);
        pthread_barrier_wait(&all);
    }
    return unused;
}
int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
    pthread_t other;
    pthread_barrier_init(&all, NULL, (unsigned)n + 1);
    pthread_create(&other, NULL, plain, NULL);
#pragma omp parallel reduction(+ : sum)
    for (int round = 1; round <= 3; round++) {
        pthread_barrier_wait(&all);
        sum += LOAD(word);
        pthread_barrier_wait(&all);
    }
    pthread_join(other, NULL);
    return answer(sum, 6 * n);
}
