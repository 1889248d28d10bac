// what: threads that wait for each other with a call in the loop take turns as those do that wait without
// threads: 2,6,17
// alone: yes
// timeout: 120
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

enum { ROUNDS = 3, ATTEMPTS = 5, KINDS = 14 };
static const char *const names[KINDS] = {"nothing",
                                         "clock_gettime",
                                         "read",
                                         "pthread_mutex_trylock",
                                         "poll",
                                         "malloc",
                                         "snprintf",
                                         "syscall",
                                         "pthread_sigmask",
                                         "gettimeofday",
                                         "epoll_wait",
                                         "recv",
                                         "sem_trywait",
                                         "ioctl"};
static int ends[2], polled, sockets[2], wrong;
static sem_t none;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) int call(int kind, int turn)
{
    char byte, text[64];
    int bytes = 0;
    struct timespec time;
    struct timeval day;
    struct epoll_event event;
    sigset_t all, before;
    switch (kind) {
    case 1: return clock_gettime(CLOCK_MONOTONIC, &time);
    case 2: return read(ends[0], &byte, 1) > 0;
    case 3: return !pthread_mutex_trylock(&held);
    case 4: return poll(0, 0, 0);
    case 5: {
        void *volatile block = malloc(100);
        free(block);
        return 0;
    }
    case 6: return snprintf(text, sizeof text, "%d %g", turn, 1.5) < 3;
    case 7: return syscall(SYS_getppid) < 0;
    case 8:
        sigfillset(&all);
        return pthread_sigmask(SIG_BLOCK, &all, &before) || pthread_sigmask(SIG_SETMASK, &before, 0);
    case 9: return gettimeofday(&day, 0);
    case 10: return epoll_wait(polled, &event, 1, 0);
    case 11: return recv(sockets[0], &byte, 1, MSG_DONTWAIT) >= 0;
    case 12: return !sem_trywait(&none);
    case 13: return ioctl(ends[0], FIONREAD, &bytes) || bytes;
    }
    return 0;
}

/* The last thread goes first, then the one before it: seconds for all rounds. */
static double chain(int kind)
{
    static volatile int turn;
    double start = omp_get_wtime();
    for (int round = 0; round < ROUNDS; round++) {
        turn = omp_get_max_threads() - 1;
#pragma omp parallel
        {
            int now;
            while ((now = turn) != omp_get_thread_num())
                if (call(kind, now))
                    __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
            turn = now - 1;
        }
    }
    return omp_get_wtime() - start;
}

int main(void)
{
    CHECK(!pipe2(ends, O_NONBLOCK) && !socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) &&
          !sem_init(&none, 0, 0));
    polled = epoll_create1(0);
    pthread_mutex_lock(&held);
    chain(0);
    for (int kind = 1; kind < KINDS; kind++) {
        int slow = 1;
        double taken = 0, spin = 0;
        /* on a busy machine either may be held up */
        for (int attempt = 0; attempt < ATTEMPTS && slow; attempt++) {
            spin = chain(0);
            taken = chain(kind);
            slow = taken > 5 * spin + 0.015 * omp_get_max_threads();
        }
        if (slow)
            printf("%s: %.3f s, without a call %.3f\n", names[kind], taken, spin);
        CHECK(!slow);
    }
    CHECK_EQ(wrong, 0);
    return check_result();
}
