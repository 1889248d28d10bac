// what: declare simd @CLAUSE@: the function in @LOOP@ and called alone
// languages: c, c++
// each: CLAUSE = notinbranch / inbranch / simdlen(4) uniform(y) / linear(x : 1) uniform(y)
// each: LOOP = simd / for simd / parallel for simd
#include "check.h"
#pragma omp declare simd @CLAUSE@
static int poly(int x, int y) { return x * x + y; }
int main(void)
{
    int a[70], y = 5;
#pragma omp @LOOP@
    for (int i = 0; i < 70; i++)
        if (i >= 0)
            a[i] = poly(i, y);
    for (int i = 0; i < 70; i++)
        CHECK_EQ(a[i], i * i + 5);
    CHECK_EQ(poly(3, 1), 10);
    return check_result();
}
