// what: @COUNT@ threads of a region are there at once: each waits in @WAY@ for all others
// languages: c, c++
// each: COUNT = 2 / 3 / 7
// each: WAY ; STEP = user spinning ; SPIN_UNTIL(LOAD(here) >= @COUNT@ * round) / barrier ; __asm__("") / taskyield ; while (LOAD(here) < @COUNT@ * round) yield()
#include "check.h"
#include "spin.h"
static inline void yield(void)
{
#pragma omp taskyield
}
int main(void)
{
    int here = 0;
    omp_set_dynamic(0);
#pragma omp parallel num_threads(@COUNT@) shared(here)
    for (int round = 1; round <= 3; round++) {
        ADD(here, 1);
        @STEP@;
#pragma omp barrier
        CHECK_EQ(LOAD(here), @COUNT@ * round);
#pragma omp barrier
    }
    return check_result();
}
