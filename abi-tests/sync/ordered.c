// what: ordered runs in iteration order under every schedule, with and without the region
#include "check.h"
static int next;
static void in_turn(int i)
{
    if (next != i)
        CHECK_EQ(next, i);
    next = i + 1;
}
int main(void)
{
#pragma omp parallel
    {
#pragma omp for ordered schedule(static)
        for (int i = 0; i < 100; i++)
#pragma omp ordered
            in_turn(i);
#pragma omp single
        {
            CHECK_EQ(next, 100);
            next = 0;
        }
#pragma omp for ordered schedule(static, 3)
        for (int i = 0; i < 100; i++)
#pragma omp ordered
            in_turn(i);
#pragma omp single
        {
            CHECK_EQ(next, 100);
            next = 0;
        }
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 100; i++)
#pragma omp ordered
            in_turn(i);
#pragma omp single
        {
            CHECK_EQ(next, 100);
            next = 0;
        }
#pragma omp for ordered schedule(guided, 2)
        for (int i = 0; i < 100; i++)
#pragma omp ordered
            in_turn(i);
#pragma omp single
        {
            CHECK_EQ(next, 100);
            next = 0;
        }
#pragma omp for ordered schedule(runtime)
        for (int i = 0; i < 100; i++)
#pragma omp ordered
            in_turn(i);
#pragma omp single
        {
            CHECK_EQ(next, 100);
            next = 0;
        }
#pragma omp for ordered schedule(dynamic, 4)
        for (long long i = 0; i < 60; i++)
            if (i % 3 == 0) {
#pragma omp ordered
                in_turn((int)i / 3);
            }
    }
    CHECK_EQ(next, 20);
    return check_result();
}
