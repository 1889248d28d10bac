// what: the mask of blocked signals and what is pending belong to the OpenMP thread, across barriers
// threads: 2
#include "identity.h"
#include <pthread.h>
#include <signal.h>
static __thread int handled;
static void handler(int signal)
{
    (void)signal, handled++;
}
static int pending(int signal)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, signal);
}
int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGUSR2, &action, NULL);
#pragma omp parallel
    {
        int odd = omp_get_thread_num() % 2;
        sigset_t one, before, now;
        sigemptyset(&one);
        sigaddset(&one, SIGUSR2);
        handled = 0;
        pthread_sigmask(odd ? SIG_BLOCK : SIG_UNBLOCK, &one, &before);
#pragma omp barrier
        raise(SIGUSR2);
        CHECK_EQ(handled, !odd);
#pragma omp barrier
        pthread_sigmask(SIG_BLOCK, NULL, &now);
        CHECK_EQ(sigismember(&now, SIGUSR2), odd);
        CHECK_EQ(pending(SIGUSR2), odd);
#pragma omp barrier
        CHECK_EQ(handled, !odd);
        pthread_sigmask(SIG_UNBLOCK, &one, NULL);
        CHECK_EQ(handled, 1);
#pragma omp barrier
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return check_result();
}
