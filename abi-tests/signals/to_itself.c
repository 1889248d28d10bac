// what: a signal that a thread sends to itself is handled before the call returns, with its thread-local storage, on its stack
// threads: 2,6,17
#include "signals.h"

static __thread volatile int number = -1;
static __thread volatile int handled, elsewhere;
static int bad_mask;

static void handler(int signal_number, siginfo_t *info, void *context)
{
    sigset_t now;
    (void)info, (void)context;
    handled++;
    elsewhere += number != omp_get_thread_num();
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    if (!sigismember(&now, signal_number))
        __atomic_fetch_add(&bad_mask, 1, __ATOMIC_RELAXED);
}

int main(void)
{
    int wrong = 0, others = 0;
    handle(SIGUSR1, handler, 0);
    handle(SIGRTMIN + 3, handler, 0);
    for (int region = 0; region < 3; region++) {
#pragma omp parallel reduction(+ : wrong, others)
        {
            number = omp_get_thread_num();
            handled = elsewhere = 0;
            for (int round = 1; round <= 10; round++) {
                raise(SIGUSR1);
                wrong += handled != 3 * round - 2;
                pthread_kill(pthread_self(), SIGUSR1);
                wrong += handled != 3 * round - 1;
                union sigval value = {.sival_int = round};
                pthread_sigqueue(pthread_self(), SIGRTMIN + 3, value);
                wrong += handled != 3 * round;
#pragma omp barrier
            }
            others += elsewhere;
        }
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(others, 0);
    CHECK_EQ(bad_mask, 0);
    return check_result();
}
