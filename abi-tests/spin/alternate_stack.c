// what: an alternate signal stack belongs to the OpenMP thread that set it, across barriers and while others spin
// threads: 2
#include "check.h"
#include "spin.h"
#include <signal.h>
enum { STACK = 1 << 16 };
static __thread char *low;
static __thread int handled, outside;
static void handler(int signal)
{
    char here;
    (void)signal;
    handled++;
    outside += &here < low || &here >= low + STACK;
}
static void use(const stack_t *own)
{
    stack_t now;
    CHECK_EQ(sigaltstack(NULL, &now), 0);
    CHECK(now.ss_sp == own->ss_sp);
    raise(SIGFPE);
}
int main(void)
{
    int n = omp_get_max_threads();
    struct spin_barrier barrier = {0, 0};
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGFPE, &action, NULL);
#pragma omp parallel shared(barrier)
    {
        stack_t own, before;
        memset(&own, 0, sizeof own);
        own.ss_sp = low = (char *)malloc(STACK);
        own.ss_size = STACK;
        CHECK_EQ(sigaltstack(&own, &before), 0);
        for (int round = 0; round < 5; round++) {
#pragma omp barrier
            use(&own);
            spin_wait(&barrier, n);
            use(&own);
        }
#pragma omp barrier
        CHECK_EQ(sigaltstack(&before, NULL), 0);
        CHECK_EQ(handled, 10);
        CHECK_EQ(outside, 0);
        free(own.ss_sp);
    }
    return check_result();
}
