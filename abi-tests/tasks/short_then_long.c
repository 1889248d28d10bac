// what: a recursion of short tasks computes what it should, however many of them are run at once; long tasks behind it are spread over the threads
// threads: 1,2,4,16
#include "check.h"

enum { CHILDREN = 4, LEVELS = 7, LONG = 40 };

static long expected(int levels)
{
    return levels == 0 ? 1 : 1 + CHILDREN * expected(levels - 1);
}

static long tied(int levels)
{
    long counts[CHILDREN], sum = 1;
    for (int i = 0; i < CHILDREN && levels > 0; i++) {
#pragma omp task shared(counts) firstprivate(i)
        counts[i] = tied(levels - 1);
    }
#pragma omp taskwait
    for (int i = 0; i < CHILDREN && levels > 0; i++)
        sum += counts[i];
    return sum;
}

/* clang divides these tasks at each taskyield. */
static long untied(int levels)
{
    long counts[CHILDREN], sum = 1;
    for (int i = 0; i < CHILDREN && levels > 0; i++) {
#pragma omp task untied shared(counts) firstprivate(i)
        {
            const long count = untied(levels - 1);
#pragma omp taskyield
            counts[i] = count;
        }
    }
#pragma omp taskwait
    for (int i = 0; i < CHILDREN && levels > 0; i++)
        sum += counts[i];
    return sum;
}

static long nodes;
static void grouped(int levels)
{
#pragma omp atomic
    nodes++;
    for (int i = 0; i < CHILDREN && levels > 0; i++) {
#pragma omp task firstprivate(levels)
        grouped(levels - 1);
    }
}

/* Each child adds to the same element, one after the other. */
static long in_order(int levels)
{
    long sum = 1;
    for (int i = 0; i < CHILDREN && levels > 0; i++) {
#pragma omp task shared(sum) depend(inout : sum)
        {
            const long before = sum;
            sum = before + in_order(levels - 1);
        }
    }
#pragma omp taskwait
    return sum;
}

static int ran_on[64];
static void make_long_ones(void)
{
    for (int i = 0; i < LONG; i++) {
#pragma omp task
        {
            const double start = omp_get_wtime();
#pragma omp atomic
            ran_on[omp_get_thread_num()]++;
            while (omp_get_wtime() - start < 2e-3)
                ;
        }
    }
}

int main(void)
{
    long sums[3] = {0, 0, 0};
#pragma omp parallel
#pragma omp single
#pragma omp task shared(sums)
    {
        sums[0] = tied(LEVELS);
        sums[1] = untied(LEVELS - 3);
#pragma omp taskgroup
        grouped(LEVELS);
        sums[2] = in_order(LEVELS - 1);
        sums[0] += tied(LEVELS);
        make_long_ones();
    }
    CHECK_EQ(sums[0], 2 * expected(LEVELS));
    CHECK_EQ(sums[1], expected(LEVELS - 3));
    CHECK_EQ(sums[2], expected(LEVELS - 1));
    CHECK_EQ(nodes, expected(LEVELS));
    int all = 0, threads = 0;
    for (int i = 0; i < 64; i++) {
        all += ran_on[i];
        threads += ran_on[i] != 0;
    }
    CHECK_EQ(all, LONG);
    CHECK_EQ(threads > 1, omp_get_max_threads() > 1);
    return check_result();
}
