/* A program of very many short tasks: cargo xtask trace. Prints how many tasks it has made, and how many of
   them are long: one in eight. They are made in all ways: deferred by one thread, by both, run at once, by
   tasks, in loops, with an if clause, and by tasks that go on while those still wait that their threads have
   run meanwhile. */
#include <omp.h>
#include <stdio.h>

enum { PRODUCED = 80000, DEPTH = 14, LOOPS = 30, ITERATIONS = 1000, CHAINS = 4000 };

static long made, is_long;

static void work(double microseconds)
{
    double end = omp_get_wtime() + microseconds * 1e-6;
    while (omp_get_wtime() < end) {
    }
}

/* What the task number i does. */
static void one(int i)
{
    if (i % 8 == 3)
        work(4); /* LONG in xtask/src/trace/short.rs; so is PRODUCED there */
}

static void count(int i)
{
#pragma omp atomic
    made++;
    if (i % 8 == 3) {
#pragma omp atomic
        is_long++;
    }
}

static void tree(int depth, int i)
{
    if (depth == 0)
        return;
    for (int child = 0; child < 2; child++) {
        int number = 2 * i + child + 1;
        count(number);
#pragma omp task firstprivate(depth, number) if (depth > 3)
        {
            one(number);
            tree(depth - 1, number);
        }
    }
#pragma omp taskwait
}

/* A task that yields to its child, and ends while that waits for a child of its own, which the other thread
 * may have. */
static void chain(int i)
{
    count(i);
#pragma omp task firstprivate(i)
    {
        count(i + 1);
#pragma omp task firstprivate(i)
        {
            count(i + 2);
#pragma omp task firstprivate(i)
            one(i + 2);
#pragma omp taskwait
            one(i + 1);
        }
#pragma omp taskyield
        one(i);
    }
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp single
        for (int i = 0; i < PRODUCED; i++) {
            count(i);
#pragma omp task firstprivate(i)
            one(i);
        }
#pragma omp single
        tree(DEPTH, 0);
        for (int i = 0; i < PRODUCED / 2; i++) {
            count(i);
#pragma omp task firstprivate(i)
            one(i);
        }
#pragma omp barrier
#pragma omp single
        for (int loop = 0; loop < LOOPS; loop++) {
            for (int i = 0; i < ITERATIONS; i++)
                count(i);
#pragma omp taskloop grainsize(1)
            for (int i = 0; i < ITERATIONS; i++)
                one(i);
        }
        for (int i = 0; i < CHAINS; i++)
            chain(i);
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < PRODUCED / 4; i++) {
            count(i);
#pragma omp task firstprivate(i) if (0)
            one(i);
        }
    }
    printf("%ld %ld\n", made, is_long);
    return 0;
}
