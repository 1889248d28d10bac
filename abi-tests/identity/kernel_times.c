// what: the processor time of a thread is its own: by its clock, by its clock's number, by getrusage; together they are not more than the process's
// threads: 2,6,17
// alone: yes
// timeout: 60
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

static double seconds(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now))
        return -1;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double usage(void)
{
    struct rusage now;
    if (getrusage(RUSAGE_THREAD, &now))
        return -1;
    return (double)now.ru_utime.tv_sec + (double)now.ru_stime.tv_sec +
           1e-6 * (double)(now.ru_utime.tv_usec + now.ru_stime.tv_usec);
}

static double raw(void)
{
    struct timespec now;
    if (syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &now))
        return -1;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void burn(double time)
{
    volatile double sink = 0;
    for (double end = seconds(CLOCK_THREAD_CPUTIME_ID) + time; seconds(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (int i = 0; i < 1000; i++)
            sink += i;
}

int main(void)
{
    double sum = 0, used = 0;
    int wrong = 0, idle = 0, n = omp_get_max_threads();
#pragma omp parallel
    seconds(CLOCK_THREAD_CPUTIME_ID);
    double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
#pragma omp parallel reduction(+ : sum, used, wrong, idle)
    {
        clockid_t clock;
        double start = seconds(CLOCK_THREAD_CPUTIME_ID), started = usage();
        wrong += pthread_getcpuclockid(pthread_self(), &clock) != 0;
        /* odd threads work, the others wait for them */
        if (omp_get_thread_num() % 2)
            burn(0.02);
#pragma omp barrier
        double mine = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
        /* others cannot have run in between more than a moment */
        double ways[3] = {seconds(clock) - start, raw() - start, usage() - started};
        for (int way = 0; way < 3; way++)
            wrong += ways[way] < mine - 0.012 || ways[way] > mine + 0.012;
        wrong += omp_get_thread_num() % 2 && mine < 0.02;
        /* libgomp's threads may spin at the barrier for a while */
        idle += omp_get_thread_num() % 2 == 0 && mine > 0.02 * (n / 2) + 0.2;
        sum += mine;
        used += usage();
    }
    double all = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(idle, 0);
    CHECK(sum <= all * 1.05 + 0.01);
    CHECK(sum >= 0.02 * (n / 2));
    (void)used;
    return check_result();
}
