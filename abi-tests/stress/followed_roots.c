// what: as many kernel threads of the program as processors (at least 2, at most 32) fork teams at the same time: members move to other workers, and go on when the other teams have ended; numbers, thread-local storage and answers stay
// threads: 2, 3
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// timeout: 120

#define _GNU_SOURCE
#include "check.h"
#include "foreign_loops.h"
#include <omp.h>
#include <pthread.h>

enum { MOST_ROOTS = 32 };

static int private_number;
#pragma omp threadprivate(private_number)
static _Thread_local int local_number;
static int moved;
static long moves_before;

/* One region of kernel thread `root`, with `rounds` barriers. */
static void compute(int root, int rounds)
{
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        int number = omp_get_thread_num();
        int mine = 1000 * root + number;
        pthread_t me = pthread_self();
        int *where = &local_number;
        private_number = local_number = mine;
        for (int round = 0; round < rounds; round++) {
            for (volatile int i = 0; i < 2000; i++)
                ;
#pragma omp barrier
            CHECK_EQ(omp_get_thread_num(), number);
            CHECK_EQ(private_number, mine);
            CHECK_EQ(*where, mine);
            CHECK_EQ(where == &local_number, 1);
            CHECK_EQ(pthread_equal(me, pthread_self()) != 0, 1);
            sum += number + 1;
        }
    }
    CHECK_EQ(sum, (long)rounds * omp_get_max_threads() * (omp_get_max_threads() + 1) / 2);
}

/* Forks regions until a thread of the process has moved, for half a minute at most, and at least 50 + 20 *
   root regions. So the kernel threads end at different times, some of them while members are away. */
static void *run_root(void *argument)
{
    int root = (int)(long)argument;
    double begin = omp_get_wtime();
    int regions = 0, is_over = 0;
    for (; !is_over || regions < 50 + 20 * root; regions++) {
        compute(root, 100);
#pragma omp atomic read
        is_over = moved;
        is_over = is_over || omp_get_wtime() > begin + 30;
        if (!is_over && (moves() < 0 || moves() != moves_before)) {
#pragma omp atomic write
            moved = 1;
        }
    }
    return NULL;
}

int main(void)
{
    int roots = omp_get_num_procs() < 2 ? 2 : omp_get_num_procs();
    if (roots > MOST_ROOTS)
        roots = MOST_ROOTS;
    for (int run = 0; run < 3; run++) {
        pthread_t threads[MOST_ROOTS];
        moved = 0;
        moves_before = moves();
        for (int root = 1; root < roots; root++)
            CHECK_EQ(pthread_create(&threads[root], NULL, run_root, (void *)(long)root), 0);
        run_root((void *)0);
        for (int root = 1; root < roots; root++)
            CHECK_EQ(pthread_join(threads[root], NULL), 0);
        /* With more processors than MOST_ROOTS there may be one for each worker: then no member needs to
         * move. */
        CHECK_EQ(moves() < 0 || moves() != moves_before || omp_get_num_procs() > MOST_ROOTS, 1);
    }
    /* Only the main thread's team is left. Its members may go back to their assigned workers, and its sums
       stay right. */
    for (int region = 0; region < 200; region++)
        compute(77, 20);
    return check_result();
}
