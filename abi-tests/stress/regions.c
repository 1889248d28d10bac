// what: 100,000 regions, ten times 10,000
// stress: yes
// alone: yes
// mode: preload
// threads: 4,8
// compilers: gcc,clang>=19
// opt: -O2
// timeout: 120
#include "steady.h"
static long total;
static void work(void)
{
    for (int i = 0; i < 10000; i++) {
#pragma omp parallel reduction(+ : total)
        total++;
    }
}
int main(void)
{
    steady(work);
    CHECK_EQ(total, 100000L * omp_get_max_threads());
    return check_result();
}
