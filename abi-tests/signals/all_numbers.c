// what: if a program sets handlers for all real-time signals, also the monitor's, they run for the program's signals only
// threads: 2,6,17
#include "signals.h"

static int handled[_NSIG];
static pthread_t threads[MOST_THREADS];

static void handler(int signal_number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    __atomic_fetch_add(&handled[signal_number], 1, __ATOMIC_RELAXED);
}

static int all_are(int wanted)
{
    int wrong = 0;
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        wrong += !comes_to(&handled[s], wanted) || handled[s] != wanted;
    return wrong == 0;
}

/* Threads wait for each other in loops of their own: those that share a worker are interrupted. */
static void spin_for_each_other(void)
{
    static int arrived;
#pragma omp parallel
    for (int round = 1; round <= 20; round++) {
        __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < round * omp_get_num_threads())
            continue;
#pragma omp barrier
    }
    arrived = 0;
}

int main(void)
{
    int n = 0, sent = 0, refused = 0;
    struct sigaction before;
    spin_for_each_other();
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++) {
        refused += sigaction(s, NULL, &before) != 0 || before.sa_handler != SIG_DFL;
        handle(s, handler, SA_RESTART);
    }
    CHECK_EQ(refused, 0);
    spin_for_each_other();
    CHECK(all_are(0));
#pragma omp parallel
    {
        threads[omp_get_thread_num()] = pthread_self();
#pragma omp single
        n = omp_get_num_threads();
#pragma omp master
        for (int s = SIGRTMIN; s <= SIGRTMAX; s++) {
            raise(s);
            pthread_kill(threads[n - 1], s);
        }
    }
    sent += 2;
    CHECK(all_are(sent));
    for (int s = SIGRTMIN; s <= SIGRTMAX; s++)
        kill(getpid(), s);
    CHECK(all_are(++sent));
    spin_for_each_other();
    CHECK(all_are(sent));
    return check_result();
}
