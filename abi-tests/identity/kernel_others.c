// what: what a thread sets for another thread of its team, by number or by pthread_t, is that thread's, and others are told so
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

enum { MOST = 64, ROUNDS = 10, BEST_EFFORT = 2 << 13, KINDS = 4 };
static const char *const names[KINDS] = {"setpriority", "ioprio_set", "pthread_setschedparam",
                                         "pthread_setname_np"};
static pthread_t threads[MOST];
static pid_t numbers[MOST];

static long wanted(int kind, int thread)
{
    switch (kind) {
    case 0: return 1 + thread % 5;
    case 1: return BEST_EFFORT | thread % 8;
    case 2: return thread % 2 ? SCHED_BATCH : SCHED_IDLE;
    default: return thread;
    }
}

static int set(int kind, int thread)
{
    long value = wanted(kind, thread);
    struct sched_param none = {0};
    char name[16];
    switch (kind) {
    case 0: return setpriority(PRIO_PROCESS, (id_t)numbers[thread], (int)value);
    case 1: return (int)syscall(SYS_ioprio_set, 1, numbers[thread], value);
    case 2: return pthread_setschedparam(threads[thread], (int)value, &none);
    default:
        snprintf(name, sizeof name, "thread %ld", value);
        return pthread_setname_np(threads[thread], name);
    }
}

/* As the kernel has it for `number`; zero: the caller. */
static long get(int kind, int thread, int by_number)
{
    pid_t number = by_number ? numbers[thread] : 0;
    char name[16] = "";
    switch (kind) {
    case 0: return getpriority(PRIO_PROCESS, (id_t)number);
    case 1: return syscall(SYS_ioprio_get, 1, number);
    case 2: return sched_getscheduler(number);
    default:
        pthread_getname_np(by_number ? threads[thread] : pthread_self(), name, sizeof name);
        return strncmp(name, "thread ", 7) ? -1 : atol(name + 7);
    }
}

int main(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        int wrong = 0, wrong_from_outside = 0;
#pragma omp parallel reduction(+ : wrong, wrong_from_outside)
        {
            int me = omp_get_thread_num(), other = (me + 1) % omp_get_num_threads();
            threads[me] = pthread_self();
            numbers[me] = gettid();
#pragma omp barrier
            /* The first thread keeps what it has: it could not get all of it back. */
            if (other)
                wrong += set(kind, other) != 0;
#pragma omp barrier
            for (int round = 0; round < ROUNDS; round++) {
                wrong += me && get(kind, me, 0) != wanted(kind, me);
                wrong_from_outside += other && get(kind, other, 1) != wanted(kind, other);
#pragma omp barrier
            }
        }
        if (wrong || wrong_from_outside)
            printf("%s: %d wrong for itself, %d for others\n", names[kind], wrong, wrong_from_outside);
        CHECK_EQ(wrong, 0);
        CHECK_EQ(wrong_from_outside, 0);
    }
    return check_result();
}
