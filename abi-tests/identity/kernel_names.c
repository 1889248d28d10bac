// what: a thread that names itself has that name, and neither its neighbours nor the process have it
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "check.h"

enum { ROUNDS = 30 };

static int is_named(const char *name)
{
    char one[16] = "", other[16] = "";
    return pthread_getname_np(pthread_self(), one, sizeof one) == 0 && prctl(PR_GET_NAME, other) == 0 &&
           !strcmp(one, name) && !strcmp(other, name);
}

/* The name of a kernel thread of this process, as other programs see it. */
static void name_of(int thread, char name[32])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
    FILE *file = fopen(path, "r");
    name[0] = 0;
    if (file) {
        if (!fgets(name, 32, file))
            name[0] = 0;
        fclose(file);
        name[strcspn(name, "\n")] = 0;
    }
}

int main(void)
{
    int wrong = 0, seen = 0, renamed = 0;
    char process[32], now[32];
    name_of(getpid(), process);
    /* Before threads have names of their own they have the program's. */
#pragma omp parallel reduction(+ : wrong)
    wrong += !is_named(process);
    CHECK_EQ(wrong, 0);
#pragma omp parallel reduction(+ : wrong, seen)
    {
        int me = omp_get_thread_num();
        char mine[16], outside[32];
        snprintf(mine, sizeof mine, "thread %d", me);
        if (me == 0)
            snprintf(mine, sizeof mine, "%.15s", process);
        else if (me % 2)
            wrong += pthread_setname_np(pthread_self(), mine) != 0;
        else
            wrong += prctl(PR_SET_NAME, mine) != 0;
#pragma omp barrier
        for (int round = 0; round < ROUNDS; round++) {
            wrong += !is_named(mine);
#pragma omp barrier
        }
        name_of(gettid(), outside);
        seen += !strcmp(outside, mine);
        wrong += pthread_setname_np(pthread_self(), "a name of 16 ch.") != ERANGE;
        char small[8];
        wrong += pthread_getname_np(pthread_self(), small, sizeof small) != ERANGE;
#pragma omp barrier
#pragma omp master
        {
            name_of(getpid(), now);
            renamed = strcmp(now, process) != 0;
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(renamed, 0);
    CHECK_EQ(seen, omp_get_max_threads());
    return check_result();
}
