// what: 100,000 regions, repeated ten times
// stress: yes
// alone: yes
// mode: preload
// threads: 4,8
// compilers: gcc,clang>=19
// opt: -O2
// timeout: 300
#include "steady.h"
static long total;
static void work(void)
{
    for (int i = 0; i < 100000; i++) {
#pragma omp parallel reduction(+ : total)
        total++;
    }
}
int main(void)
{
    steady(work);
    CHECK_EQ(total, 1000000L * omp_get_max_threads());
    return check_result();
}
