/* Nested regions with far more threads than cores: every inner barrier waits for threads that are not
   running. Prints the number of barriers passed and the time it took. */
#include <omp.h>
#include <stdio.h>

enum { OUTER = 4, INNER = 4, ROUNDS = 200 };

int main(void)
{
    long passed = 0;
    omp_set_max_active_levels(2);
    double start = omp_get_wtime();
#pragma omp parallel num_threads(OUTER) reduction(+ : passed)
#pragma omp parallel num_threads(INNER) reduction(+ : passed)
    for (int i = 0; i < ROUNDS; i++) {
#pragma omp barrier
        passed++;
    }
    double seconds = omp_get_wtime() - start;
    printf("%ld of %d barriers in %.3f s\n", passed, OUTER * INNER * ROUNDS, seconds);
    return passed != OUTER * INNER * ROUNDS;
}
