// what: beside programs that compute, members of a team move to fewer workers, and back when these end: numbers, thread-local storage, errno, rounding, the processor's number and answers stay
// threads: 2, 5
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// timeout: 120

#define _GNU_SOURCE
#include "check.h"
#include "foreign_loops.h"
#include <errno.h>
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

static int private_number;
#pragma omp threadprivate(private_number)
static _Thread_local int local_number;

/* Does `sched_getcpu` name the processor that the kernel names? A thread may change its processor between the
   two questions. */
static int knows_its_processor(void)
{
    for (int attempt = 0; attempt < 20; attempt++) {
        unsigned cpu = ~0u;
        syscall(SYS_getcpu, &cpu, NULL, NULL);
        if (sched_getcpu() == (int)cpu)
            return 1;
    }
    return 0;
}

/* One region with `rounds` barriers. After each barrier every thread checks what belongs to it. The sum is
   known. */
static void compute(int rounds)
{
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int number = omp_get_thread_num();
        pthread_t me = pthread_self();
        int *where = &local_number;
        private_number = local_number = 1000 + number;
        int rounding = number % 2 ? FE_UPWARD : FE_TONEAREST, before = fegetround();
        fesetround(rounding);
        for (int round = 0; round < rounds; round++) {
            errno = 70 + number;
            for (volatile int i = 0; i < 2000; i++)
                ;
#pragma omp barrier
            CHECK_EQ(errno, 70 + number);
            CHECK_EQ(fegetround(), rounding);
            CHECK_EQ(omp_get_thread_num(), number);
            CHECK_EQ(private_number, 1000 + number);
            CHECK_EQ(*where, 1000 + number);
            CHECK_EQ(where == &local_number, 1);
            CHECK_EQ(knows_its_processor(), 1);
            CHECK_EQ(pthread_equal(me, pthread_self()) != 0, 1);
            sum += number + 1;
        }
        fesetround(before);
    }
    CHECK_EQ(sum, (long)rounds * omp_get_max_threads() * (omp_get_max_threads() + 1) / 2);
}

static void many_regions(int count)
{
    for (int region = 0; region < count; region++) {
#pragma omp parallel
        {
            CHECK_EQ(private_number, 1000 + omp_get_thread_num());
            for (volatile int i = 0; i < 2000; i++)
                ;
        }
    }
}

/* Until threads have moved `wanted` times in all, for half a minute at most. */
static void compute_until(long wanted)
{
    double begin = omp_get_wtime();
    do {
        compute(2000);
        many_regions(500);
    } while (moves() >= 0 && moves() < wanted && omp_get_wtime() < begin + 30);
}

int main(void)
{
    compute(100);
    long before = moves();
    start_spinners();
    compute_until(before + 1);
    long beside = moves();
    CHECK_EQ(beside < 0 || beside > before, 1);
    end_spinners();
    /* An odd number of moves has one away. Beside programs of others they come back for trials. */
    double begin = omp_get_wtime();
    do
        compute(500);
    while (moves() >= 0 && moves() % 2 != 0 && omp_get_wtime() < begin + 30);
    /* Several threads that share workers need not be back at the same time. */
    if (omp_get_max_threads() == 2)
        CHECK_EQ(moves() < 0 || moves() % 2 == 0, 1);
    return check_result();
}
