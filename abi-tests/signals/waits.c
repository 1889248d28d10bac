// what: threads of a team wait for signals that others send them (sigwait, sigtimedwait, sigpending, sigsuspend, ppoll, pselect, epoll_pwait), blocked before the region or in it
// threads: 2,6,17
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>

static __thread volatile int handled;
static pthread_t threads[MOST_THREADS];
static int epoll;
static const struct timespec LONG = {10, 0}, SHORT = {0, 1000000};

static void handler(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info, (void)context;
    handled++;
}

static int fails_with(int result, int error)
{
    return result == -1 && errno == error;
}

/* Waits with this method for the signal of the previous thread; 1 on success. */
static int waits(int method)
{
    sigset_t usr1, empty, pending;
    siginfo_t info;
    struct pollfd none = {-1, 0, 0};
    struct epoll_event event;
    int got = 0, before = handled;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigemptyset(&empty);
    switch (method) {
    case 0: return sigwait(&usr1, &got) == 0 && got == SIGUSR1;
    case 1:
        return sigtimedwait(&usr1, &info, &LONG) == SIGUSR1 && info.si_signo == SIGUSR1 &&
               info.si_code == SI_USER && info.si_pid == getpid();
    case 2:
        for (double end = signals_clock() + LONG_ENOUGH;
             sigpending(&pending) == 0 && !sigismember(&pending, SIGUSR1) && signals_clock() < end;)
            continue;
        return sigismember(&pending, SIGUSR1) == 1 && sigwaitinfo(&usr1, &info) == SIGUSR1 &&
               fails_with(sigtimedwait(&usr1, &info, &SHORT), EAGAIN);
    case 3: return fails_with(sigsuspend(&empty), EINTR) && handled == before + 1;
    case 4:
        return fails_with(ppoll(&none, 1, &LONG, &empty), EINTR) && handled == before + 1 &&
               ppoll(&none, 1, &SHORT, &empty) == 0;
    case 5:
        return fails_with(pselect(0, NULL, NULL, NULL, &LONG, &empty), EINTR) && handled == before + 1 &&
               pselect(0, NULL, NULL, NULL, &SHORT, &empty) == 0;
    case 6:
        return fails_with(epoll_pwait(epoll, &event, 1, 10000, &empty), EINTR) && handled == before + 1 &&
               epoll_pwait(epoll, &event, 1, 1, &empty) == 0;
    default:
        for (double end = signals_clock() + LONG_ENOUGH; handled == before && signals_clock() < end;) {
            pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
            pthread_sigmask(SIG_BLOCK, &usr1, NULL);
        }
        return handled == before + 1;
    }
}

/* A pending signal is not inherited by the child of a fork. */
static int child_has_none(void)
{
    sigset_t usr1, pending;
    int status = -1, got;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);
    pthread_kill(pthread_self(), SIGUSR1);
    pthread_kill(threads[omp_get_thread_num()], SIGUSR1);
    pid_t child = fork();
    if (child == 0)
        _exit(sigpending(&pending) != 0 || sigismember(&pending, SIGUSR1));
    return waitpid(child, &status, 0) == child && status == 0 && sigwait(&usr1, &got) == 0;
}

int main(void)
{
    enum { METHODS = 8, ROUNDS = 4 };
    int wrong[METHODS] = {0}, sent_early = 0;
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    epoll = epoll_create1(0);
    for (int method = 0; method < METHODS; method++) {
        /* The first three methods use no handler: the default action must not end the program. */
        if (method == 3)
            handle(SIGUSR1, handler, SA_RESTART);
        pthread_sigmask(method % 2 ? SIG_BLOCK : SIG_UNBLOCK, &usr1, NULL);
#pragma omp parallel
        {
            int me = omp_get_thread_num(), n = omp_get_num_threads();
            threads[me] = pthread_self();
            pthread_sigmask(SIG_BLOCK, &usr1, NULL);
            for (int round = 0; round < ROUNDS; round++) {
#pragma omp barrier
                int before = handled;
                pthread_kill(threads[(me + 1) % n], SIGUSR1);
                if (round % 2) {
#pragma omp barrier
                }
                if (handled != before)
                    __atomic_fetch_add(&sent_early, 1, __ATOMIC_RELAXED);
                if (!waits(method))
                    __atomic_fetch_add(&wrong[method], 1, __ATOMIC_RELAXED);
            }
        }
    }
    int child_errors = 0;
#pragma omp parallel reduction(+ : child_errors)
    {
        threads[omp_get_thread_num()] = pthread_self();
#pragma omp critical
        child_errors += child_has_none() != 1;
    }
    CHECK_EQ(child_errors, 0);
    CHECK_EQ(sent_early, 0);
    for (int method = 0; method < METHODS; method++)
        CHECK_EQ(wrong[method], 0);
    return check_result();
}
