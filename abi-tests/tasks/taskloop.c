// what: taskloop: grainsize, num_tasks, nogroup, collapse, lastprivate, firstprivate, if, wide types, down
#include "check.h"
static int seen[2000];
static void all(int n)
{
    for (int i = 0; i < 2000; i++)
        if (seen[i] != (i < n))
            CHECK_EQ(seen[i], i < n);
    CHECK(1);
    memset(seen, 0, sizeof seen);
}
#define HIT(i) __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED)
int main(void)
{
    int last = -1;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop
        for (int i = 0; i < 1000; i++)
            HIT(i);
        all(1000);
#pragma omp taskloop grainsize(7) lastprivate(last)
        for (int i = 0; i < 500; i++) {
            HIT(i);
            last = i;
        }
        CHECK_EQ(last, 499);
        all(500);
#pragma omp taskloop num_tasks(9)
        for (unsigned long long i = 0; i < 501; i++)
            HIT(i);
        all(501);
#pragma omp taskloop num_tasks(5)
        for (long i = 600; i > 0; i -= 3)
            HIT((i - 1) / 3);
        all(200);
#pragma omp taskloop collapse(2) grainsize(3)
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 30; j++)
                HIT(i * 30 + j);
        all(600);
#pragma omp taskgroup
        {
#pragma omp taskloop nogroup untied
            for (int i = 0; i < 300; i++)
                HIT(i);
        }
        all(300);
#pragma omp taskloop if (0)
        for (int i = 0; i < 40; i++)
            HIT(i);
        all(40);
#pragma omp taskloop
        for (int i = 0; i < 0; i++)
            HIT(i);
        all(0);
#pragma omp taskloop simd grainsize(10)
        for (int i = 0; i < 50; i++)
            seen[i]++;
        all(50);
    }
    return check_result();
}
