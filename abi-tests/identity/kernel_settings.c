// what: nice value, I/O priority, timer slack, personality and file system user are those of the thread that has set them
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

enum { ROUNDS = 20, KINDS = 7, BEST_EFFORT = 2 << 13 };
static const char *const names[KINDS] = {"setpriority", "timer slack", "I/O priority", "personality", "setfsuid", "setfsgid", "setpriority of the own number"};

/* What thread `me` sets. The first thread leaves everything as it is. */
static long wanted(int kind, int me)
{
    switch (kind) {
    case 0: case 6: return 1 + me % 5;
    case 1: return 60000 + me;
    case 2: return BEST_EFFORT | me % 8;
    case 3: return me % 2 ? ADDR_NO_RANDOMIZE : 0;
    default: return 1000 + me;
    }
}

static int set(int kind, long value)
{
    switch (kind) {
    case 0: return setpriority(PRIO_PROCESS, 0, (int)value);
    case 1: return prctl(PR_SET_TIMERSLACK, value);
    case 2: return (int)syscall(SYS_ioprio_set, 1, 0, value);
    case 3: return personality((unsigned long)value) < 0;
    case 4: setfsuid((uid_t)value); return 0;
    case 5: setfsgid((gid_t)value); return 0;
    default: return setpriority(PRIO_PROCESS, (id_t)gettid(), (int)value);
    }
}

static long get(int kind)
{
    switch (kind) {
    case 0: case 6: return getpriority(PRIO_PROCESS, 0);
    case 1: return prctl(PR_GET_TIMERSLACK);
    case 2: return syscall(SYS_ioprio_get, 1, 0);
    case 3: return personality(0xffffffff);
    case 4: return setfsuid((uid_t)-1);
    default: return setfsgid((gid_t)-1);
    }
}

int main(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        /* what cannot be set back, or not at all, by this user */
        long before = get(kind);
        if (set(kind, wanted(kind, 1)) != 0 || get(kind) != wanted(kind, 1) || set(kind, before) != 0 || get(kind) != before) {
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
