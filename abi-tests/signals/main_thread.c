// what: handlers of alarms run in the main thread, with its storage, on its stack, to their end, and may leave by siglongjmp
// threads: 2,6,17
// timeout: 60
#include "signals.h"

#include <setjmp.h>
#include <sys/time.h>

static __thread volatile int number = -1;
static volatile int handled, elsewhere, off_stack, inside, switched;
static char *top;
static sigjmp_buf back;
static volatile int leaves, armed;

/* The next alarm, by the main thread when it has handled all before. One that came while it is in the
 * handler, and blocks the signal, would be another thread's. */
static void arm(void)
{
    if (armed != handled)
        return;
    armed++;
    struct itimerval time = {{0, 0}, {0, 10000}};
    setitimer(ITIMER_REAL, &time, NULL);
}

static void handler(int signal_number, siginfo_t *info, void *context)
{
    char here;
    (void)signal_number, (void)info, (void)context;
    handled++;
    elsewhere += number != 0 || omp_get_thread_num() != 0;
    off_stack += top - &here < 0 || top - &here > 1 << 20;
    inside = 1;
    /* Long enough to be interrupted. */
    for (volatile int i = 0; i < 200000; i++)
        continue;
    inside = 0;
    if (leaves)
        siglongjmp(back, 1);
}

static void compute(int steps)
{
    for (volatile int i = 0; i < steps; i++)
        continue;
}

int main(void)
{
    char here;
    top = &here + 4096;
    handle(SIGALRM, handler, SA_RESTART);
    number = 0;
    for (int region = 0; region < 5; region++) {
#pragma omp parallel
        {
            number = omp_get_thread_num();
            for (int round = 0; round < 60; round++) {
                if (omp_get_thread_num() == 0)
                    arm();
                compute(100000);
                if (getpid() == (pid_t)gettid() && inside && number != 0)
                    switched++;
#pragma omp barrier
            }
        }
    }
    while (handled != armed)
        compute(1000);
    CHECK(handled > 0);
    CHECK_EQ(elsewhere, 0);
    CHECK_EQ(off_stack, 0);
    CHECK_EQ(switched, 0);

    /* Out of a loop of the main thread's own. */
    static volatile int left;
    leaves = 0;
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            for (volatile int times = 0; times < 5; times++)
                if (sigsetjmp(back, 1) == 0) {
                    leaves = 1;
                    arm();
                    for (;;)
                        compute(1000);
                } else {
                    leaves = 0;
                    left++;
                }
        } else
            for (int round = 0; round < 20; round++)
                compute(1000000);
    }
    CHECK_EQ(left, 5);
    CHECK_EQ(elsewhere, 0);
    return check_result();
}
