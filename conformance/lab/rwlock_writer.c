// waits: a writer in pthread_rwlock_wrlock for all readers to leave, and the readers, inside, spinning for all others to be in
// free: from 1
#include "lab.h"
#include <pthread.h>

int main(void)
{
    int n = omp_get_max_threads(), in = 0, word = 0, sum = 0;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#pragma omp parallel shared(in, word, sum, lock)
    {
        if (omp_get_thread_num() == 0) {
            SPIN_UNTIL(LOAD(in) == n - 1);
            pthread_rwlock_wrlock(&lock);
            word = sum + 1;
            pthread_rwlock_unlock(&lock);
        } else {
            pthread_rwlock_rdlock(&lock);
            ADD(in, 1);
            SPIN_UNTIL(LOAD(in) == n - 1);
            ADD(sum, 2);
            pthread_rwlock_unlock(&lock);
        }
    }
    return answer(word, 2 * n - 1);
}
