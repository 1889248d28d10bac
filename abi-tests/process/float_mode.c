// what: rounding mode and flush-to-zero of the forking thread hold in team threads and in tasks, and come back
// flags: all -frounding-math
// opt: -O0
// peers: libgomp fails, because its pooled threads keep the mode they started with
#include "check.h"
#include <fenv.h>
#include <xmmintrin.h>
static unsigned control(void)
{
    return _mm_getcsr() & 0xffc0u;
}
int main(void)
{
    unsigned plain = control();
    for (int round = 0; round < 10; round++) {
        fesetround(FE_UPWARD);
        _mm_setcsr(_mm_getcsr() | 0x8040u);
        unsigned want = control();
#pragma omp parallel num_threads(4)
        {
            CHECK_EQ(fegetround(), FE_UPWARD);
            CHECK_EQ(control(), want);
#pragma omp task
            {
                CHECK_EQ(fegetround(), FE_UPWARD);
                CHECK_EQ(control(), want);
            }
#pragma omp taskwait
            CHECK_EQ(control(), want);
        }
        CHECK_EQ(control(), want);
        fesetround(FE_TONEAREST);
        _mm_setcsr((_mm_getcsr() & ~0xffc0u) | plain);
#pragma omp parallel num_threads(4)
        {
            CHECK_EQ(fegetround(), FE_TONEAREST);
            CHECK_EQ(control(), plain);
        }
        // What one thread changes is not what the next one on the same processor begins with.
        fesetround(FE_UPWARD);
#pragma omp parallel num_threads(4)
        {
            CHECK_EQ(fegetround(), FE_UPWARD);
            fesetround(FE_DOWNWARD);
#pragma omp barrier
            CHECK_EQ(fegetround(), FE_DOWNWARD);
        }
        CHECK_EQ(fegetround(), FE_DOWNWARD);
        fesetround(FE_TONEAREST);
    }
    return check_result();
}
