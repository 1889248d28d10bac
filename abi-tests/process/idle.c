// what: after its regions a program that sleeps uses under 1 % of a core, measured over 2 s
// alone: yes
// threads: 2,8
// ours: peers may spin before they sleep, as their wait policy says
#include "check.h"
#include <sys/resource.h>
#include <time.h>
static double used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}
int main(void)
{
    long sum = 0;
    for (int i = 0; i < 100; i++) {
#pragma omp parallel reduction(+ : sum)
        {
            sum++;
#pragma omp task
            {
            }
        }
    }
    CHECK_EQ(sum, 100L * omp_get_max_threads());
    /* Half a second to fall asleep, then two seconds that count. */
    struct timespec settle = {0, 500000000}, two = {2, 0};
    nanosleep(&settle, NULL);
    double before = used();
    nanosleep(&two, NULL);
    double share = (used() - before) / 2;
    if (share >= 0.01)
        fprintf(stderr, "idle share of a core: %g\n", share);
    CHECK(share < 0.01);
    return check_result();
}
