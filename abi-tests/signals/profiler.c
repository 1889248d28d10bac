// what: profilers: one whose handler passes signals on to the profiled thread ends, and timers of single threads sample those
// threads: 2,6,17
// timeout: 60
#include "signals.h"

#include <sys/syscall.h>
#include <sys/time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static pthread_t profiled;
static int forwarded, samples;
static int of_thread[MOST_THREADS];
static __thread volatile int number = -1;
static int elsewhere;

/* As R's: what comes to another thread is sent on. */
static void forward(int signal_number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    if (!pthread_equal(pthread_self(), profiled)) {
        __atomic_fetch_add(&forwarded, 1, __ATOMIC_RELAXED);
        pthread_kill(profiled, signal_number);
    } else
        __atomic_fetch_add(&samples, 1, __ATOMIC_RELAXED);
}

static void sample(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)context;
    if (number < 0 || info->si_value.sival_int != number)
        __atomic_fetch_add(&elsewhere, 1, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&of_thread[number], 1, __ATOMIC_RELAXED);
}

static void compute(int steps)
{
    for (volatile int i = 0; i < steps; i++)
        continue;
}

int main(void)
{
    struct itimerval on = {{0, 4000}, {0, 4000}}, off = {{0, 0}, {0, 0}};
    profiled = pthread_self();
    handle(SIGPROF, forward, SA_RESTART);
    setitimer(ITIMER_PROF, &on, NULL);
    // On a busy machine ten regions may be over before the timer has seen them.
    for (int region = 0; region < 10 || (samples == 0 && region < 1000); region++) {
#pragma omp parallel
        compute(2000000);
    }
    setitimer(ITIMER_PROF, &off, NULL);
    CHECK(samples > 0);

    handle(SIGRTMIN + 5, sample, SA_RESTART);
    int few = 0;
#pragma omp parallel reduction(+ : few)
    {
        struct sigevent event;
        timer_t timer;
        struct itimerspec time = {{0, 5000000}, {0, 5000000}}, stop = {{0, 0}, {0, 0}};
        number = omp_get_thread_num();
        memset(&event, 0, sizeof event);
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGRTMIN + 5;
        event.sigev_value.sival_int = number;
        event.sigev_notify_thread_id = syscall(SYS_gettid);
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
            few += 1000;
        timer_settime(timer, 0, &time, NULL);
        for (double end = signals_clock() + 0.3; signals_clock() < end;)
            compute(10000);
        timer_settime(timer, 0, &stop, NULL);
        timer_delete(timer);
#pragma omp barrier
        few += of_thread[number] < 5;
    }
    CHECK_EQ(few, 0);
    CHECK_EQ(elsewhere, 0);
    return check_result();
}
