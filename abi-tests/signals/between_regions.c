// what: a thread of a team handles a signal that is sent to it between two regions at once, with its own storage; a blocked signal stays pending until the thread unblocks it in its next region
// threads: 2,3,6,17
#include "signals.h"

static __thread volatile int handled;
static __thread int number = -1;
static volatile int total, wrong_thread, expected;
static pthread_t threads[MOST_THREADS];

static void handler(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info, (void)context;
    handled++;
    if (number != expected)
        __atomic_fetch_add(&wrong_thread, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total, 1, __ATOMIC_SEQ_CST);
}

/* Sends SIGUSR1 to thread `to`, and says whether it has been handled within some time. */
static int is_handled(int to)
{
    int before = total;
    expected = to;
    pthread_kill(threads[to], SIGUSR1);
    for (double end = signals_clock() + LONG_ENOUGH; total == before && signals_clock() < end;)
        usleep(10);
    return total == before + 1;
}

int main(void)
{
    enum { ROUNDS = 10 };
    int n = 0, late = 0, seen = 0, early = 0;
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    handle(SIGUSR1, handler, 0);
    for (int region = 0; region < 3; region++) {
#pragma omp parallel
        {
            number = omp_get_thread_num();
            threads[number] = pthread_self();
#pragma omp single
            n = omp_get_num_threads();
        }
        for (int round = 0; round < ROUNDS && !late; round++)
            for (int to = 1; to < n && !late; to++)
                late = !is_handled(to);
    }
    CHECK_EQ(late, 0);
    CHECK_EQ(wrong_thread, 0);
    CHECK_EQ(total, 3 * ROUNDS * (n - 1));
    /* While the next region begins. */
    for (int region = 0; region < 200; region++) {
        expected = 1 + region % (n - 1);
        pthread_kill(threads[expected], SIGUSR1);
#pragma omp parallel
        if (number != omp_get_thread_num())
            __atomic_fetch_add(&wrong_thread, 1, __ATOMIC_RELAXED);
        for (double end = signals_clock() + LONG_ENOUGH;
             total < 3 * ROUNDS * (n - 1) + region + 1 && signals_clock() < end;)
            usleep(10);
    }
    CHECK_EQ(wrong_thread, 0);
    CHECK_EQ(total, 3 * ROUNDS * (n - 1) + 200);
    /* Blocked: kept. */
    int before = total;
#pragma omp parallel
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    for (int to = 1; to < n; to++)
        pthread_kill(threads[to], SIGUSR1);
    usleep(20000);
    early = total != before;
#pragma omp parallel reduction(+ : seen)
    if (omp_get_thread_num() != 0) {
        int now = handled;
        pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
        seen += handled == now + 1;
    }
    CHECK_EQ(early, 0);
    CHECK_EQ(seen, n - 1);
    return check_result();
}
