// what: the program's own threads enter regions at the same time, each an initial thread of its own
#include "check.h"
#include <pthread.h>
static void *body(void *argument)
{
    long id = (long)argument, sum = 0;
    CHECK_EQ(omp_get_level(), 0);
    CHECK_EQ(omp_get_thread_num(), 0);
    for (int round = 0; round < 30; round++) {
#pragma omp parallel num_threads(3) reduction(+ : sum)
        {
            sum += omp_get_thread_num() + id;
#pragma omp barrier
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 10; i++)
                sum += i;
#pragma omp task shared(sum)
            {
            }
        }
    }
    CHECK_EQ(sum, 30 * (3 + 3 * id + 45));
    return NULL;
}
int main(void)
{
    pthread_t threads[8];
    for (int round = 0; round < 5; round++) {
        for (long i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, body, (void *)i);
        body((void *)9L);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
    }
    return check_result();
}
