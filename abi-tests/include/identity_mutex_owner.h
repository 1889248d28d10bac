/* The body of identity/mutex_owner*.c. */
#include "identity.h"
#include <pthread.h>
static pthread_mutex_t make(int type)
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutex_init(&mutex, &attributes);
    return mutex;
}
int main(void)
{
    int n = omp_get_max_threads();
    pthread_mutex_t recursive = make(PTHREAD_MUTEX_RECURSIVE), checking = make(PTHREAD_MUTEX_ERRORCHECK);
#pragma omp parallel
    for (int owner = 0; owner < n; owner++) {
        int owns = omp_get_thread_num() == owner;
        if (owns) {
            CHECK_EQ(pthread_mutex_lock(&recursive), 0);
            CHECK_EQ(pthread_mutex_lock(&checking), 0);
        }
#pragma omp barrier
        if (!owns) { /* the owner is on its way to the next barrier, or there */
            CHECK_EQ(pthread_mutex_trylock(&recursive), EBUSY);
            CHECK_EQ(pthread_mutex_trylock(&checking), EBUSY);
            CHECK_EQ(pthread_mutex_unlock(&checking), EPERM);
        }
#pragma omp barrier
        if (owns) {
            CHECK_EQ(pthread_mutex_trylock(&recursive), 0);
            CHECK_EQ(pthread_mutex_lock(&checking), EDEADLK);
            CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
        }
#pragma omp barrier
        if (!owns)
            CHECK_EQ(pthread_mutex_trylock(&recursive), EBUSY);
#pragma omp barrier
        if (owns) {
            CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
            CHECK_EQ(pthread_mutex_unlock(&checking), 0);
        }
    }
    CHECK_EQ(pthread_mutex_destroy(&recursive), 0);
    CHECK_EQ(pthread_mutex_destroy(&checking), 0);
    return check_result();
}
