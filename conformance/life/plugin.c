/* A library that uses OpenMP, for hosts that do not: plugin_host.c, python.py, Host.java. */
#include "life.h"
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <time.h>
static int kept = 3, ready;
#pragma omp threadprivate(kept)
/* Functions of the C library that a runtime may have in its place. While the constructor runs, one thread
 * holds the loader's lock: no other thread may need it to get on. */
static int asks(void)
{
    int right = 0, size = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : right)
    {
        struct timespec now = {0, 0}, none = {0, 0};
        struct rusage usage;
        struct epoll_event event;
        pthread_t self = pthread_self();
        pthread_attr_t attributes;
        pthread_mutexattr_t mutex;
        cpu_set_t cpus;
        sigset_t set, pending;
        clockid_t clock;
        timer_t timer;
        struct sigevent quiet = {.sigev_notify = SIGEV_NONE};
        char name[64];
        sigemptyset(&set);
        sigaddset(&set, SIGRTMAX - 1);
        int descriptor = signalfd(-1, &set, SFD_CLOEXEC);
        right += clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec > 0;
        right += getrusage(RUSAGE_THREAD, &usage) == 0 && sched_getcpu() >= 0;
        right += pthread_getattr_np(self, &attributes) == 0 && pthread_attr_destroy(&attributes) == 0;
        right += pthread_getaffinity_np(self, sizeof cpus, &cpus) == 0 && sched_getscheduler(0) >= 0;
        right += pthread_getname_np(self, name, sizeof name) == 0 && pthread_kill(self, 0) == 0;
        right += sigpending(&pending) == 0 && descriptor >= 0 && close(descriptor) == 0;
        right += ppoll(NULL, 0, &none, NULL) == 0 && pselect(0, NULL, NULL, NULL, &none, NULL) == 0;
        right += sigtimedwait(&set, NULL, &none) == -1 && epoll_pwait(-1, &event, 1, 0, NULL) == -1;
        right += timer_create(CLOCK_MONOTONIC, &quiet, &timer) == 0 && timer_getoverrun(timer) == 0 &&
                 timer_delete(timer) == 0;
        right += pthread_getcpuclockid(self, &clock) == 0 && getpriority(PRIO_PROCESS, 0) > -21;
        right += pthread_mutexattr_init(&mutex) == 0 &&
                 pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_NONE) == 0;
        right += signal(SIGUSR2, SIG_DFL) != SIG_ERR;
#pragma omp single
        size = omp_get_num_threads();
    }
    return right == 12 * size;
}
__attribute__((constructor)) static void begins(void)
{
    ready = region() && asks();
}
__attribute__((destructor)) static void finishes(void)
{
    if (!region())
        abort();
}
int plugin_run(void)
{
    int right = 0, size = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : right)
    {
        right += kept == 3;
        kept = 4;
#pragma omp barrier
        right += kept == 4;
        kept = 3;
#pragma omp single
        size = omp_get_num_threads();
    }
    return ready && right == 2 * size && tasks() && nested();
}
/* Large, so that it is in no thread's static storage: every thread gets a block at its first use, and loses
 * it when the plugin is gone. */
static __thread long much[8000] = {[0] = 11, [7999] = 12};
int plugin_storage(int value)
{
    int right = 0, size = 0;
#pragma omp parallel num_threads(2 * TEAM) reduction(+ : right)
    {
        right += much[0] == 11 && much[1] == 0 && much[7999] == 12;
        for (int i = 0; i < 8000; i++)
            much[i] = value + omp_get_thread_num();
#pragma omp barrier
        right += much[0] == value + omp_get_thread_num() && much[7999] == much[0];
#pragma omp single
        size = omp_get_num_threads();
    }
    return right == 2 * size;
}
/* A thread of the plugin calls back, and from there the plugin again, where all of its threads meet. */
void plugin_meet(void)
{
#pragma omp barrier
}
int plugin_call_each(int (*back)(int), int threads)
{
    int sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    for (int round = 0; round < 3; round++)
        sum += back(omp_get_thread_num());
    return sum;
}
int plugin_call(int (*back)(int), int count)
{
    int sum = 0;
#pragma omp parallel for num_threads(TEAM) reduction(+ : sum)
    for (int i = 0; i < count; i++)
        sum += back(i);
    return sum;
}
int Java_Host_run(void *environment, void *class)
{
    return (void)environment, (void)class, plugin_run();
}
