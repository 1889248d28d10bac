/* Fibonacci numbers by the definition. A call is a task down to a cut-off; below it, plain calls. */
#include "programs.h"

enum { N = 36, CUT_OFF = 19 };

static const long expected = 14930352;
static long value;

static long serial(int n)
{
    return n < 2 ? n : serial(n - 1) + serial(n - 2);
}

static long fib(int n)
{
    if (n <= CUT_OFF)
        return serial(n);
    long a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void prepare(void)
{
    value = 0;
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    value = fib(N);
}

static const char *check(void)
{
    return value == expected ? NULL : "not the Fibonacci number";
}

const struct program fib_program = {"fib", prepare, solve, check};
