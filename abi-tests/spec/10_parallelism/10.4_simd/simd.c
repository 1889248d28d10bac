// what: @CONSTRUCT@ @CLAUSE@
// languages: c, c++
// each: CONSTRUCT = simd / for simd / parallel for simd
// each: CLAUSE = safelen(8) / simdlen(4) / aligned(p : 8) / nontemporal(p) / linear(j : 2) / if(simd : 0) / order(concurrent)
#include "check.h"
int main(void)
{
    static long a[200];
    long *p = a, sum = 0;
    static int j;
    (void)j;
    for (int round = 0; round < 2; round++) {
#pragma omp @CONSTRUCT@ @CLAUSE@
        for (int i = 0; i < 200; i++)
            p[i] += 3 * i;
    }
#pragma omp parallel for simd reduction(+ : sum)
    for (int i = 0; i < 200; i++)
        sum += a[i];
    CHECK_EQ(sum, 2 * 3 * 19900);
    return check_result();
}
