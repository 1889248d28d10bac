// what: the alternate signal stack is the thread's own: what sigaltstack tells, where handlers that ask for it run, large or small, and those that do not
// threads: 2,6,17
// timeout: 60
#include <errno.h>
#include "signals.h"

enum { ROUNDS = 12 };
static __thread char *low;
static __thread size_t bytes;
static __thread volatile int handled, outside, told_wrong;

/* With SA_ONSTACK. */
static void on_it(int signal_number)
{
    char here;
    stack_t now;
    (void)signal_number;
    handled++;
    outside += &here < low || &here >= low + bytes;
    sigaltstack(NULL, &now);
    told_wrong += now.ss_sp != low || now.ss_size != bytes || !(now.ss_flags & SS_ONSTACK);
    /* it is in use */
    told_wrong += sigaltstack(&now, NULL) != -1 || errno != EPERM;
}

/* Without. */
static void beside_it(int signal_number)
{
    char here;
    stack_t now;
    (void)signal_number;
    handled++;
    outside += &here >= low && &here < low + bytes;
    sigaltstack(NULL, &now);
    told_wrong += now.ss_sp != low || now.ss_size != bytes || now.ss_flags & SS_ONSTACK;
}

static void sends(void)
{
    int before = handled;
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGFPE);
    CHECK_EQ(handled, before + 3);
}

int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_it;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    action.sa_handler = beside_it;
    action.sa_flags = 0;
    sigaction(SIGUSR2, &action, NULL);
#pragma omp parallel
    ;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            stack_t own, before, now;
            /* even threads have a large one, whose fault handlers the kernel calls there */
            bytes = me % 2 ? 16 << 10 : 128 << 10;
            CHECK_EQ(sigaltstack(NULL, &before), 0);
            if (round == 0)
                CHECK(before.ss_flags == SS_DISABLE);
            memset(&own, 0, sizeof own);
            own.ss_sp = low = malloc(bytes);
            own.ss_size = bytes;
            CHECK_EQ(sigaltstack(&own, NULL), 0);
            for (int i = 0; i < 3; i++) {
#pragma omp barrier
                CHECK_EQ(sigaltstack(NULL, &now), 0);
                CHECK(now.ss_sp == low && now.ss_size == bytes && now.ss_flags == 0);
                if (me % 2 == 0)
                    sends();
                else {
                    int was = handled;
                    raise(SIGUSR1);
                    raise(SIGUSR2);
                    CHECK_EQ(handled, was + 2);
                }
            }
            own.ss_size = 100;
            CHECK(sigaltstack(&own, NULL) == -1 && errno == ENOMEM);
            own.ss_size = bytes;
            own.ss_flags = 12345;
            CHECK(sigaltstack(&own, NULL) == -1 && errno == EINVAL);
#pragma omp barrier
            own.ss_flags = SS_DISABLE;
            CHECK_EQ(sigaltstack(&own, &now), 0);
            CHECK(now.ss_sp == low);
            CHECK_EQ(sigaltstack(NULL, &now), 0);
            CHECK(now.ss_flags == SS_DISABLE);
            free(low);
            low = 0;
            CHECK_EQ(outside, 0);
            CHECK_EQ(told_wrong, 0);
        }
    }
    return check_result();
}
