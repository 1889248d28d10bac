/* The body of spin/sleepers*.c: even threads spin until the odd ones have slept. */
#include "check.h"
#include "spin.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
enum { SLEEP_MS = 4, SLEEP_NS = SLEEP_MS * 1000000 };
static struct timespec after(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += SLEEP_NS;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}
static void by_usleep(void)
{
    CHECK_EQ(usleep(SLEEP_MS * 1000), 0);
}
static void by_nanosleep(void)
{
    struct timespec time = {0, SLEEP_NS}, left;
    CHECK_EQ(nanosleep(&time, &left), 0);
}
static void by_clock(void)
{
    struct timespec end = after(CLOCK_MONOTONIC);
    CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL), 0);
}
static void by_poll(void)
{
    CHECK_EQ(poll(NULL, 0, SLEEP_MS), 0);
}
static void by_select(void)
{
    struct timeval time = {0, SLEEP_MS * 1000};
    CHECK_EQ(select(0, NULL, NULL, NULL, &time), 0);
}
static void by_epoll(void)
{
    struct epoll_event event;
    int descriptor = epoll_create1(0);
    CHECK_EQ(epoll_wait(descriptor, &event, 1, SLEEP_MS), 0);
    close(descriptor);
}
static void by_semaphore(void)
{
    sem_t semaphore;
    struct timespec end = after(CLOCK_REALTIME);
    sem_init(&semaphore, 0, 0);
    CHECK_EQ(sem_timedwait(&semaphore, &end), -1);
    CHECK_EQ(errno, ETIMEDOUT);
    sem_destroy(&semaphore);
}
static void by_condition(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec end = after(CLOCK_REALTIME);
    int result = 0;
    pthread_mutex_lock(&mutex);
    while (result == 0) /* may wake early, by its contract */
        result = pthread_cond_timedwait(&condition, &mutex, &end);
    pthread_mutex_unlock(&mutex);
    CHECK_EQ(result, ETIMEDOUT);
}
static void (*const ways[])(void) = {by_usleep, by_nanosleep, by_clock,     by_poll,
                                     by_select, by_epoll,     by_semaphore, by_condition};
enum { WAYS = sizeof ways / sizeof *ways, ROUNDS = 2 };
static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}
static void sleep_in_turn(int id)
{
    for (int i = 0; i < ROUNDS * WAYS; i++) {
        long long start = now();
        errno = 0;
        ways[(i + id) % WAYS]();
        CHECK(errno != EINTR);
        CHECK(now() - start >= SLEEP_NS / 100 * 99); /* clocks may be adjusted meanwhile */
    }
}
int main(void)
{
    int n = omp_get_max_threads(), awake = 0;
#pragma omp parallel shared(awake)
    {
        int id = omp_get_thread_num();
        if (id % 2) {
            sleep_in_turn(id);
            ADD(awake, 1);
        } else {
            SPIN_UNTIL(LOAD(awake) == n / 2);
        }
    }
    CHECK_EQ(awake, n / 2);
    return check_result();
}
