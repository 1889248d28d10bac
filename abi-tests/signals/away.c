// what: a thread that was handed to another kernel thread keeps its number, and its signals and timers reach it
// threads: 6,17
// env: GANGWAY_WORKERS=2
// timeout: 60
#include "signals.h"

#include <sched.h>
#include <sys/wait.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { SAMPLES = 5, TIMERS, OF_TIMER = 1, BLOCKED_AT_HOME = 2, BLOCKED_BY_OTHERS = 3 };

/* Of the thread that forks: its number, and the kernel thread that it begins on. */
static int number;
static char home[64];
/* A thread sleeps on that kernel thread; the forking thread has ended its part; handlers that have run in it.
 */
static int sleeps, ended, handled;
static int way_out[2], never_written[2];

static void here(char *name)
{
    long length = readlink("/proc/thread-self", name, sizeof home - 1);
    name[length > 0 ? length : 0] = 0;
}
static int is_home(void)
{
    char name[sizeof home];
    here(name);
    return !strcmp(name, home);
}
static void change(int how, int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + signal);
    pthread_sigmask(how, &set, NULL);
}
static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    handled += gettid() == number;
}
static void *send(void *argument)
{
    tgkill(getpid(), number, SIGRTMIN + BLOCKED_AT_HOME);
    return argument;
}
static timer_t make_timer(int signal)
{
    struct sigevent event;
    timer_t timer;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMIN + signal;
    event.sigev_value.sival_int = TIMERS;
    event.sigev_notify_thread_id = gettid();
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    return timer;
}
static int samples(void)
{
    struct timespec limit = {LONG_ENOUGH, 0};
    siginfo_t info;
    sigset_t set;
    int came = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + OF_TIMER);
    while (came < SAMPLES && sigtimedwait(&set, &info, &limit) > 0)
        came += info.si_code == SI_TIMER && info.si_value.sival_int == TIMERS;
    return came;
}

static void *let_out(void *argument)
{
    double end = signals_clock() + LONG_ENOUGH;
    usleep(50000);
    CHECK_EQ(write(way_out[1], "", 1), 1);
    while (handled < 2 && signals_clock() < end)
        usleep(1000);
    CHECK_EQ(write(never_written[1], "", 1), 1);
    return argument;
}

/* The forking thread sleeps in the kernel, its own kernel thread has nothing to do, and all other threads
 * block the timer's signal. */
static void sleep_for_a_timer(void)
{
    struct itimerspec once = {{0, 0}, {0, 200000000}};
    pthread_t releaser;
    timer_t timer = make_timer(BLOCKED_BY_OTHERS);
    char byte;
    CHECK_EQ(pthread_create(&releaser, NULL, let_out, NULL), 0);
    change(SIG_UNBLOCK, BLOCKED_BY_OTHERS);
    timer_settime(timer, 0, &once, NULL);
    CHECK_EQ(read(never_written[0], &byte, 1), -1);
    CHECK_EQ(handled, 2);
    pthread_join(releaser, NULL);
    timer_delete(timer);
}

/* The forking thread, while another one sleeps on its kernel thread. */
static void away(void)
{
    pthread_t sender;
    struct itimerspec every = {{0, 1000000}, {0, 1000000}};
    timer_t timer;
    double end;
    CHECK_EQ(gettid(), number);
    CHECK_EQ(pthread_create(&sender, NULL, send, NULL), 0);
    pthread_join(sender, NULL);
    CHECK_EQ(comes_to(&handled, 1), 1);
    timer = make_timer(OF_TIMER);
    timer_settime(timer, 0, &every, NULL);
    CHECK_EQ(samples(), SAMPLES);
    sleep_for_a_timer();
    for (end = signals_clock() + 1; !is_home() && signals_clock() < end;)
        sched_yield();
    CHECK_EQ(gettid(), number);
    CHECK_EQ(samples(), SAMPLES);
    timer_delete(timer);
}

static void sleep_at_home(void)
{
    char byte;
    if (!is_home() || __atomic_exchange_n(&sleeps, 1, __ATOMIC_ACQ_REL)) {
        sched_yield();
        return;
    }
    change(SIG_UNBLOCK, OF_TIMER);
    change(SIG_BLOCK, BLOCKED_AT_HOME);
    while (read(way_out[0], &byte, 1) != 1)
        continue;
    change(SIG_BLOCK, OF_TIMER);
}

static void *run(void *argument)
{
    double end = signals_clock() + 1;
    number = gettid();
    sleeps = ended = handled = 0;
    here(home);
    change(SIG_BLOCK, OF_TIMER);
    change(SIG_BLOCK, BLOCKED_BY_OTHERS);
    CHECK_EQ(pipe(way_out) | pipe(never_written), 0);
#pragma omp parallel
    if (omp_get_thread_num()) {
        while (!__atomic_load_n(&sleeps, __ATOMIC_ACQUIRE) && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
            sleep_at_home();
    } else {
        /* Where each thread has a kernel thread of its own, none sleeps on this one. */
        while (!__atomic_load_n(&sleeps, __ATOMIC_ACQUIRE) && signals_clock() < end)
            sched_yield();
        if (sleeps)
            away();
        __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    }
    return argument;
}

/* A process each, so that the pool has no workers yet. */
int main(void)
{
    pthread_t thread;
    int status = -1;
    pid_t child = fork();
    handle(SIGRTMIN + BLOCKED_AT_HOME, on_signal, SA_RESTART);
    handle(SIGRTMIN + BLOCKED_BY_OTHERS, on_signal, 0);
    if (child == 0) {
        CHECK_EQ(pthread_create(&thread, NULL, run, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        _exit(check_result());
    }
    run(NULL);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    return check_result();
}
