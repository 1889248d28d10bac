// what: target @CONSTRUCT@ on the host computes what the loop does
// languages: c, c++
// each: CONSTRUCT = parallel for / parallel for simd / simd / teams distribute / teams distribute parallel for / teams distribute parallel for simd / teams distribute simd
// each: CLAUSE = map(tofrom : a) / map(tofrom : a) nowait / map(a[0:100]) if(0)
#include "check.h"
int main(void)
{
    int a[100], sum = 0;
    for (int i = 0; i < 100; i++)
        a[i] = i;
#pragma omp target data map(tofrom : a)
    {
#pragma omp target @CONSTRUCT@ @CLAUSE@
        for (int i = 0; i < 100; i++)
            a[i] = a[i] * 3 + 1;
#pragma omp taskwait
#pragma omp target @CONSTRUCT@ map(tofrom : a, sum) reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += a[i];
#pragma omp target update from(a)
    }
    CHECK_EQ(a[99], 298);
    CHECK_EQ(sum, 3 * 4950 + 100);
    return check_result();
}
