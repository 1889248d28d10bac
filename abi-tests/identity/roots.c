// what: threads of two roots that run regions at the same time have thread-local storage of their own, and it persists
// threads: 2,4,8
#include "identity.h"
#include <pthread.h>
static int number;
#pragma omp threadprivate(number)
static pthread_barrier_t both;
static const void *address[128];
static void *root(void *argument)
{
    int which = argument != NULL, n = omp_get_max_threads();
    for (int round = 0; round < 5; round++) {
#pragma omp parallel num_threads(n)
        {
            int id = omp_get_thread_num();
            number = 1000 * which + 100 * round + id;
            address[which * n + id] = &number;
        }
        pthread_barrier_wait(&both); /* both teams are kept meanwhile */
        if (which)
            CHECK(distinct(address, 2 * n));
        pthread_barrier_wait(&both);
#pragma omp parallel num_threads(n)
        {
            int id = omp_get_thread_num();
#pragma omp barrier
            CHECK_EQ(number, 1000 * which + 100 * round + id);
        }
    }
    return NULL;
}
int main(void)
{
    pthread_t other;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&other, NULL, root, &other);
    root(NULL);
    pthread_join(other, NULL);
    return check_result();
}
