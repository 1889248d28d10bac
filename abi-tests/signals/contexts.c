// what: a context of makecontext brings its signal mask to the thread that enters it, in waits as well, and the thread has its own again when it comes back
// threads: 2,6,17
// timeout: 60
#include <stdlib.h>
#include <ucontext.h>
#include "signals.h"

enum { ROUNDS = 8, STACK = 128 << 10, MOST = 64 };
static ucontext_t callers[MOST], coroutines[MOST];
static int wrong_inside[MOST];

static int is_blocked(int signal_number)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal_number);
}

/* Blocks the thread's own signal, and SIGUSR1. Waits with the others, and goes back after each round. */
static void coroutine(int me)
{
    for (;;) {
        for (int wait = 0; wait < 3; wait++) {
            for (int k = 0; k < 8; k++)
                wrong_inside[me] += is_blocked(SIGRTMIN + k) != (k == me % 8);
            wrong_inside[me] += !is_blocked(SIGUSR1);
#pragma omp barrier
        }
        swapcontext(&coroutines[me], &callers[me]);
    }
}

int main(void)
{
    int wrong = 0, threads = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, SIGRTMIN + me % 8);
        pthread_sigmask(SIG_BLOCK, &own, NULL);
        void *stack = malloc(STACK);
        getcontext(&coroutines[me]);
        coroutines[me].uc_stack.ss_sp = stack;
        coroutines[me].uc_stack.ss_size = STACK;
        sigaddset(&coroutines[me].uc_sigmask, SIGUSR1);
        makecontext(&coroutines[me], (void (*)(void))coroutine, 1, me);
#pragma omp single
        threads = omp_get_num_threads();
        for (int round = 0; round < ROUNDS; round++) {
            /* Every second thread enters its coroutine; the others wait here. */
            if ((me + round) % 2)
                swapcontext(&callers[me], &coroutines[me]);
            else
                for (int wait = 0; wait < 3; wait++) {
                    wrong += is_blocked(SIGUSR1) || !is_blocked(SIGRTMIN + me % 8);
#pragma omp barrier
                }
            wrong += is_blocked(SIGUSR1) || !is_blocked(SIGRTMIN + me % 8);
#pragma omp barrier
        }
        pthread_sigmask(SIG_UNBLOCK, &own, NULL);
        free(stack);
    }
    CHECK_EQ(wrong, 0);
    for (int t = 0; t < threads && t < MOST; t++)
        CHECK_EQ(wrong_inside[t], 0);
    return check_result();
}
