/* The body of spin/pthread_barrier*.c. */
#include "check.h"
#include <pthread.h>
int main(void)
{
    int n = omp_get_max_threads(), serial = 0, last = -1;
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
#pragma omp parallel shared(last) reduction(+ : serial)
    for (int round = 0; round < 50; round++) {
        if (omp_get_thread_num() == round % n)
            last = round;
        serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
        CHECK_EQ(last, round);
        serial += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    }
    CHECK_EQ(serial, 100);
    pthread_barrier_destroy(&barrier);
    return check_result();
}
