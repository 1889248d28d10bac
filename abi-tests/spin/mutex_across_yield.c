// what: a pthread mutex is held across a taskyield, an OpenMP lock and a critical while other threads block on it
// threads: 2,4,8,17
#include "check.h"
#include <pthread.h>
int main(void)
{
    int n = omp_get_max_threads(), inside = 0, count = 0;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel shared(inside, count)
    for (int round = 0; round < 30; round++) {
        pthread_mutex_lock(&mutex);
        CHECK_EQ(++inside, 1);
#pragma omp taskyield
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
#pragma omp critical
        count++;
        CHECK_EQ(inside--, 1);
        pthread_mutex_unlock(&mutex);
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
    }
    CHECK_EQ(count, 90 * n);
    omp_destroy_lock(&lock);
    return check_result();
}
