/* Handlers of the program, timers, sleeping calls, signals by default. */
#include "life.h"
#include <fcntl.h>
#include <errno.h>
#include <fenv.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
static __thread sigjmp_buf back;
static volatile sig_atomic_t counted;
static void jumps(int signal)
{
    (void)signal;
    siglongjmp(back, 1);
}
static void counts(int signal)
{
    (void)signal;
    __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED);
}
static void on(int signal, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, 0);
}
__attribute__((noinline)) static void faults(void)
{
    *(volatile int *)8 = 1;
}
__attribute__((noinline)) static void divides(void)
{
    volatile double zero = 0;
    volatile double q = 1 / zero;
    (void)q;
}
static int caught(void (*does)(void), int alternate)
{
    int count = 0, size = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : count)
    {
        stack_t old, mine = {.ss_sp = malloc(65536), .ss_size = 65536};
        if (alternate)
            sigaltstack(&mine, &old);
        if (does == divides)
            feenableexcept(FE_DIVBYZERO);
        if (sigsetjmp(back, 1))
            count++;
        else
            does();
        if (does == divides) {
            fedisableexcept(FE_DIVBYZERO);
            feclearexcept(FE_ALL_EXCEPT);
        }
        if (alternate)
            sigaltstack(&old, 0);
        free(mine.ss_sp);
#pragma omp single
        size = omp_get_num_threads();
    }
    return count == size && region();
}
static int segv(void)
{
    on(SIGSEGV, jumps, 0);
    return caught(faults, 0) && caught(faults, 0);
}
static int segv_later(void)
{
    int right = region();
    on(SIGSEGV, jumps, 0);
    return right && caught(faults, 0);
}
static int segv_alternate(void)
{
    on(SIGSEGV, jumps, SA_ONSTACK);
    return caught(faults, 1) && caught(faults, 1);
}
static int fpe(void)
{
    on(SIGFPE, jumps, 0);
    return caught(divides, 0);
}
static int segv_default(void)
{
#pragma omp parallel num_threads(TEAM)
    if (omp_get_thread_num() == 1)
        faults();
    return 0;
}
static int timer(int which, int signal)
{
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    int right = 1, rounds = 0;
    on(signal, counts, SA_RESTART);
    setitimer(which, &often, 0);
    while (right && counted < 50 && rounds++ < 2000000)
        right = region();
    setitimer(which, &never, 0);
    return right && counted >= 50 && tasks();
}
static int prof(void)
{
    return timer(ITIMER_PROF, SIGPROF);
}
static int alrm(void)
{
    return timer(ITIMER_REAL, SIGALRM);
}
static int sleeping(void)
{
    int early = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : early)
    for (int i = 0; i < 5; i++) {
        struct timespec span = {0, 50000000};
        int ends[2];
        char byte;
        early += nanosleep(&span, 0) != 0;
        early += poll(0, 0, 50) != 0;
        if (!pipe(ends)) {
            struct pollfd waits = {ends[0], POLLIN, 0};
            early += poll(&waits, 1, 20) != 0;
            early += write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1;
            close(ends[0]);
            close(ends[1]);
        }
    }
    return !early && region();
}
static pthread_t first;
static int to_process, stop;
static void *sends(void *unused)
{
    for (int i = 0; i < 200 && !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
        if (to_process)
            kill(getpid(), SIGUSR1);
        else
            pthread_kill(first, SIGUSR1);
        usleep(200);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    return unused;
}
static int usr1(int process)
{
    pthread_t thread;
    int right = region();
    to_process = process;
    first = pthread_self();
    on(SIGUSR1, counts, SA_RESTART);
    if (pthread_create(&thread, 0, sends, 0))
        return 0;
    while (right && !__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
        right = region() && tasks();
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, 0);
    return right && counted > 0;
}
static int usr1_process(void)
{
    return usr1(1);
}
static int usr1_thread(void)
{
    return usr1(0);
}
static int int_default(void)
{
#pragma omp parallel num_threads(TEAM)
    {
        if (omp_get_thread_num() == 1)
            kill(getpid(), SIGINT);
#pragma omp barrier
        pause();
    }
    return 0;
}
static int stop_continue(void)
{
    int goes_on[2], status = 0, stops = 0;
    if (pipe(goes_on))
        return 0;
    pid_t child = fork();
    if (!child) {
        char byte;
        int right = !setpgid(0, 0) && !close(goes_on[1]) && !fcntl(goes_on[0], F_SETFL, O_NONBLOCK);
        do
            right &= region() && tasks();
        while (read(goes_on[0], &byte, 1) < 0);
        _exit(!right);
    }
    for (int i = 0; i < 10; i++) {
        usleep(20000);
        kill(child, i % 2 ? SIGTSTP : SIGSTOP);
        stops += waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status);
        kill(child, SIGCONT);
    }
    close(goes_on[1]);
    int well = ended(child, 0);
    if (stops < 10 || !well)
        fprintf(stderr, "%d stops, child %s\n", stops, well ? "right" : "wrong");
    return stops == 10 && well;
}
int main(int argc, char **argv)
{
    static const struct life cases[] = {{"segv", segv},
                                        {"segv_later", segv_later},
                                        {"segv_alternate", segv_alternate},
                                        {"segv_default", segv_default},
                                        {"fpe", fpe},
                                        {"prof", prof},
                                        {"alrm", alrm},
                                        {"sleeping", sleeping},
                                        {"usr1_process", usr1_process},
                                        {"usr1_thread", usr1_thread},
                                        {"int_default", int_default},
                                        {"stop_continue", stop_continue},
                                        {0, 0}};
    return life(argc, argv, cases);
}
