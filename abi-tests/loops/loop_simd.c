// what: loop, for simd, parallel for simd with reduction and collapse
// skip: clang<19 has no parallel loop
#include "check.h"
int main(void)
{
    static int a[1000];
    long sum = 0;
#pragma omp parallel loop
    for (int i = 0; i < 1000; i++)
        a[i] = i;
#pragma omp parallel
#pragma omp loop bind(parallel)
    for (int i = 0; i < 1000; i++)
        a[i] += 1;
#pragma omp parallel for simd reduction(+ : sum) schedule(simd : dynamic, 8)
    for (int i = 0; i < 1000; i++)
        sum += a[i];
    CHECK_EQ(sum, 500500);
#pragma omp parallel
#pragma omp for simd collapse(2) schedule(static, 16)
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 100; j++)
            a[i * 100 + j] = i * j;
    sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += a[i];
    CHECK_EQ(sum, 45L * 4950);
    return check_result();
}
