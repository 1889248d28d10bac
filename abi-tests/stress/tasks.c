// what: 1,000,000 tiny tasks, repeated ten times
// stress: yes
// alone: yes
// mode: preload
// threads: 4
// compilers: gcc,clang>=19
// opt: -O2
// timeout: 300
/* The producer does not switch for as long as it makes tasks. A watcher that meets it outside the program's
 * own code ten milliseconds long gives those that wait behind it a kernel thread: in one run of thirty, and
 * one per processor at most. */
#define STEADY_LATE 2
#include "steady.h"
static long total;
static void work(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 1000000; i++) {
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
    CHECK_EQ(total, 10000000);
    return check_result();
}
