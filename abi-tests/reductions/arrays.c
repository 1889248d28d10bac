// what: reductions of arrays, array sections and variable-length sections
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), hist[17] = {0}, len = 200;
    double *big = (double *)calloc(200, sizeof *big);
    long two[3][4] = {{0}};
#pragma omp parallel for reduction(+ : hist)
    for (int i = 0; i < 1700; i++)
        hist[i % 17] += i;
#pragma omp parallel for reduction(+ : big[ : len]) schedule(dynamic, 9)
    for (int i = 0; i < 2000; i++)
        big[i % 200] += 0.5;
#pragma omp parallel reduction(+ : two)
    two[2][3] += 1 + omp_get_thread_num();
    for (int k = 0; k < 17; k++)
        CHECK_EQ(hist[k], 100 * k + 17 * 4950);
    for (int k = 0; k < 200; k++)
        CHECK(big[k] == 5.0);
    CHECK_EQ(two[2][3], (long)n * (n + 1) / 2);
    free(big);
    return check_result();
}
