// what: grainsize(strict: n) gives each task n iterations but for the last; num_tasks(strict: n) gives n tasks
// compilers: gcc
#include "check.h"
static int starts[1000];
// Counts the iterations that begin a task: each has its own copy of `fresh`.
static int count_starts(int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += starts[i];
    return count;
}
int main(void)
{
    for (int round = 0; round < 5; round++) {
        int fresh = 1;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskloop grainsize(strict : 30) firstprivate(fresh)
            for (int i = 0; i < 1000; i++) {
                starts[i] = fresh;
                fresh = 0;
            }
            for (int i = 0; i < 1000; i++)
                CHECK_EQ(starts[i], i % 30 == 0);
#pragma omp taskloop num_tasks(strict : 7) firstprivate(fresh)
            for (int i = 0; i < 1000; i++) {
                starts[i] = fresh;
                fresh = 0;
            }
            CHECK_EQ(count_starts(1000), 7);
#pragma omp taskloop num_tasks(strict : 17) firstprivate(fresh)
            for (int i = 0; i < 9; i++) {
                starts[i] = fresh;
                fresh = 0;
            }
            CHECK_EQ(count_starts(9), 9);
        }
    }
    return check_result();
}
