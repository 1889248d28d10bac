// what: each thread has a signal mask of its own, across waits, and gets what it has blocked when it opens its mask
// threads: 2,6,17
#include "signals.h"

static __thread volatile int handled;
static __thread volatile int number = -1;
static int elsewhere;
static pthread_t threads[MOST_THREADS];

static void handler(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info, (void)context;
    handled++;
    if (number != omp_get_thread_num())
        __atomic_fetch_add(&elsewhere, 1, __ATOMIC_RELAXED);
}

static int is_blocked(int signal_number)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal_number);
}

int main(void)
{
    int wrong_mask = 0, early = 0, late = 0;
    handle(SIGUSR1, handler, 0);
#pragma omp parallel reduction(+ : wrong_mask, early, late)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        sigset_t own, all;
        number = me;
        threads[me] = pthread_self();
        wrong_mask += is_blocked(SIGUSR1) || is_blocked(SIGTERM);
        sigemptyset(&own);
        sigaddset(&own, SIGRTMIN + me % 20);
        sigaddset(&own, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &own, NULL);
        for (int round = 0; round < 5; round++) {
#pragma omp barrier
            for (int k = 0; k < 20; k++)
                wrong_mask += is_blocked(SIGRTMIN + k) != (k == me % 20);
            wrong_mask += !is_blocked(SIGUSR1);
        }
        /* All have blocked it; it waits. */
        pthread_kill(threads[(me + 1) % n], SIGUSR1);
#pragma omp barrier
        early += handled != 0;
#pragma omp barrier
        sigfillset(&all);
        pthread_sigmask(SIG_UNBLOCK, &all, NULL);
        for (double end = signals_clock() + LONG_ENOUGH; handled == 0 && signals_clock() < end;)
            continue;
        late += handled != 1;
        wrong_mask += is_blocked(SIGUSR1);
    }
    CHECK_EQ(wrong_mask, 0);
    CHECK_EQ(early, 0);
    CHECK_EQ(late, 0);
    CHECK_EQ(elsewhere, 0);
    return check_result();
}
