// what: pthread_getspecific and pthread_self belong to the OpenMP thread, also for keys beyond the first block
// threads: 1,4,8,17
#include "identity.h"
#include <pthread.h>
enum { KEYS = 40 };
static pthread_key_t keys[KEYS];
static __attribute__((noinline)) void verify(int id, pthread_t self)
{
    __asm__ volatile("" ::: "memory");
    CHECK(pthread_equal(self, pthread_self()));
    for (int k = 0; k < KEYS; k++)
        CHECK_EQ((long)pthread_getspecific(keys[k]), 100 * id + k + 1);
}
int main(void)
{
    int n = omp_get_max_threads();
    pthread_t selves[64];
    for (int k = 0; k < KEYS; k++)
        CHECK_EQ(pthread_key_create(&keys[k], NULL), 0);
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        selves[id] = pthread_self();
        for (int k = 0; k < KEYS; k++)
            pthread_setspecific(keys[k], (void *)(100L * id + k + 1));
        for (int round = 0; round < 20; round++) {
#pragma omp barrier
            verify(id, selves[id]);
#pragma omp critical
            verify(id, selves[id]);
        }
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            CHECK(!pthread_equal(selves[i], selves[k]));
    return check_result();
}
