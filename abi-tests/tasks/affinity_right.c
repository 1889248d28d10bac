// what: affinity clauses change no result: recursion, dependences, untied tasks, iterators, nested teams, all with the same data or their own
// compilers: clang>=14
// threads: 1,2,3,4,8,17
// mode: preload,link
// timeout: 60
#include "check.h"
enum { LENGTH = 64, STEPS = 40 };
static double tile[LENGTH][64];

/* Tied tasks that wait for children which others may have: what a thread finds in its queue it may often not
 * start. */
static int fibonacci(int n, int shared)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a) affinity(tile[shared ? 0 : n])
    a = fibonacci(n - 1, shared);
#pragma omp task shared(b) affinity(tile[shared ? 0 : n + 20]) untied
    b = fibonacci(n - 2, shared);
#pragma omp taskwait
    return a + b;
}

/* Each element becomes the sum of itself and its left neighbour, step by step. */
static long wave(void)
{
    static long value[LENGTH], expected[LENGTH];
    for (int i = 0; i < LENGTH; ++i)
        value[i] = expected[i] = i;
    for (int s = 0; s < STEPS; ++s)
        for (int i = 1; i < LENGTH; ++i)
            expected[i] = (expected[i] + expected[i - 1]) % 1000003;
#pragma omp parallel
#pragma omp single
    for (int s = 0; s < STEPS; ++s)
        for (int i = 1; i < LENGTH; ++i)
#pragma omp task depend(in : value[i - 1]) depend(inout : value[i]) \
    affinity(iterator(k = i - 1 : i + 1) : tile[k]) firstprivate(i)
            value[i] = (value[i] + value[i - 1]) % 1000003;
    int wrong = 0;
    for (int i = 0; i < LENGTH; ++i)
        wrong += value[i] != expected[i];
    return wrong;
}

/* More tasks for one thread than an inbox holds, from all threads at once. */
static int crowd(void)
{
    int count = 0;
#pragma omp parallel
    {
#pragma omp taskgroup
        for (int i = 0; i < 500; ++i)
#pragma omp task affinity(tile[0]) shared(count)
#pragma omp atomic
            count++;
#pragma omp barrier
#pragma omp master
        CHECK_EQ(count, 500 * omp_get_num_threads());
    }
    return count;
}

int main(void)
{
    for (int round = 0; round < 10; ++round) {
        int shared = round % 2, result = 0;
#pragma omp parallel
#pragma omp single
        result = fibonacci(15, shared);
        CHECK_EQ(result, 610);
        CHECK_EQ(wave(), 0);
        crowd();
    }
    int inner = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 20; ++i)
#pragma omp task affinity(tile[i % 3]) shared(inner)
    {
#pragma omp parallel num_threads(2) shared(inner)
#pragma omp single
        for (int k = 0; k < 10; ++k)
#pragma omp task affinity(tile[k]) shared(inner)
#pragma omp atomic
            inner++;
    }
    CHECK_EQ(inner, 200);
    return check_result();
}
