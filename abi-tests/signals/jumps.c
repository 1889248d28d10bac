// what: siglongjmp restores the mask of the thread that jumps, which gets what it had blocked; the others keep theirs
// threads: 2,6,17
#include "signals.h"

#include <setjmp.h>

static __thread volatile int handled;
static __thread sigjmp_buf back;
static pthread_t threads[MOST_THREADS];

static void handler(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info, (void)context;
    handled++;
}

static int is_blocked(void)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, SIGUSR1);
}

/* Blocks the signal, has it sent, and jumps back to where it was not blocked. */
static void block_and_jump(int me, int n)
{
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
#pragma omp barrier
    pthread_kill(threads[(me + 1) % n], SIGUSR1);
#pragma omp barrier
    if (me % 2 == 0)
        siglongjmp(back, 1 + handled);
}

int main(void)
{
    int early = 0, late = 0, wrong_mask = 0;
    handle(SIGUSR1, handler, 0);
#pragma omp parallel reduction(+ : early, late, wrong_mask)
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        sigset_t all;
        threads[me] = pthread_self();
        int jumped = sigsetjmp(back, 1);
        if (jumped == 0)
            block_and_jump(me, n);
        else
            early += jumped != 1;
        for (int round = 0; round < 5; round++) {
            wrong_mask += is_blocked() != me % 2;
#pragma omp barrier
        }
        for (double end = signals_clock() + LONG_ENOUGH;
             me % 2 == 0 && handled == 0 && signals_clock() < end;)
            continue;
        late += handled != (me % 2 == 0);
#pragma omp barrier
        sigfillset(&all);
        pthread_sigmask(SIG_UNBLOCK, &all, NULL);
        late += handled != 1;
    }
    CHECK_EQ(early, 0);
    CHECK_EQ(late, 0);
    CHECK_EQ(wrong_mask, 0);
    return check_result();
}
