// what: a thread that binds itself, or is bound by another one, runs where it is bound to and is told so, between barriers and in the next region
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

enum { ROUNDS = 30, MOST = 64 };
static int cpus[MOST], count, wrong, elsewhere, refused;
static pthread_t threads[MOST];

static void bind_to(int way, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    int failed = way == 0   ? sched_setaffinity(0, sizeof set, &set)
                 : way == 1 ? pthread_setaffinity_np(pthread_self(), sizeof set, &set)
                 : way == 2 ? sched_setaffinity(gettid(), sizeof set, &set)
                            : syscall(SYS_sched_setaffinity, 0, sizeof set, &set) < 0;
    __atomic_fetch_add(&refused, failed != 0, __ATOMIC_RELAXED);
}

static void look(int way, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    int failed = way == 0   ? sched_getaffinity(0, sizeof set, &set)
                 : way == 1 ? pthread_getaffinity_np(pthread_self(), sizeof set, &set)
                 : way == 2 ? sched_getaffinity(gettid(), sizeof set, &set)
                            : syscall(SYS_sched_getaffinity, 0, sizeof set, &set) < 0;
    int bad = failed || CPU_COUNT(&set) != 1 || !CPU_ISSET(cpu, &set);
    __atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
    __atomic_fetch_add(&elsewhere, sched_getcpu() != cpu, __ATOMIC_RELAXED);
}

int main(void)
{
    cpu_set_t all;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE && count < MOST; cpu++)
        if (CPU_ISSET(cpu, &all))
            cpus[count++] = cpu;
    for (int way = 0; way < 4; way++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num(), mine = cpus[(me + way) % count];
            bind_to(way, mine);
#pragma omp barrier
            for (int round = 0; round < ROUNDS; round++) {
                look(way, mine);
#pragma omp barrier
            }
        }
        /* the same threads go on as they were */
#pragma omp parallel
        look(way, cpus[(omp_get_thread_num() + way) % count]);
    }
    CHECK_EQ(refused, 0);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(elsewhere, 0);
    /* one thread binds the others */
    int bound = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        threads[me] = pthread_self();
#pragma omp barrier
        if (me == 0)
            for (int t = 1; t < n; t++) {
                cpu_set_t set, now;
                CPU_ZERO(&set);
                CPU_SET(cpus[(t + 1) % count], &set);
                int bad = pthread_setaffinity_np(threads[t], sizeof set, &set) != 0;
                bad |= pthread_getaffinity_np(threads[t], sizeof now, &now) != 0 || !CPU_EQUAL(&set, &now);
                wrong += bad;
                bound++;
            }
#pragma omp barrier
        if (me)
            look(0, cpus[(me + 1) % count]);
        CHECK_EQ(bound, n - 1);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(elsewhere, 0);
    /* a mask without any processor is refused, and changes nothing */
#pragma omp parallel
    {
        cpu_set_t none, before, now;
        CPU_ZERO(&none);
        sched_getaffinity(0, sizeof before, &before);
        CHECK(sched_setaffinity(0, sizeof none, &none) == -1 && errno == EINVAL);
        CHECK(pthread_setaffinity_np(pthread_self(), sizeof none, &none) == EINVAL);
        sched_getaffinity(0, sizeof now, &now);
        CHECK(CPU_EQUAL(&before, &now));
    }
    return check_result();
}
