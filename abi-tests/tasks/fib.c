// what: recursive tasks with taskwait, with if, final, untied and mergeable
#include "check.h"
static long fib(int n)
{
    if (n < 2)
        return n;
    long a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b) if (n > 8)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}
static long fib_final(int n)
{
    if (n < 2)
        return n;
    long a, b;
#pragma omp task shared(a) untied final(n < 10) mergeable
    {
        if (n < 10)
            CHECK(omp_in_final());
        a = fib_final(n - 1);
    }
#pragma omp task shared(b) untied final(n < 10) mergeable
    b = fib_final(n - 2);
#pragma omp taskwait
    return a + b;
}
int main(void)
{
    long one = 0, two = 0;
#pragma omp parallel
#pragma omp single
    {
        CHECK(!omp_in_final());
        one = fib(17);
        two = fib_final(17);
    }
    CHECK_EQ(one, 1597);
    CHECK_EQ(two, 1597);
    CHECK_EQ(fib(12), 144);
    return check_result();
}
