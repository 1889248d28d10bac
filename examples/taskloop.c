/* A loop as tasks, with a reduction that tasks made elsewhere in the group take part in. */
#include <omp.h>
#include <stdio.h>

enum { N = 100000 };

static long extra(int depth)
{
    return depth == 0 ? 1 : extra(depth - 1) + extra(depth - 1);
}

int main(void)
{
    long sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
    {
#pragma omp taskloop grainsize(1000) in_reduction(+ : sum) nogroup
        for (int i = 0; i < N; i++)
            sum += i % 7;
#pragma omp task in_reduction(+ : sum)
        sum += extra(10);
    }
    long expected = extra(10);
    for (int i = 0; i < N; i++)
        expected += i % 7;
    printf("%ld, expected %ld\n", sum, expected);
    return sum != expected;
}
