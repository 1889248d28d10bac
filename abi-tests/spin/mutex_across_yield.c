// what: a pthread mutex is held across a taskyield, an OpenMP lock and a critical while other threads block on it
// threads: 2,4,8,17
#include "check.h"
#include <pthread.h>
int main(void)
{
    int n = omp_get_max_threads(), inside = 0, locked = 0, critical = 0;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel shared(inside, locked, critical)
    for (int round = 0; round < 30; round++) {
        pthread_mutex_lock(&mutex);
        CHECK_EQ(++inside, 1);
#pragma omp taskyield
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
#pragma omp critical
        critical++;
        CHECK_EQ(inside--, 1);
        pthread_mutex_unlock(&mutex);
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
    }
    CHECK_EQ(locked, 60 * n);
    CHECK_EQ(critical, 30 * n);
    omp_destroy_lock(&lock);
    return check_result();
}
