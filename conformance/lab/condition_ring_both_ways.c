// waits: every thread, in a condition variable of its own, for two tokens that go round the team against each other
// free: from 1
#include "lab.h"
#include <pthread.h>

enum { ROUNDS = 5 };
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    int tokens[2];
} at[MOST];
int main(void)
{
    int n = omp_get_max_threads(), hops = 0;
    for (int i = 0; i < n; i++) {
        pthread_mutex_init(&at[i].mutex, NULL);
        pthread_cond_init(&at[i].came, NULL);
    }
    at[0].tokens[0] = at[n - 1].tokens[1] = 1;
#pragma omp parallel shared(at, hops)
    {
        int me = omp_get_thread_num();
        for (int taken[2] = {0, 0}; taken[0] + taken[1] < 2 * ROUNDS;) {
            pthread_mutex_lock(&at[me].mutex);
            while (!(at[me].tokens[0] && taken[0] < ROUNDS) && !(at[me].tokens[1] && taken[1] < ROUNDS))
                pthread_cond_wait(&at[me].came, &at[me].mutex);
            int way = !(at[me].tokens[0] && taken[0] < ROUNDS), next = (me + (way ? n - 1 : 1)) % n;
            at[me].tokens[way]--;
            pthread_mutex_unlock(&at[me].mutex);
            taken[way]++;
            ADD(hops, 1);
            pthread_mutex_lock(&at[next].mutex);
            at[next].tokens[way]++;
            pthread_cond_signal(&at[next].came);
            pthread_mutex_unlock(&at[next].mutex);
        }
    }
    return answer(hops, 2L * n * ROUNDS);
}
