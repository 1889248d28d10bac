// what: threads that join a team start with the kernel settings of the thread that forks it
// threads: 2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include "check.h"

enum { SLACK = 70000, ROUNDS = 10 };

int main(void)
{
    int threads = omp_get_max_threads(), old = threads > 2 ? 2 : 1, wrong = 0, slack_before = 0;
    cpu_set_t all, first;
#pragma omp parallel num_threads(old)
    slack_before = prctl(PR_GET_TIMERSLACK);

    sched_getaffinity(0, sizeof all, &all);
    int processor = 0;
    while (!CPU_ISSET(processor, &all))
        processor++;
    CPU_ZERO(&first);
    CPU_SET(processor, &first);
    CHECK_EQ(setpriority(PRIO_PROCESS, 0, 3), 0);
    CHECK_EQ(prctl(PR_SET_TIMERSLACK, SLACK), 0);
    CHECK_EQ(pthread_setname_np(pthread_self(), "maker"), 0);
    CHECK_EQ(sched_setaffinity(0, sizeof first, &first), 0);

#pragma omp parallel reduction(+ : wrong)
    for (int round = 0; round < ROUNDS; round++) {
        int me = omp_get_thread_num();
        char name[16] = "";
        cpu_set_t mine;
        sched_getaffinity(0, sizeof mine, &mine);
        pthread_getname_np(pthread_self(), name, sizeof name);
        if (me == 0 || me >= old)
            wrong += getpriority(PRIO_PROCESS, 0) != 3 || prctl(PR_GET_TIMERSLACK) != SLACK ||
                     !CPU_EQUAL(&mine, &first) || strcmp(name, "maker");
#pragma omp barrier
    }
    CHECK_EQ(wrong, 0);
    CHECK(threads > old && slack_before != SLACK);
    return check_result();
}
