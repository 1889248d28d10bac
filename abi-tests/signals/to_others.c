// what: signals that are directed at other threads of the team, by `pthread_t`, are handled by those, wherever they wait
// threads: 2,6,17
// timeout: 60
#include "signals.h"

static __thread volatile int number = -1;
static int handled[MOST_THREADS], values[MOST_THREADS], elsewhere;
static pthread_t threads[MOST_THREADS];

static void handler(int signal_number, siginfo_t *info, void *context)
{
    int me = number;
    (void)context;
    if (me < 0 || me != omp_get_thread_num() || !pthread_equal(threads[me], pthread_self()))
        __atomic_fetch_add(&elsewhere, 1, __ATOMIC_RELAXED);
    if (me < 0)
        return;
    if (signal_number != SIGUSR1)
        __atomic_fetch_add(&values[me], info->si_value.sival_int, __ATOMIC_RELAXED);
    __atomic_fetch_add(&handled[me], 1, __ATOMIC_RELEASE);
}

/* Thread 0 sends, while the others wait in the way of this round. */
static void send_to_all(int threads_now, int wanted)
{
    int missing = 0;
    for (int t = 1; t < threads_now; t++)
        pthread_kill(threads[t], SIGUSR1);
    for (int t = 1; t < threads_now; t++)
        missing += !comes_to(&handled[t], wanted);
    CHECK_EQ(missing, 0);
}

int main(void)
{
    static int go;
    handle(SIGUSR1, handler, SA_RESTART);
    handle(SIGRTMIN + 4, handler, SA_RESTART);
#pragma omp parallel
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        number = me;
        threads[me] = pthread_self();
#pragma omp barrier
        /* in a barrier of the runtime */
        if (me == 0)
            send_to_all(n, 1);
#pragma omp barrier
        /* in a loop of their own */
        if (me == 0) {
            send_to_all(n, 2);
            __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
        } else
            comes_to(&go, 1);
#pragma omp barrier
        /* asleep in the kernel */
        if (me == 0) {
            send_to_all(n, 3);
            __atomic_store_n(&go, 2, __ATOMIC_RELEASE);
        } else
            while (__atomic_load_n(&go, __ATOMIC_ACQUIRE) < 2)
                usleep(1000);
#pragma omp barrier
        /* real-time signals: none is lost, and their values come with them */
        if (me == 0) {
            int missing = 0;
            for (int k = 1; k <= 5; k++)
                for (int t = 1; t < n; t++) {
                    union sigval value = {.sival_int = k};
                    pthread_sigqueue(threads[t], SIGRTMIN + 4, value);
                }
            for (int t = 1; t < n; t++)
                missing += !comes_to(&handled[t], 8);
            CHECK_EQ(missing, 0);
        }
#pragma omp barrier
        if (me != 0)
            CHECK_EQ(values[me], 15);
        /* everybody to the next, in a ring */
        pthread_kill(threads[(me + 1) % n], SIGUSR1);
        CHECK(comes_to(&handled[me], me == 0 ? 1 : 9));
    }
    CHECK_EQ(elsewhere, 0);
    return check_result();
}
