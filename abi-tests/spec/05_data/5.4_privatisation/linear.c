// what: linear(v : @STEP@) on @CONSTRUCT@: each iteration's value, and the value after the loop
// languages: c, c++
// each: STEP = 1 / 3 / -2
// each: CONSTRUCT ; BUG = parallel for ; none / parallel for schedule(dynamic, 3) ; libomp / parallel for simd ; none / simd ; none
// peers: @BUG@ fails, because the thread with the last iteration is not always told so under a dynamic schedule
#include "check.h"
int main(void)
{
    int v = 1000, wrong = 0;
#pragma omp @CONSTRUCT@ linear(v : @STEP@) reduction(+ : wrong)
    for (int i = 0; i < 50; i++) {
        wrong += v != 1000 + i * (@STEP@);
        v += @STEP@;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(v, 1000 + 50 * (@STEP@));
    return check_result();
}
