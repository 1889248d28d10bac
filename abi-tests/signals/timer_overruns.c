// what: ticks of a thread's timer while the thread does not wait for signals are overruns of one signal, and no signal loses its information
// threads: 2,6,17
#include "signals.h"

#include <errno.h>

enum { MOST_TICKS = 100 };

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* Two timers of the calling thread's, with one signal; true if they tick as POSIX says. */
static int ticks(int me)
{
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    struct itimerspec never = {{0, 0}, {0, 0}};
    struct timespec away = {0, MOST_TICKS * 1000000L}, limit = {LONG_ENOUGH, 0}, none = {0, 2000000};
    int counts[2] = {0, 0}, signals = 0, good = 1;
    timer_t timers[2];
    siginfo_t info;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int n = 0; n < 2; n++) {
        struct sigevent event;
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGRTMIN + 1;
        event.sigev_value.sival_int = 1 + 2 * me + n;
        event.sigev_notify_thread_id = gettid();
        if (timer_create(CLOCK_MONOTONIC, &event, &timers[n]) != 0)
            return 0;
    }
    for (int n = 0; n < 2; n++)
        timer_settime(timers[n], 0, &every, NULL);
    while (nanosleep(&away, &away) != 0 && errno == EINTR)
        ;
    while (good && (counts[0] < MOST_TICKS * 9 / 10 || counts[1] < MOST_TICKS * 9 / 10)) {
        memset(&info, 0, sizeof info);
        good = sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1 && info.si_code == SI_TIMER &&
               (info.si_value.sival_int - 1) / 2 == me && info.si_overrun >= 0;
        if (good) {
            int n = (info.si_value.sival_int - 1) % 2;
            good = timer_getoverrun(timers[n]) == info.si_overrun;
            counts[n] += 1 + info.si_overrun;
            signals++;
        }
    }
    for (int n = 0; n < 2; n++)
        timer_settime(timers[n], 0, &never, NULL);
    while (sigtimedwait(&set, &info, &none) > 0)
        good &= info.si_code == SI_TIMER && (info.si_value.sival_int - 1) / 2 == me;
    for (int n = 0; n < 2; n++)
        timer_delete(timers[n]);
    return good && signals <= MOST_TICKS;
}

int main(void)
{
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
#pragma omp barrier
        wrong += !ticks(omp_get_thread_num());
#pragma omp barrier
    }
    CHECK_EQ(wrong, 0);
    return check_result();
}
