/* The body of identity/threadprivate_blocking*.c: regions whose threads sleep in the kernel for each other,
 * among regions that do not. */
#include "identity.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#ifndef ROUNDS
#define ROUNDS 30
#endif
static int number, copied;
static long series[16];
#pragma omp threadprivate(number, series, copied)
static const void *numbers[64];
static int *errnos[64];
static pthread_barrier_t meeting;
static int threads;
static void set(int round)
{
    int id = omp_get_thread_num();
    number = 1000 * round + id;
    for (int k = 0; k < 16; k++)
        series[k] = 100 * id + k + round;
}
static void verify(int round)
{
    int id = omp_get_thread_num();
    CHECK_EQ(omp_get_num_threads(), threads);
    CHECK_EQ(number, 1000 * round + id);
    CHECK(numbers[id] == &number);
    CHECK(errnos[id] == errno_now());
    for (int k = 0; k < 16; k++)
        CHECK_EQ(series[k], 100 * id + k + round);
}
/* No thread goes on before all have slept here, on as many kernel threads. */
static void meet(void)
{
    pthread_barrier_wait(&meeting);
}
static void plain_set(int round)
{
#pragma omp parallel
    {
        set(round);
#pragma omp barrier
        CHECK_EQ(number, 1000 * round + omp_get_thread_num());
    }
}
static void plain_verify(int round)
{
#pragma omp parallel
    verify(round);
}
static void sleeping_set(int round)
{
#pragma omp parallel
    {
        set(round);
        meet();
        CHECK_EQ(number, 1000 * round + omp_get_thread_num());
    }
}
static void sleeping_verify(int round)
{
#pragma omp parallel
    {
        verify(round);
        meet();
        verify(round);
    }
}
/* Tasks of the thread that makes them see its storage; those that others take see that of who runs them. */
static void sleeping_tasks(int round)
{
    int done = 0;
#pragma omp parallel
    {
        meet();
        verify(round);
#pragma omp single nowait
        for (int k = 0; k < 40; k++) {
#pragma omp task shared(done)
            {
                CHECK_EQ(number, 1000 * round + omp_get_thread_num());
                verify(round);
#pragma omp taskyield
                CHECK_EQ(number, 1000 * round + omp_get_thread_num());
#pragma omp atomic
                done++;
            }
        }
    }
    CHECK_EQ(done, 40);
}
/* The tasks come when the other threads have nothing more to do in the region, and need all of them. */
static void late_tasks(int round)
{
    int seen[64] = {0};
#pragma omp parallel
    {
        meet();
        if (omp_get_thread_num() == 0) {
            usleep(500);
            for (int k = 0; k < threads; k++) {
#pragma omp task shared(seen)
                {
                    meet();
                    seen[omp_get_thread_num()]++;
                    verify(round);
                }
            }
        }
    }
    for (int id = 0; id < threads; id++)
        CHECK_EQ(seen[id], 1);
}
static void copies(int round)
{
    copied = round;
#pragma omp parallel copyin(copied)
    {
        meet();
        CHECK_EQ(copied, round);
        copied += omp_get_thread_num();
    }
#pragma omp parallel
    CHECK_EQ(copied, round + omp_get_thread_num());
    copied = -round;
#pragma omp parallel copyin(copied)
    CHECK_EQ(copied, -round);
#pragma omp parallel
    {
        CHECK_EQ(copied, -round);
        meet();
    }
}
static void inside(int round)
{
#pragma omp parallel
    {
        meet();
        verify(round);
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0)
            CHECK_EQ(number, 1000 * round + omp_get_ancestor_thread_num(1));
        else
            number = -1;
        verify(round);
    }
}
#ifdef OTHER_ROOT
static int ended;
/* Its threads start, and wait, where those of the other root sleep. */
static void *other_root(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
#pragma omp parallel num_threads(3)
        {
            number = -5;
#pragma omp barrier
            CHECK_EQ(number, -5);
        }
        usleep(200);
    }
    return NULL;
}
#endif
int main(void)
{
    threads = omp_get_max_threads();
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
    pthread_barrier_init(&meeting, NULL, (unsigned)threads);
#pragma omp parallel
    {
        numbers[omp_get_thread_num()] = &number;
        errnos[omp_get_thread_num()] = errno_now();
#pragma omp barrier
#pragma omp single
        CHECK(distinct(numbers, threads) && distinct((const void *const *)errnos, threads));
    }
#ifdef OTHER_ROOT
    pthread_t other;
    CHECK_EQ(pthread_create(&other, NULL, other_root, NULL), 0);
#endif
    for (int round = 1; round <= ROUNDS; round++) {
        plain_set(round);
        sleeping_verify(round);
        plain_verify(round);
        sleeping_verify(round);
        sleeping_verify(round);
        sleeping_set(-round);
        plain_verify(-round);
        sleeping_verify(-round);
        sleeping_tasks(-round);
        plain_verify(-round);
        sleeping_verify(-round);
        late_tasks(-round);
        plain_verify(-round);
        inside(-round);
        copies(round);
        plain_verify(-round);
    }
#ifdef OTHER_ROOT
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
#endif
    return check_result();
}
