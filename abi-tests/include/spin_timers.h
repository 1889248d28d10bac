/* The body of spin/timers*.c: the program's own interval timers go off while its threads spin. */
#include "check.h"
#include "spin.h"
#include <errno.h>
#include <signal.h>
#include <sys/time.h>
static int alarms, profiles;
static char alternate[1 << 16];
static void on_alarm(int signal)
{
    int saved = errno;
    (void)signal, ADD(alarms, 1);
    errno = saved;
}
static void on_profile(int signal)
{
    (void)signal, ADD(profiles, 1);
}
static void handle(int signal, void (*handler)(int))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    CHECK_EQ(sigaction(signal, &action, NULL), 0);
}
static void every(int microseconds)
{
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    CHECK_EQ(setitimer(ITIMER_REAL, &interval, NULL), 0);
    CHECK_EQ(setitimer(ITIMER_PROF, &interval, NULL), 0);
}
int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
    struct spin_barrier barrier = {0, 0};
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    CHECK_EQ(sigaltstack(&stack, NULL), 0);
    handle(SIGALRM, on_alarm);
    handle(SIGPROF, on_profile);
    every(1000);
    for (int region = 1; region <= 3; region++) {
#pragma omp parallel reduction(+ : sum) shared(barrier)
        {
            for (int round = 0; round < 5; round++)
                spin_wait(&barrier, n);
            SPIN_UNTIL(LOAD(alarms) >= 5 * region && LOAD(profiles) >= 5 * region);
#pragma omp barrier
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 100; i++)
                sum++;
        }
    }
    every(0);
    CHECK_EQ(sum, 300);
    CHECK(alarms >= 15 && profiles >= 15);
    return check_result();
}
