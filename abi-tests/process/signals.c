// what: team threads leave synchronous signals open: a handler of the program runs on any of them
#include "check.h"
#include <signal.h>
#include <setjmp.h>
#include <pthread.h>
static int handled;
static void handler(int signal)
{
    (void)signal;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}
int main(void)
{
    int n = omp_get_max_threads();
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
#pragma omp parallel
    {
        sigset_t blocked;
        pthread_sigmask(SIG_BLOCK, NULL, &blocked);
        int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPROF};
        for (int i = 0; i < 6; i++)
            CHECK(!sigismember(&blocked, watched[i]));
        raise(SIGFPE);
        raise(SIGSEGV);
    }
    CHECK_EQ(handled, 2 * n);
    return check_result();
}
