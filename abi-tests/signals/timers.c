// what: threads of a team wait for the signals of timers of their own, which they block, with no handler, before the region or in it
// threads: 2,6,17
#include "signals.h"

#include <sys/wait.h>

enum { SAMPLES = 20 };

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Waits for `SAMPLES` signals of a timer of the calling thread's; returns how many came from this timer. */
static int samples(int me)
{
    struct sigevent event;
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    struct timespec limit = {LONG_ENOUGH, 0};
    timer_t timer;
    siginfo_t info;
    sigset_t set;
    int own = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN + 1;
    event.sigev_value.sival_int = me;
    event.sigev_notify_thread_id = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return -1;
    timer_settime(timer, 0, &every, NULL);
    for (int n = 0; n < SAMPLES; n++)
        own += sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1 && info.si_code == SI_TIMER &&
               info.si_value.sival_int == me;
    timer_delete(timer);
    /* What is still pending. */
    struct timespec none = {0, 2000000};
    while (sigtimedwait(&set, &info, &none) > 0)
        own += info.si_value.sival_int != me;
    return own;
}

static int run(void)
{
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
#pragma omp barrier
        wrong += samples(omp_get_thread_num()) != SAMPLES;
#pragma omp barrier
    }
    return wrong;
}

int main(void)
{
    int status = -1;
    sigset_t set;
    pid_t child = fork();
    if (child == 0) {
        sigemptyset(&set);
        sigaddset(&set, SIGRTMIN + 1);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        _exit(run() != 0);
    }
    CHECK_EQ(run(), 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    return check_result();
}
