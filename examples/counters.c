/* What the runtime did, in numbers that a program can ask for (include/ompx.h). Runs under any runtime: the
   routine is a weak symbol.

       gcc -O2 -fopenmp -Iinclude examples/counters.c -o counters */
#include "ompx.h"
#include <omp.h>
#include <stdio.h>

#pragma weak ompx_get_counters

int main(void)
{
    long sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(4) reduction(+ : sum)
#pragma omp parallel num_threads(4) reduction(+ : sum)
    sum += omp_get_level();
    if (ompx_get_counters) {
        ompx_counters_t counters;
        ompx_get_counters(&counters, sizeof counters);
        printf("%llu regions, %llu gangs, %llu workers\n", (unsigned long long)counters.regions,
               (unsigned long long)counters.gangs, (unsigned long long)counters.workers);
        if (counters.regions < 5)
            return 1;
    } else
        puts("another runtime, which does not tell");
    return sum != 32;
}
