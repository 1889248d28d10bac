// what: 1,000,000 tiny tasks, ten times 100,000
// stress: yes
// alone: yes
// mode: preload
// threads: 4
// compilers: gcc,clang>=19
// opt: -O2
// timeout: 120
#include "steady.h"
static long total;
static void work(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 100000; i++) {
#pragma omp task
        {
#pragma omp atomic
            total++;
        }
    }
}
int main(void)
{
    steady(work);
    CHECK_EQ(total, 1000000);
    return check_result();
}
