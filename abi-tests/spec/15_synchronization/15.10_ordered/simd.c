// what: ordered simd in @LOOP@: the iterations of a lane in their order
// languages: c, c++
// each: LOOP = simd / for simd / parallel for simd
// each: STEP = 1 / 3
#include "check.h"
int main(void)
{
    int a[60], last = -1, wrong = 0;
    static int place[60];
#pragma omp @LOOP@
    for (int i = 0; i < 60; i += @STEP@) {
        a[i] = i;
#pragma omp ordered simd
        place[i] = a[i] + 1;
    }
    for (int i = 0; i < 60; i += @STEP@) {
        wrong += place[i] != i + 1;
        last = i;
    }
    CHECK_EQ(wrong, 0);
    CHECK(last > 0);
    return check_result();
}
