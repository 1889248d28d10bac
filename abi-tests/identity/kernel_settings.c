// what: nice value, I/O priority, timer slack, personality, file system user, scheduling and memory policy and the GS base are those of the thread that has set them
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

enum { ROUNDS = 20, KINDS = 12, BEST_EFFORT = 2 << 13, SET_GS = 0x1001, GET_GS = 0x1004 };
static const char *const names[KINDS] = {"setpriority",
                                         "timer slack",
                                         "I/O priority",
                                         "personality",
                                         "setfsuid",
                                         "setfsgid",
                                         "setpriority of the own number",
                                         "sched_setscheduler",
                                         "sched_setscheduler of the own number",
                                         "pthread_setschedparam",
                                         "set_mempolicy",
                                         "GS base"};

/* What thread `me` sets. The first thread leaves everything as it is. */
static long wanted(int kind, int me)
{
    switch (kind) {
    case 0:
    case 6: return 1 + me % 5;
    case 1: return 60000 + me;
    case 2: return BEST_EFFORT | me % 8;
    case 3: return me % 2 ? ADDR_NO_RANDOMIZE : 0;
    case 7:
    case 8:
    case 9: return me % 2 ? SCHED_BATCH : SCHED_IDLE;
    case 10: return me % 2 ? 1 : 2; /* preferred, bound to, node 0 */
    default: return 1000 + me;
    }
}

static int set(int kind, long value)
{
    struct sched_param none = {0};
    unsigned long node = 1;
    switch (kind) {
    case 0: return setpriority(PRIO_PROCESS, 0, (int)value);
    case 1: return prctl(PR_SET_TIMERSLACK, value);
    case 2: return (int)syscall(SYS_ioprio_set, 1, 0, value);
    case 3: return personality((unsigned long)value) < 0;
    case 4: setfsuid((uid_t)value); return 0;
    case 5: setfsgid((gid_t)value); return 0;
    case 6: return setpriority(PRIO_PROCESS, (id_t)gettid(), (int)value);
    case 7: return sched_setscheduler(0, (int)value, &none);
    case 8: return sched_setscheduler(gettid(), (int)value, &none);
    case 9: return pthread_setschedparam(pthread_self(), (int)value, &none);
    case 10: return (int)syscall(SYS_set_mempolicy, value, value ? &node : NULL, value ? 8 * sizeof node : 0);
    default: return (int)syscall(SYS_arch_prctl, SET_GS, value);
    }
}

static long get(int kind)
{
    struct sched_param scheduling;
    unsigned long base = 0;
    int policy = -1;
    switch (kind) {
    case 0: return getpriority(PRIO_PROCESS, 0);
    case 6: return getpriority(PRIO_PROCESS, (id_t)gettid());
    case 1: return prctl(PR_GET_TIMERSLACK);
    case 2: return syscall(SYS_ioprio_get, 1, 0);
    case 3: return personality(0xffffffff);
    case 4: return setfsuid((uid_t)-1);
    case 5: return setfsgid((gid_t)-1);
    case 7: return sched_getscheduler(0);
    case 8: return sched_getscheduler(gettid());
    case 9: return pthread_getschedparam(pthread_self(), &policy, &scheduling) ? -1 : policy;
    case 10: return syscall(SYS_get_mempolicy, &policy, NULL, 0, NULL, 0) ? -1 : policy;
    default: return syscall(SYS_arch_prctl, GET_GS, &base) ? -1 : (long)base;
    }
}

int main(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        /* what cannot be set back, or not at all, by this user or on this machine */
        long before = get(kind);
        if (set(kind, wanted(kind, 1)) != 0 || get(kind) != wanted(kind, 1) || set(kind, before) != 0 ||
            get(kind) != before) {
            printf("%s: not for this user\n", names[kind]);
            continue;
        }
        int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
        {
            int me = omp_get_thread_num();
            long mine = me ? wanted(kind, me) : before;
            if (me)
                wrong += set(kind, mine) != 0;
#pragma omp barrier
            for (int round = 0; round < ROUNDS; round++) {
                wrong += get(kind) != mine;
#pragma omp barrier
            }
            set(kind, before);
        }
        if (wrong)
            printf("%s: %d wrong\n", names[kind], wrong);
        CHECK_EQ(wrong, 0);
        CHECK_EQ(get(kind), before);
    }
    CHECK(1);
    return check_result();
}
