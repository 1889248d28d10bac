// what: a mutex that passes priorities on belongs to a kernel thread, so threads that lock one each have a kernel thread
// timeout: 60
#include "check.h"
#include <pthread.h>
#include <unistd.h>
enum { ROUNDS = 200 };
static pthread_mutex_t mutex;
static int count, failed, inside;
static void add(void)
{
    if (pthread_mutex_lock(&mutex) != 0)
#pragma omp atomic
        failed++;
    /* nobody else is inside, also if the thread sleeps there */
    if (inside++ != 0)
        failed++;
    if (++count % 16 == 0)
        usleep(100);
    inside--;
    if (pthread_mutex_unlock(&mutex) != 0)
#pragma omp atomic
        failed++;
}
int main(void)
{
    /* before the process has asked for such a mutex, as after it */
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads++;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    CHECK_EQ(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT), 0);
    int protocol = -1;
    CHECK_EQ(pthread_mutexattr_getprotocol(&attributes, &protocol), 0);
    CHECK_EQ(protocol, PTHREAD_PRIO_INHERIT);
    CHECK_EQ(pthread_mutex_init(&mutex, &attributes), 0);
#pragma omp parallel
    for (int i = 0; i < ROUNDS; i++)
        add();
    CHECK_EQ(count, threads * ROUNDS);
    omp_set_max_active_levels(2);
    count = 0;
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
    for (int i = 0; i < ROUNDS; i++)
        add();
    CHECK_EQ(count, omp_get_max_threads() == 1 ? 2 * 2 * ROUNDS : 4 * ROUNDS);
    CHECK_EQ(failed, 0);
    return check_result();
}
